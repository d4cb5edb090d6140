"""What the pipeline needs from outside. Whatever stands behind the ledger, the work is the same."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from benchmarks.datasets.model import Question
from benchmarks.judging.verdict import Judge, Judgement
from contract.answers import AddOutcome, SearchOutcome
from contract.memories import Memory
from contract.receipts import Receipt
from contract.retry import Decision
from evaluation.pipeline.adaptive import LaneChange
from evaluation.pipeline.answering.model import Answer, Answerer
from evaluation.pipeline.plan import Planned, PlannedAdd, PlannedSearch

__all__ = [
    "Answer",
    "Answerer",
    "Attempt",
    "Clock",
    "Door",
    "EventState",
    "Fault",
    "ItemOutcome",
    "Judge",
    "Judgement",
    "LaneChange",
    "LeaseLost",
    "Ledger",
    "PendingItem",
    "PlanChanged",
    "ScopeState",
    "ScopeWork",
]

Clock = Callable[[], datetime]
"""Gives the time, aware."""


class LeaseLost(Exception):
    """Somebody else works on this run now, or it has ended: nothing more may be kept."""


class PlanChanged(Exception):
    """A request that was sent before would be other bytes now. Nothing that a participant did."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EventState:
    """How far one Add or Search has come. Times are aware.

    `attempts` counts every call that was recorded, `sends` those of the request itself, `polls` those that asked how
    an accepted Add goes on, since it was accepted at `accepted_at` as `task_id`.
    """

    body_sha256: str
    attempts: int = 0
    sends: int = 0
    polls: int = 0
    full_timeouts: int = 0
    first_started_at: datetime | None = None
    next_attempt_at: datetime | None = None
    accepted_at: datetime | None = None
    task_id: str = ""
    done: bool = False


@dataclass(frozen=True, slots=True)
class ScopeState:
    """Events before `next_event` are done; `events` holds what is known of later ones, by ordinal."""

    next_event: int = 0
    events: dict[int, EventState] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ScopeWork:
    """A scope that isn't done. `plan` makes its events from the first one on, each time it is called."""

    ordinal: int
    plan: Callable[[], Iterator[Planned]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One attempt and what it leads to; a ledger keeps it whole or not at all.

    `state` is the event's state behind it; before `next_event` the scope's events are done.
    """

    scope: int
    event: Planned
    outcome: AddOutcome | SearchOutcome
    receipt: Receipt
    decision: Decision
    state: EventState
    next_event: int
    lanes: LaneChange | None = None
    """The change in the number of lanes that this attempt has made."""


class Door(Protocol):
    """The way to one participant: one attempt of an event. With a `task_id` it asks how an accepted Add goes on."""

    async def add(self, event: PlannedAdd, *, attempt: int, task_id: str) -> tuple[AddOutcome, Receipt]: ...

    async def search(self, event: PlannedSearch, *, attempt: int) -> tuple[SearchOutcome, Receipt]: ...


@dataclass(frozen=True, slots=True)
class PendingItem:
    """A question that waits for its answer or its score. `attempts` counts those that failed.

    `dataset` names the bundle that it comes from. `memories` are set where it waits for its answer, `answer` where it
    waits for its score.
    """

    id: int
    dataset: str
    question: Question
    attempts: int
    memories: tuple[Memory, ...] = ()
    answer: str = ""


@dataclass(frozen=True, slots=True)
class Fault:
    """A failed attempt to answer or score; `next_attempt_at` is None when it was the last."""

    code: str
    next_attempt_at: datetime | None


@dataclass(frozen=True, slots=True)
class ItemOutcome:
    """What one attempt to answer or to score an item came to. `attempts` counts it where it failed.

    `by` is the id of the answerer or judge.
    """

    item: int
    attempts: int
    by: str
    result: Answer | Judgement | Fault


class Ledger(Protocol):
    """Where a run's traffic is kept. Every method raises LeaseLost when the run isn't this worker's any more."""

    async def open_scope(self, scope: int) -> ScopeState: ...

    async def record_attempts(self, attempts: Sequence[Attempt]) -> None: ...
