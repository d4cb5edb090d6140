"""A run from where its folder stands to its end: collect, answer, score, aggregate."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import partial
from typing import Final

from benchmarks.judging.faults import ModelFault
from evaluation.pipeline.aggregate import Aggregate, ScoredItem, aggregate, efficiency_facts
from evaluation.pipeline.collect import Collector
from evaluation.pipeline.control import Control
from evaluation.pipeline.files.ledger import FileLedger
from evaluation.pipeline.files.suite import AskedItem, FileSuite
from evaluation.pipeline.items import (
    MODEL_LANES,
    OFFLINE_LANES,
    Attempt,
    ModelRetry,
    Workbench,
    answer_with,
    score_with,
)
from evaluation.pipeline.ports import Answerer, Clock, Door, Fault, ItemOutcome, Judge, PendingItem, ScopeWork

__all__ = ["Ending", "FileRun", "Opened", "Settings"]

Opened = AbstractAsyncContextManager
TICK_S = 0.1
MAX_GIVEN_UP: Final = 32
"""So many items that a model has failed on for good end a step."""


class Ending(StrEnum):
    """How a process's share of a run ended; all but `done` go on from here in the next one."""

    DONE = "done"
    FAILED = "failed"
    MODEL_FAILED = "model_failed"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What a run is made with. `run` is its id; the lanes are the calls that may be open at once."""

    run: str
    top_k: int
    add_lanes: int
    search_lanes: int
    answers_by_model: bool = False
    scores_by_model: bool = False


class FileRun:
    """One process's share of a run. The door, the answerer and the judges are opened when they are needed."""

    def __init__(
        self,
        *,
        suite: FileSuite,
        ledger: FileLedger,
        settings: Settings,
        door: Callable[[], Door],
        answerer: Callable[[], Opened[Answerer]],
        judges: Callable[[], Opened[Mapping[str, Judge]]],
        control: Control,
        clock: Clock,
        retry: ModelRetry | None = None,
    ) -> None:
        self._suite = suite
        self._ledger = ledger
        self._settings = settings
        self._door = door
        self._answerer = answerer
        self._judges = judges
        self._control = control
        self._clock = clock
        self._retry = retry or ModelRetry()
        self.model_faults: dict[int, ItemOutcome] = {}
        """What a model has failed on in this process, by item."""

        self.model_refusal: ModelFault | None = None
        """What a model has said that will never answer, as for a wrong key."""

    async def run(self) -> Ending:
        """Work until the run is done, the participant has failed, a model has failed for good, or somebody says stop.

        Raises Damaged, DatasetError, PlanChanged and OSError.
        """
        for stage in (self._collect, partial(self._work_on, "answering"), partial(self._work_on, "scoring")):
            ending = await stage()
            if ending is not None:
                return ending
        return Ending.DONE

    def result(self) -> tuple[Aggregate, dict[str, float]]:
        """What the finished run comes to, and its efficiency."""
        returned = self._ledger.returned()
        efficiency = efficiency_facts(
            add_ms=self._ledger.add_ms,
            search_ms=self._ledger.search_ms,
            characters=[facts.characters for facts in returned],
            memories=[facts.count for facts in returned],
        )
        return aggregate(self._scored()), efficiency

    def needs_server(self) -> bool:
        """Whether anything is left to send."""
        return any(self._left())

    async def _collect(self) -> Ending | None:
        if not self._is_done("ingestion"):
            self._ledger.stages.begin("ingestion", time.monotonic())
        while any(self._left()):
            collector = Collector(
                ledger=self._ledger,
                door=self._door(),
                control=self._control,
                clock=self._clock,
                add_lanes=self._settings.add_lanes,
                search_lanes=self._settings.search_lanes,
                add_start=self._ledger.stages["ingestion"].lanes,
                search_start=self._ledger.stages["retrieval"].lanes,
            )
            collected = await collector.run(self._scope_work())
            if collected.failed:
                return Ending.FAILED
            if collected.wake_at is not None and not await self._wait_until(collected.wake_at):
                return Ending.STOPPED
        return None

    def _left(self) -> Iterator[bool]:
        for ordinal, counts in enumerate(self._suite.events):
            if not self._ledger.is_collected(ordinal, sum(counts)):
                yield True

    def _scope_work(self) -> Iterator[ScopeWork]:
        for found in self._suite.scopes():
            if not self._ledger.is_collected(found.ordinal, sum(self._suite.events[found.ordinal])):
                plan = partial(self._suite.plan, found, run=self._settings.run, top_k=self._settings.top_k)
                yield ScopeWork(found.ordinal, plan)

    async def _work_on(self, stage: str) -> Ending | None:
        if self._is_done(stage):
            return None
        self._ledger.stages.begin(stage, time.monotonic())
        async with self._opened(stage) as attempt:
            while True:
                keys: dict[int, str] = {}
                bench = Workbench(
                    attempt,
                    record=partial(self._record, stage, keys),
                    control=self._control,
                    clock=self._clock,
                    retry=self._retry,
                    lanes=MODEL_LANES if self._asks_a_model(stage) else OFFLINE_LANES,
                )
                await bench.run(self._due(stage, keys))
                if self._is_done(stage):
                    return None
                self.model_refusal = bench.refusal
                due_at = None if bench.refusal else self._due_at()
                if due_at is None and not self._control.halted:
                    return Ending.MODEL_FAILED
                if not await self._wait_until(due_at or self._clock()):
                    return Ending.STOPPED

    def _is_done(self, stage: str) -> bool:
        return self._ledger.stages[stage].is_done

    def _asks_a_model(self, stage: str) -> bool:
        return self._settings.answers_by_model if stage == "answering" else self._settings.scores_by_model

    @asynccontextmanager
    async def _opened(self, stage: str) -> AsyncIterator[Attempt]:
        if stage == "answering":
            async with self._answerer() as answerer:
                yield answer_with(answerer)
        else:
            async with self._judges() as judges:
                yield score_with(judges)

    async def _due(self, stage: str, keys: dict[int, str]) -> AsyncIterator[PendingItem]:
        """Yield the items that are due; `keys` takes the key of each."""
        for item in self._suite.items(run=self._settings.run, top_k=self._settings.top_k):
            if self._has(stage, item.id):
                continue
            fault = self.model_faults.get(item.id)
            if fault is not None and not _is_due(fault, self._clock()):
                continue
            keys[item.id] = item.key
            yield self._pending(stage, item, fault.attempts if fault else 0)

    def _has(self, stage: str, item: int) -> bool:
        return self._ledger.is_answered(item) if stage == "answering" else item in self._ledger.scores

    def _pending(self, stage: str, item: AskedItem, attempts: int) -> PendingItem:
        question, dataset = item.event.question, self._suite.name
        if stage == "answering":
            memories = self._ledger.memories((item.scope, item.event.ordinal))
            return PendingItem(item.id, dataset, question, attempts, memories=memories)
        return PendingItem(item.id, dataset, question, attempts, answer=self._ledger.answer(item.id))

    async def _record(self, stage: str, keys: dict[int, str], outcomes: Sequence[ItemOutcome]) -> None:
        await self._ledger.record_items(outcomes, keys.__getitem__)
        for outcome in outcomes:
            keys.pop(outcome.item)
            if isinstance(outcome.result, Fault):
                self.model_faults[outcome.item] = outcome
                self._ledger.stages.add(stage, retries=1)
            else:
                self.model_faults.pop(outcome.item, None)

    def _due_at(self) -> datetime | None:
        """When to go on with what a model has failed on; None when it has failed for good."""
        waits = [f.result.next_attempt_at for f in self.model_faults.values() if isinstance(f.result, Fault)]
        again = [at for at in waits if at is not None]
        if len(waits) - len(again) >= MAX_GIVEN_UP or (waits and not again):
            return None
        return min(again, default=self._clock())

    async def _wait_until(self, at: datetime) -> bool:
        """Wait until `at`; False when somebody says stop before."""
        while not self._control.closing:
            left = (at - self._clock()).total_seconds()
            if left <= 0:
                return True
            await asyncio.sleep(min(TICK_S, left))
        return False

    def _scored(self) -> Iterator[ScoredItem]:
        for item in self._suite.items(run=self._settings.run, top_k=self._settings.top_k):
            question, score = item.event.question, self._ledger.scores.get(item.id)
            yield ScoredItem(
                question_key=item.key,
                step=question.step,
                state="unscored" if score is None else "scored",
                score=score,
                category=question.category,
                capability=question.capability,
                dataset=self._suite.name,
                answerable=question.answerable,
            )


def _is_due(outcome: ItemOutcome, now: datetime) -> bool:
    assert isinstance(outcome.result, Fault)
    at = outcome.result.next_attempt_at
    return at is not None and at <= now
