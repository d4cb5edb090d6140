"""Speaks to the participant: every Add and Search of a run, each attempt kept before the next step is taken.

A scope's Adds go out one after another; the Searches between two Adds side by side; an Add waits for every earlier
Search of its scope. Scopes go side by side. Adds and Searches have lanes of their own. A lane is free again when its
answer is there; its keeping goes on beside the next call. Calls that are out or not yet kept are never more than there
are lanes for Adds and Searches together, so that a crash repeats at most so many. A back-off is a time in the ledger;
the slice waits for it only while there is other work, or for less than `SHORT_WAIT_S`.
"""

import asyncio
import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby

from contract.answers import AddOutcome, SearchOutcome
from contract.retry import Done, GiveUp
from evaluation.pipeline.adaptive import Lanes
from evaluation.pipeline.attempts import call_kind, follow
from evaluation.pipeline.commits import GroupCommit
from evaluation.pipeline.control import Control
from evaluation.pipeline.plan import Planned, PlannedAdd
from evaluation.pipeline.ports import (
    Attempt,
    Clock,
    Door,
    EventState,
    LeaseLost,
    Ledger,
    PlanChanged,
    ScopeState,
    ScopeWork,
)

__all__ = ["SHORT_WAIT_S", "Collected", "Collector"]

SHORT_WAIT_S = 2.0
"""A wait that a slice sits out although nothing else is to do."""
TICK_S = 0.05
OPEN_SCOPES = 64
PACE_S = 0.01
"""Between the beginnings of two commits: a hundred a second are as quick as anyone can follow."""


@dataclass(frozen=True, slots=True)
class Collected:
    """How a slice of collecting ended: every event `done`, one `failed` for good, or more to do at `wake_at`."""

    done: bool = False
    failed: bool = False
    wake_at: datetime | None = None


class Collector:
    """Collects for one slice; made anew for each. `add_lanes` and `search_lanes` are what the participant declared,
    `add_start` and `search_start` how many of them were open last."""

    def __init__(
        self,
        *,
        ledger: Ledger,
        door: Door,
        control: Control,
        clock: Clock,
        add_lanes: int,
        search_lanes: int,
        add_start: int | None = None,
        search_start: int | None = None,
    ) -> None:
        self._ledger = ledger
        self._door = door
        self._control = control
        self._clock = clock
        self._adds = Lanes(add_lanes, start=add_start)
        self._searches = Lanes(search_lanes, start=search_start)
        self._unkept = asyncio.Semaphore(add_lanes + search_lanes)
        # a Search keeps its place while it backs off: a server that is down sees no more than these
        self._places = asyncio.Semaphore(2 * search_lanes)
        self._scopes = asyncio.Semaphore(max(add_lanes, min(search_lanes, OPEN_SCOPES)))
        self._commits = GroupCommit(ledger.record_attempts, pace_s=PACE_S)
        self._at_work = 0
        self._due: list[datetime] = []
        self._idle_until: datetime | None = None
        self._stop = asyncio.Event()  # start nothing new
        self._failed = False
        self._incomplete = False

    async def run(self, scopes: Iterator[ScopeWork]) -> Collected:
        """Work until everything is done, an event has failed for good, or the control says stop.

        Raises LeaseLost and PlanChanged, and whatever a ledger raises.
        """
        root = asyncio.create_task(self._open_scopes(scopes))
        try:
            while not root.done():
                await asyncio.wait({root}, timeout=TICK_S)
                self._look_around()
                if self._failed or self._control.halted:
                    root.cancel()
            await _outcome(root)
        except LeaseLost:
            if not self._failed:  # keeping the failure ended the run, which is why nothing else was kept
                raise
        finally:
            root.cancel()
            await self._commits.close()
        if self._failed:
            return Collected(failed=True)
        if self._incomplete or self._control.halted:
            return Collected(wake_at=self._idle_until or self._clock())
        return Collected(done=True)

    def _look_around(self) -> None:
        """Stop starting things when time is up, or when all that is left waits for long."""
        if self._stop.is_set():
            return
        if 0 < self._at_work == len(self._due):
            first = min(self._due)
            if (first - self._clock()).total_seconds() > SHORT_WAIT_S:
                self._idle_until = first
        if self._control.closing or self._idle_until:
            self._incomplete = True
            self._stop.set()

    async def _open_scopes(self, scopes: Iterator[ScopeWork]) -> None:
        async with asyncio.TaskGroup() as group:
            for work in scopes:
                await self._scopes.acquire()
                if self._stop.is_set():
                    self._incomplete = True
                    return
                group.create_task(self._feed(work))

    async def _feed(self, work: ScopeWork) -> None:
        """Send a scope's events in order, from where it stands."""
        try:
            with self._working():
                state = await self._ledger.open_scope(work.ordinal)
            scope = _OpenScope(work.ordinal, state)
            for kind, events in groupby(scope.left(work.plan()), key=type):
                send = self._send_adds if kind is PlannedAdd else self._send_searches
                if not await send(scope, events):
                    self._incomplete = True
                    return
        finally:
            self._scopes.release()

    async def _send_adds(self, scope: "_OpenScope", events: Iterator[Planned]) -> bool:
        for event in events:
            with self._working():
                if not await self._see_through(scope, event, self._adds):
                    return False
        return True

    async def _send_searches(self, scope: "_OpenScope", events: Iterator[Planned]) -> bool:
        async with asyncio.TaskGroup() as group:
            for event in events:
                await self._places.acquire()
                if self._stop.is_set():
                    self._places.release()
                    return False
                self._at_work += 1
                group.create_task(self._search(scope, event))
        return not self._incomplete

    async def _search(self, scope: "_OpenScope", event: Planned) -> None:
        try:
            if not await self._see_through(scope, event, self._searches):
                self._incomplete = True
        finally:
            self._at_work -= 1
            self._places.release()

    async def _see_through(self, scope: "_OpenScope", event: Planned, lanes: Lanes) -> bool:
        """Attempt `event` until it is done; False when it isn't and nothing new may start."""
        state = scope.state_of(event)
        while True:
            if not await self._wait_for_turn(state, lanes):
                return False
            async with lanes:
                if self._stop.is_set():
                    return False
                if self._is_held(lanes):
                    continue
                await self._unkept.acquire()
                try:
                    attempt = await self._attempt(scope, event, state, lanes)
                except BaseException:
                    self._unkept.release()
                    raise
                if isinstance(attempt.decision, GiveUp):
                    self._stop.set()  # before the lane is free: nobody else begins what can't come to anything
            try:
                await self._commits.put(attempt)
            finally:
                self._unkept.release()
            state = attempt.state
            if isinstance(attempt.decision, Done):
                return True
            if isinstance(attempt.decision, GiveUp):
                self._failed = True
                return False

    async def _wait_for_turn(self, state: EventState, lanes: Lanes) -> bool:
        """Wait until the event is due and the server wants to hear of its kind again; False when the slice closes."""
        if state.next_attempt_at is not None and not await self._wait_until(state.next_attempt_at):
            return False
        while lanes.held_until is not None and self._is_held(lanes):
            if not await self._wait_until(lanes.held_until):
                return False
        return True

    def _is_held(self, lanes: Lanes) -> bool:
        return lanes.held_until is not None and self._clock() < lanes.held_until

    async def _attempt(self, scope: "_OpenScope", event: Planned, state: EventState, lanes: Lanes) -> Attempt:
        kind = call_kind(event, state)
        outcome: AddOutcome | SearchOutcome
        if isinstance(event, PlannedAdd):
            outcome, receipt = await self._door.add(event, attempt=state.attempts + 1, task_id=state.task_id)
        else:
            outcome, receipt = await self._door.search(event, attempt=state.attempts + 1)
        jitter = random.random()  # noqa: S311 (spreads retries, hides nothing)
        now = self._clock()
        behind, decision = follow(state, kind, outcome, receipt, now=now, jitter=jitter)
        next_event = scope.advance(event) if behind.done else scope.next_event
        return Attempt(
            scope=scope.ordinal,
            event=event,
            outcome=outcome,
            receipt=receipt,
            decision=decision,
            state=behind,
            next_event=next_event,
            lanes=lanes.hear(outcome, receipt, now),
        )

    async def _wait_until(self, at: datetime) -> bool:
        """Wait until `at`; False when the slice closes before."""
        self._due.append(at)
        try:
            async with asyncio.timeout(max(0.0, (at - self._clock()).total_seconds())):
                await self._stop.wait()
        except TimeoutError:
            return True
        finally:
            self._due.remove(at)
        return False

    @contextmanager
    def _working(self) -> Iterator[None]:
        self._at_work += 1
        try:
            yield
        finally:
            self._at_work -= 1


class _OpenScope:
    """What is done of a scope that is being sent. Not to be shared between slices."""

    def __init__(self, ordinal: int, state: ScopeState) -> None:
        self.ordinal = ordinal
        self.next_event = state.next_event
        self._known = state.events
        self._done = {at for at, event in state.events.items() if event.done}

    def left(self, plan: Iterator[Planned]) -> Iterator[Planned]:
        """The events of `plan` that aren't done."""
        return (event for event in plan if event.ordinal >= self.next_event and event.ordinal not in self._done)

    def state_of(self, event: Planned) -> EventState:
        """What is known of `event`. Raises PlanChanged when it was sent before with another body."""
        digest = event.body_sha256
        known = self._known.pop(event.ordinal, None)
        if known is None:
            return EventState(body_sha256=digest)
        if known.body_sha256 != digest:
            raise PlanChanged(f"event {event.ordinal}: sent as {known.body_sha256}, now {digest}")
        return known

    def advance(self, event: Planned) -> int:
        """Take `event` as done and return the first event before which everything is."""
        self._done.add(event.ordinal)
        while self.next_event in self._done:
            self._done.remove(self.next_event)
            self.next_event += 1
        return self.next_event


async def _outcome(root: asyncio.Task[None]) -> None:
    """Wait for `root`, whom the collector may have cancelled, and raise the one error that tells most."""
    try:
        await root
    except asyncio.CancelledError:
        if not root.cancelled():
            raise
    except BaseExceptionGroup as group:
        raise _telling(group) from None


def _telling(group: BaseExceptionGroup) -> BaseException:
    lost, _ = group.split(LeaseLost)
    error: BaseException = lost or group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
