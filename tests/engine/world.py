"""The engine in a world of its own: a clock that only moves when told to, a server without sockets, and points between
any two steps at which something may happen to a worker.

SQL runs where it is asked for, so that the same choices lead to the same end.
"""

import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.conf import settings
from django.db import connection

from benchmarks.judging.faults import ModelFault
from contract.answers import AddOutcome, SearchOutcome
from contract.memories import Memory
from contract.receipts import CallKind, Receipt
from contract.verdicts import Reason, Verdict
from evaluation import lease as leases
from evaluation import preparing, slices
from evaluation.lease import Lease
from evaluation.models import Job
from evaluation.pipeline.control import Control, Halt
from evaluation.pipeline.items import ModelRetry
from evaluation.pipeline.plan import PlannedAdd, PlannedSearch
from evaluation.services import cancel_job
from submissions.refusals import Refusal

RETRY = ModelRetry(attempts=3, first_s=30, longest_s=60)
ACTIONS = ("kill", "take over", "deliver twice", "cancel", "beat", "close", "drain")


class Killed(BaseException):
    """As if the process had ended here: nothing behind this point happens."""


@dataclass
class Process:
    """A worker with one slice. At its point number `at` the action happens, once."""

    action: str = ""
    at: int = 0
    points: int = 0
    is_dead: bool = False
    is_superseded: bool = False
    control: Control | None = None
    lease: Lease | None = None


@dataclass
class World:
    """`mode` is how the server answers: ok, busy, broken. `heard` holds what reached it, by user."""

    now: datetime = field(default_factory=lambda: datetime(2026, 11, 1, 12, tzinfo=UTC))
    mode: str = "ok"
    model_is_down: bool = False
    heard: dict[str, list[tuple[int, bytes]]] = field(default_factory=lambda: defaultdict(list))
    kept: list[int] = field(default_factory=list)
    interruptions: int = 0

    def __post_init__(self) -> None:
        self._local = threading.local()

    def clock(self) -> datetime:
        return self.now

    @property
    def process(self) -> Process:
        return self._local.process

    def work(self, job: Job, *, action: str = "", at: int = 0) -> str:
        """Run one slice of `job` in a process of its own and return how it ended."""
        process = self._local.process = Process(action, at)
        try:
            end = slices.work_on(job.pk, clock=self.clock, retry=RETRY).value
        except Killed:
            end = "killed"
        halted = process.control is not None and process.control.halted is not None
        self.interruptions += end in {"killed", "lost"} or halted
        return end

    def point(self, *, inside: bool = False) -> None:
        """Something may happen here; `inside` a transaction, where others would wait, only the worst."""
        process = self.process
        if process.is_dead:
            raise Killed
        process.points += 1
        if not process.action or process.points < process.at or (inside and process.action != "kill"):
            return
        action, process.action = process.action, ""
        if action == "kill":
            process.is_dead = True
            raise Killed
        self._happen(action, process)

    def _happen(self, action: str, process: Process) -> None:
        job_id = process.lease.job_id if process.lease else None
        if action == "take over":
            self.now += timedelta(seconds=settings.AML_LEASE_S + 1)
            assert self._elsewhere(lambda: self.work(Job.objects.get(pk=job_id))) != "busy"
            process.is_superseded = True
        elif action == "deliver twice":
            assert self._elsewhere(lambda: self.work(Job.objects.get(pk=job_id))) == "busy"
        elif action == "cancel":
            self._elsewhere(lambda: self.cancel(Job.objects.get(pk=job_id)))
        elif action == "beat":
            self._elsewhere(lambda: leases._pass_on(process.lease, process.control))
        elif action == "close":
            process.control._ends = 0.0
        else:
            process.control.halt(Halt.DRAINED)

    def cancel(self, job: Job) -> bool:
        """Cancel a job; False when it has ended meanwhile."""
        try:
            cancel_job(job=job, actor="key:test", at=self.now)
        except Refusal:
            return False
        return True

    def _elsewhere(self, work: Callable[[], Any]) -> Any:
        """Do something in a thread with a connection of its own, while this one stands still."""
        came: list[Any] = []

        def run() -> None:
            try:
                came.append(work())
            finally:
                connection.close()

        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
        return came[0]


class FakeDoor:
    """The server without a wire: what arrives is heard, and what it answers may be lost on its way back."""

    def __init__(self, world: World, job: Job) -> None:
        self._world = world

    async def add(self, event: PlannedAdd, *, attempt: int, task_id: str) -> tuple[AddOutcome, Receipt]:
        facts = self._call(event)
        return AddOutcome(**facts), self._receipt(CallKind.ADD, attempt, facts)

    async def search(self, event: PlannedSearch, *, attempt: int) -> tuple[SearchOutcome, Receipt]:
        facts = self._call(event)
        if facts["verdict"] is Verdict.OK:
            # the answer depends on the question alone, as a deterministic system's would
            facts["memories"] = (Memory(id="m", content=f"It is called {event.question.key}.", score=1.0),)
        return SearchOutcome(**facts), self._receipt(CallKind.SEARCH, attempt, facts)

    def _call(self, event: PlannedAdd | PlannedSearch) -> dict[str, Any]:
        world = self._world
        world.point()
        mode, heard = world.mode, world.heard[event.request.user_id]
        if not world.process.is_superseded:
            self._check_order(event, heard)
        heard.append((event.ordinal, event.body))
        world.point()
        if mode == "ok":
            return {"verdict": Verdict.OK}
        if mode == "busy":
            return {"verdict": Verdict.RETRY, "reason": Reason("http_503"), "retry_after_s": 30.0}
        return {"verdict": Verdict.CONTRACT_ERROR, "reason": Reason("data_missing")}

    @staticmethod
    def _check_order(event: PlannedAdd | PlannedSearch, heard: list[tuple[int, bytes]]) -> None:
        before = {ordinal for ordinal, _ in heard}
        if isinstance(event, PlannedAdd):
            assert before <= set(range(event.ordinal + 1)), "an Add goes out before everything behind it"
            assert before >= set(range(event.ordinal)), "and behind everything before it"

    def _receipt(self, kind: CallKind, attempt: int, facts: dict[str, Any]) -> Receipt:
        ok = facts["verdict"] is Verdict.OK
        return Receipt(
            kind=kind,
            request_id="",
            attempt=attempt,
            started_at=self._world.now,
            ended_at=self._world.now,
            latency_ms=1.0,
            http_status=200 if ok else 503,
            bytes_sent=1,
            bytes_received=1,
            verdict=facts["verdict"],
            reason_code="" if ok else facts["reason"].code,
            resolved_address="",
        )


class InlineThread:
    """A DatabaseThread that is no thread."""

    def __enter__(self) -> "InlineThread":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    async def run(self, function: Callable[..., Any], *arguments: Any) -> Any:
        return function(*arguments)


def rule(world: World, patch: pytest.MonkeyPatch) -> None:
    """Put the engine into `world` for the rest of the test."""
    patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")
    patch.setattr(slices, "DatabaseThread", InlineThread)
    patch.setattr(slices, "ParticipantDoor", lambda job: FakeDoor(world, job))
    patch.setattr(slices, "heartbeat", _heartbeat(world))
    patch.setattr(slices, "DatabaseLedger", _pointed(world, slices.DatabaseLedger, "record_attempts", "open_scope"))
    patch.setattr(slices, "ItemLedger", _pointed(world, slices.ItemLedger, "record"))
    patch.setattr(slices, "answerer_for", _answerer_for(world, slices.answerer_for))
    patch.setattr(slices, "make_result", _around(world, slices.make_result))
    patch.setattr(preparing, "_make_scope", _around(world, preparing._make_scope))
    patch.setattr(leases, "_held", _noting(world, leases._held))


def _heartbeat(world: World) -> Callable[[Lease, Control], Any]:
    @contextmanager
    def heartbeat(lease: Lease, control: Control) -> Iterator[None]:
        world.process.lease, world.process.control = lease, control
        yield

    return heartbeat


def _pointed(world: World, ledger: type, *methods: str) -> type:
    """A ledger with a point before and behind each of its steps."""

    def pointed(method: str) -> Callable[..., Any]:
        async def step(self: Any, *arguments: Any) -> Any:
            world.point()
            came = await getattr(ledger, method)(self, *arguments)
            if method != "open_scope":
                world.kept.append(world.process.lease.token)
            world.point()
            return came

        return step

    return type(f"Pointed{ledger.__name__}", (ledger,), {method: pointed(method) for method in methods})


def _around(world: World, step: Callable[..., Any]) -> Callable[..., Any]:
    def around(*arguments: Any) -> Any:
        world.point(inside=True)
        came = step(*arguments)
        world.point(inside=True)
        return came

    return around


def _noting(world: World, held: Callable[[Lease], Any]) -> Callable[[Lease], Any]:
    """A dead process asks the database nothing more."""

    def noting(lease: Lease) -> Any:
        if getattr(world._local, "process", None) and world.process.is_dead:
            raise Killed
        return held(lease)

    return noting


def _answerer_for(world: World, real: Callable[..., Any]) -> Callable[..., Any]:
    class Sometimes:
        def __init__(self, answerer: Any) -> None:
            self.id = answerer.id
            self._answerer = answerer

        async def answer(self, *arguments: Any) -> Any:
            world.point()
            if world.model_is_down:
                raise ModelFault("model_unreachable", "down")
            return await self._answerer.answer(*arguments)

    @asynccontextmanager
    async def answerer_for(*arguments: Any, **options: Any) -> Any:
        async with real(*arguments, **options) as answerer:
            yield Sometimes(answerer)

    return answerer_for
