"""One slice of a job: take the lease, go on where the job stands for a few minutes, give it back and queue the next.

Everything that is done is kept in small transactions that check the lease first, so that a slice may be killed at any
point, or run twice, and the job only loses time.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import datetime, timedelta
from enum import StrEnum
from functools import partial
from uuid import UUID

import zstandard
from django.conf import settings
from django.db import transaction
from django.db.models import Min
from django.utils import timezone

from benchmarks.judging.faults import ModelFault
from evaluation.aggregation import make_result
from evaluation.analysing import Analysis, analyse_run, keep_causes
from evaluation.backends import answerer_for, judges_for
from evaluation.budgetcurve import BudgetCurve, budget_curve_of
from evaluation.database_thread import DatabaseThread
from evaluation.door import ParticipantDoor
from evaluation.evidence.reading import EvidenceMissing
from evaluation.evidence.sealing import seal_scopes
from evaluation.faults import PlatformFault
from evaluation.itemledger import ANSWERING, SCORING, ItemLedger, Step
from evaluation.lease import Lease, acquire, fence, heartbeat, release
from evaluation.ledger import DatabaseLedger
from evaluation.logs import job_logs
from evaluation.models import Item, Job, Scope
from evaluation.pipeline.baseline import pipeline_code_hash
from evaluation.pipeline.collect import Collected, Collector
from evaluation.pipeline.control import Control, Halt
from evaluation.pipeline.items import (
    MODEL_LANES,
    OFFLINE_LANES,
    Attempt,
    ModelRetry,
    Workbench,
    answer_with,
    score_with,
)
from evaluation.pipeline.ports import Answerer, Clock, Judge, LeaseLost, PlanChanged, ScopeWork
from evaluation.preparing import is_prepared, prepare
from evaluation.progress import Progress
from evaluation.services import end_job
from evaluation.suites import JobSuite
from evaluation.tasks import wake
from submissions.services.versions import STOPPED

__all__ = ["MAX_BARREN_TAKEOVERS", "SliceEnd", "work_on"]

log = logging.getLogger(__name__)

MAX_BARREN_TAKEOVERS = 8
"""So often a worker may vanish in a row without having kept anything; then the job is the cause."""
STUMBLE_S = 10.0
MAX_GIVEN_UP = 32
"""So many items that a model has failed on for good end a step: the job can't succeed any more."""


_WORK = (Job.Stage.INGESTION, Job.Stage.RETRIEVAL, Job.Stage.ANSWERING, Job.Stage.SCORING)


_UNREADABLE = (EvidenceMissing, PlatformFault, OSError, ValueError, zstandard.ZstdError)
"""What reading evidence raises."""


class SliceEnd(StrEnum):
    """How a slice ended."""

    BUSY = "busy"
    ENDED = "ended"
    AGAIN = "again"
    LOST = "lost"
    DRAINED = "drained"
    STUMBLED = "stumbled"


def work_on(job_id: UUID, *, clock: Clock = timezone.now, retry: ModelRetry | None = None) -> SliceEnd:
    """Run one slice of a job, if it is due to nobody else. Raises nothing but what ends the process."""
    with job_logs(job_id):
        return _work_on(job_id, clock, retry)


def _work_on(job_id: UUID, clock: Clock, retry: ModelRetry | None) -> SliceEnd:
    lease = acquire(job_id, at=clock())
    if lease is None:
        return SliceEnd.BUSY
    control = Control(budget_s=settings.AML_SLICE_S)
    try:
        with heartbeat(lease, control):
            return _Slice(lease, control, clock, retry or ModelRetry()).run()
    except _JobEnded:
        return SliceEnd.ENDED
    except LeaseLost:
        return SliceEnd.LOST
    except PlanChanged as error:
        return _fail(lease, PlatformFault("plan_changed", str(error)), clock())
    except PlatformFault as fault:
        return _fail(lease, fault, clock())
    except Exception:
        log.exception("a slice of job %s stumbled", job_id)
        at = clock()
        _release(lease, at=at, wake_at=at + timedelta(seconds=STUMBLE_S), stumbled=True)
        return SliceEnd.STUMBLED


class _Slice:
    """The stages of a job from where it stands. Each returns when to go on, or None when the stage is done."""

    def __init__(self, lease: Lease, control: Control, clock: Clock, retry: ModelRetry) -> None:
        self._lease = lease
        self._control = control
        self._clock = clock
        self._retry = retry
        self._analysis, self._curve_missing = Analysis(), ""
        self._job = Job.objects.select_related("version", "release__smoke_bundle").get(pk=lease.job_id)

    def run(self) -> SliceEnd:
        job = self._job
        if job.cancel_requested:
            return self._end(Job.State.CANCELLED)
        if job.version.state in STOPPED:
            return self._end(Job.State.CANCELLED, code="version_stopped")
        if job.barren_takeovers > MAX_BARREN_TAKEOVERS:
            raise PlatformFault("no_progress", f"{job.barren_takeovers} slices in a row kept nothing")
        self._check_code()
        self._suite = JobSuite(job)
        if not is_prepared(job):
            prepare(job, self._lease, self._suite, at=self._clock())
        self._progress = Progress(job.pk, clock=self._clock)
        with DatabaseThread() as self._thread:
            go_on_at = asyncio.run(self._advance())
        return self._finish() if go_on_at is None else self._pause(go_on_at)

    def _check_code(self) -> None:
        """A full evaluation is the work of one code from its first request to its result: that of its release."""
        expected, found = str(self._job.release.baseline["code"]), pipeline_code_hash()
        if self._job.mode == Job.Mode.FULL and found != expected:
            raise PlatformFault("plan_changed", f"code: expected {expected[:16]}, got {found[:16]}")

    async def _advance(self) -> datetime | None:
        stages = (self._collect, partial(self._work_on_items, ANSWERING), partial(self._work_on_items, SCORING))
        for stage in stages:
            go_on_at = await stage()
            if self._control.halted or go_on_at is not None:
                return go_on_at or self._clock()
        return await self._analyse()

    async def _analyse(self) -> datetime | None:
        """Say where wrong answers come from and draw the curve. What fails here is missing, and costs no score."""
        if not await self._thread.run(self._is_scored):
            return None
        try:
            self._analysis = await self._thread.run(self._read_evidence)
        except _UNREADABLE as error:
            log.error("the evidence of job %s could not be analysed: %s", self._lease.job_id, error)
        try:
            await self._draw_curve()
        except (ModelFault, *_UNREADABLE) as error:
            self._curve_missing = getattr(error, "code", "evidence_missing")
            log.error("job %s has no budget curve: %s", self._lease.job_id, error)
        return self._clock() if self._control.closing and await self._is_curve_due() else None

    def _is_scored(self) -> bool:
        return not Item.objects.filter(job_id=self._lease.job_id).exclude(state=Item.State.SCORED).exists()

    def _read_evidence(self) -> Analysis:
        return analyse_run(self._job, self._suite, keep=keep_causes(self._lease))

    async def _is_curve_due(self) -> bool:
        return not self._curve_missing and await self._curve().is_due()

    def _curve(self) -> BudgetCurve:
        return BudgetCurve(self._job, lease=self._lease, control=self._control, thread=self._thread)

    async def _draw_curve(self) -> None:
        if await self._is_curve_due():
            async with self._answerer() as answerer, self._judges() as judges:
                await self._curve().draw(answerer, judges)

    async def _collect(self) -> datetime | None:
        left = await self._thread.run(self._scopes_left)
        if not left:
            await self._thread.run(seal_scopes, self._lease, self._suite)
            return None
        collector = Collector(
            ledger=DatabaseLedger(self._lease, self._progress, self._thread),
            door=await self._thread.run(ParticipantDoor, self._job),
            control=self._control,
            clock=self._clock,
            add_lanes=self._job.add_concurrency,
            search_lanes=self._job.search_concurrency,
            add_start=self._progress.lanes(Job.Stage.INGESTION),
            search_start=self._progress.lanes(Job.Stage.RETRIEVAL),
        )
        collected: Collected = await collector.run(self._scope_work(left))
        if collected.failed:
            raise _JobEnded
        if not self._control.halted:
            await self._thread.run(seal_scopes, self._lease, self._suite)
        return collected.wake_at

    def _scopes_left(self) -> set[int]:
        rows = Scope.objects.filter(job=self._job, state=Scope.State.PENDING)
        return set(rows.values_list("ordinal", flat=True))

    def _scope_work(self, left: set[int]) -> Iterator[ScopeWork]:
        for scope in self._suite.scopes():
            if scope.ordinal in left:
                yield ScopeWork(scope.ordinal, partial(self._suite.plan, scope))

    async def _work_on_items(self, step: Step) -> datetime | None:
        if not await self._thread.run(step.waiting(self._lease.job_id).exists):
            return None
        ledger = ItemLedger(step, lease=self._lease, progress=self._progress, thread=self._thread)
        async with self._attempt(step) as attempt:
            bench = Workbench(
                attempt,
                record=ledger.record,
                control=self._control,
                clock=self._clock,
                retry=self._retry,
                lanes=MODEL_LANES if self._asks_a_model(step) else OFFLINE_LANES,
            )
            await bench.run(ledger.due(self._suite, self._clock))
        if bench.refusal is not None:
            log.error("the model of job %s refused: %s", self._lease.job_id, bench.refusal)
            raise PlatformFault(bench.refusal.code, step.code)
        return await self._thread.run(self._items_due_at, step, bench.model_is_down)

    def _asks_a_model(self, step: Step) -> bool:
        part = self._job.release.baseline["answer" if step is ANSWERING else "judge"]
        return bool(part["backend"] == "openai")

    @asynccontextmanager
    async def _attempt(self, step: Step) -> AsyncIterator[Attempt]:
        if step is ANSWERING:
            async with self._answerer() as answerer:
                yield answer_with(answerer)
        else:
            async with self._judges() as judges:
                yield score_with(judges)

    def _answerer(self) -> AbstractAsyncContextManager[Answerer]:
        return answerer_for(self._job.release.baseline, fence_key=bytes(self._job.id_key))

    def _judges(self) -> AbstractAsyncContextManager[Mapping[str, Judge]]:
        metrics = {part.bundle.name: part.metric for part in self._suite.parts}
        return judges_for(self._job.release.baseline, metrics=metrics, fence_key=bytes(self._job.id_key))

    def _items_due_at(self, step: Step, model_is_down: bool) -> datetime | None:
        """When the step's next item is due; None when none waits. Raises PlatformFault when too many gave up."""
        items = Item.objects.filter(job_id=self._lease.job_id)
        if items.filter(state=step.gave_up).count() >= MAX_GIVEN_UP:
            raise self._incomplete()
        waiting = step.waiting(self._lease.job_id)
        if not waiting.exists():
            return None
        now = self._clock()
        untried = waiting.filter(next_attempt_at=None).exists() and not model_is_down
        return now if untried else waiting.aggregate(at=Min("next_attempt_at"))["at"] or now

    def _incomplete(self) -> PlatformFault:
        """The fault of a job whose items the platform's own models have failed on."""
        items = Item.objects.filter(job_id=self._lease.job_id)
        step = next(step for step in (ANSWERING, SCORING) if items.filter(state=step.gave_up).exists())
        given_up = items.filter(state=step.gave_up)
        codes = sorted(set(given_up.values_list("error_code", flat=True)))
        return PlatformFault(step.code, f"{given_up.count()} of {items.count()} questions: {', '.join(codes)}")

    def _pause(self, go_on_at: datetime) -> SliceEnd:
        """Give the lease back, or end the job where somebody has asked for that."""
        halted = self._control.halted
        if halted is Halt.LOST:
            raise LeaseLost
        if halted is Halt.CANCELLED:
            return self._end(Job.State.CANCELLED)
        _release(self._lease, at=self._clock(), wake_at=self._clock() if halted else go_on_at)
        return SliceEnd.DRAINED if halted is Halt.DRAINED else SliceEnd.AGAIN

    def _finish(self) -> SliceEnd:
        """Every item has been through every step: make the result, or say what is missing."""
        states = set(Item.objects.filter(job=self._job).order_by().values_list("state", flat=True))
        if states & {ANSWERING.gave_up, SCORING.gave_up}:
            raise self._incomplete()
        undone = [stage for stage in _WORK if not self._progress.is_done(stage)]
        if undone or states - {Item.State.SCORED}:
            raise PlatformFault("internal_error", f"at the end: items {sorted(states)}, undone {undone}")
        with transaction.atomic():
            fence(self._lease, stage=Job.Stage.AGGREGATION)
            make_result(self._job, self._analysis, budget_curve_of(self._job, self._curve_missing))
            self._progress.add(Job.Stage.AGGREGATION, done=1)
            self._progress.save()
            return self._end(Job.State.SUCCEEDED)

    def _end(self, state: Job.State, *, code: str = "") -> SliceEnd:
        at = self._clock()
        if not end_job(job_id=self._lease.job_id, token=self._lease.token, state=state, blame="", code=code, at=at):
            raise LeaseLost
        return SliceEnd.ENDED


class _JobEnded(Exception):
    """The transaction that kept an attempt has ended the job."""


def _fail(lease: Lease, fault: PlatformFault, at: datetime) -> SliceEnd:
    ended = end_job(
        job_id=lease.job_id,
        token=lease.token,
        state=Job.State.FAILED,
        blame=Job.Blame.PLATFORM,
        code=fault.code,
        detail={"code": fault.code, "got": fault.got},
        at=at,
    )
    if not ended:  # what looked like a fault was another worker's doing
        return SliceEnd.LOST
    log.error("job %s ended by a fault of the platform: %s", lease.job_id, fault)
    return SliceEnd.ENDED


@transaction.atomic
def _release(lease: Lease, *, at: datetime, wake_at: datetime, stumbled: bool = False) -> None:
    """Give the lease back and, where the job is due at once, queue its next slice in the same transaction."""
    due = wake_at <= at
    # where a wake-up is on its way, the reaper sends another one only when that must have been lost
    again = at + timedelta(seconds=settings.AML_REAPER_S) if due else wake_at
    if release(lease, wake_at=again, stumbled=stumbled) and due:
        wake(lease.job_id)
