"""Keeping goes on beside the next calls, and never so far behind that a crash would repeat more than the lanes."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime

from benchmarks.datasets.model import Question, Scope
from contract.answers import AddOutcome, SearchOutcome
from contract.receipts import CallKind, Receipt
from contract.verdicts import Verdict
from evaluation.pipeline.collect import Collector
from evaluation.pipeline.control import Control
from evaluation.pipeline.ids import RunIds
from evaluation.pipeline.plan import PlannedAdd, PlannedSearch, plan_scope
from evaluation.pipeline.ports import Attempt, ScopeState, ScopeWork

QUESTIONS = 60
LANES = 4
COMMIT_S = 0.03


def now() -> datetime:
    return datetime.now(UTC)


class SlowLedger:
    """Takes its time for each commit; `ahead` is the most calls that were begun and not kept."""

    def __init__(self) -> None:
        self.begun = self.kept = self.ahead = self.out = 0
        self.most_out = self.out_while_committing = 0

    def begin(self) -> None:
        self.begun += 1
        self.out += 1
        self.most_out = max(self.most_out, self.out)
        self.ahead = max(self.ahead, self.begun - self.kept)

    async def open_scope(self, scope: int) -> ScopeState:
        return ScopeState()

    async def record_attempts(self, attempts: Sequence[Attempt]) -> None:
        begun = self.begun
        await asyncio.sleep(COMMIT_S)
        self.out_while_committing += self.begun - begun
        self.kept += len(attempts)


class QuickDoor:
    def __init__(self, ledger: SlowLedger) -> None:
        self._ledger = ledger

    async def add(self, event: PlannedAdd, *, attempt: int, task_id: str) -> tuple[AddOutcome, Receipt]:
        raise AssertionError("nothing is added here")

    async def search(self, event: PlannedSearch, *, attempt: int) -> tuple[SearchOutcome, Receipt]:
        self._ledger.begin()
        started = now()
        await asyncio.sleep(0.005)
        self._ledger.out -= 1
        receipt = Receipt(
            kind=CallKind.SEARCH,
            request_id="",
            attempt=attempt,
            started_at=started,
            ended_at=now(),
            latency_ms=5.0,
            http_status=200,
            bytes_sent=1,
            bytes_received=1,
            verdict=Verdict.OK,
            reason_code="",
            resolved_address="",
        )
        return SearchOutcome(verdict=Verdict.OK), receipt


def test_lanes_go_on_while_a_commit_runs_and_wait_when_too_much_is_not_kept() -> None:
    questions = tuple(Question(f"q{n}", f"what is {n}?", None, "gold", "4", "A", ()) for n in range(QUESTIONS))
    scope = Scope("talk", (), questions)
    ledger = SlowLedger()
    collector = Collector(
        ledger=ledger,
        door=QuickDoor(ledger),
        control=Control(budget_s=60),
        clock=now,
        add_lanes=LANES,
        search_lanes=LANES,
    )
    work = ScopeWork(0, lambda: plan_scope(scope, dataset="d", ids=RunIds("r"), top_k=10))
    collected = asyncio.run(collector.run(iter([work])))

    assert collected.done
    assert (ledger.begun, ledger.kept) == (QUESTIONS, QUESTIONS)
    assert ledger.most_out == LANES
    assert ledger.out_while_committing > QUESTIONS // 3, "a commit holds no lane"
    assert LANES < ledger.ahead <= 2 * LANES, "the lanes for Adds and Searches together"
