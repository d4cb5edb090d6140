"""Answers and scores stored retrievals, without asking the participant anything.

A model that fails costs the item an attempt, never a point: it is tried again later, and after `ModelRetry.attempts`
it stays without an answer or a score, for the platform to do again.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from benchmarks.datasets.model import Question
from benchmarks.judging.faults import ModelFault
from evaluation.pipeline.commits import GroupCommit
from evaluation.pipeline.control import Control
from evaluation.pipeline.ports import Answer, Answerer, Clock, Fault, ItemOutcome, Judge, Judgement, PendingItem

__all__ = [
    "MODEL_LANES",
    "OFFLINE_LANES",
    "ModelRetry",
    "Workbench",
    "answer_with",
    "by_asking",
    "item_key",
    "score_with",
]

MODEL_LANES = 16
"""Items that wait for a model at the same time."""
OFFLINE_LANES = 64
"""Items that are kept together where nothing waits."""

Attempt = Callable[[PendingItem], Awaitable[tuple[str, Answer | Judgement]]]


@dataclass(frozen=True, slots=True)
class ModelRetry:
    """How often a model may fail on an item, and how long to wait: doubling from `first_s` to `longest_s` seconds."""

    attempts: int = 5
    first_s: float = 2.0
    longest_s: float = 120.0

    def after(self, failures: int, at: datetime) -> datetime | None:
        """When to try again after that many failures; None when it was enough."""
        if failures >= self.attempts:
            return None
        return at + timedelta(seconds=min(self.longest_s, self.first_s * 2.0 ** (failures - 1)))


def item_key(bundle: str, question: Question) -> str:
    """A question's key in a run, where every bundle's questions stand together."""
    return f"{bundle}/{question.key}"


def by_asking(bundle: str, questions: Iterable[Question]) -> dict[tuple[str, int], Question]:
    """Return a scope's questions by their key in a run and their step."""
    return {(item_key(bundle, question), question.step): question for question in questions}


def answer_with(answerer: Answerer) -> Attempt:
    """Return what turns an item's memories into its answer."""

    async def attempt(item: PendingItem) -> tuple[str, Answer]:
        return answerer.id, await answerer.answer(item.question, item.memories)

    return attempt


def score_with(judges: Mapping[str, Judge]) -> Attempt:
    """Return what turns an item's answer into its score, by the judge of the item's dataset."""

    async def attempt(item: PendingItem) -> tuple[str, Judgement]:
        judge = judges[item.dataset]
        return judge.id, await judge.judge(item.question, item.answer)

    return attempt


class Workbench:
    """Takes items through one step, `lanes` at a time, each outcome kept before its lane is free again.

    It stops taking items when the control closes, or when `2 * lanes` items in a row have failed, since then it is
    the model that is down and not the item that is odd. It also stops, without another try of the item, when the
    model has refused for good, as for a wrong key; `refusal` then holds what it said.
    """

    def __init__(
        self,
        attempt: Attempt,
        *,
        record: Callable[[Sequence[ItemOutcome]], Awaitable[None]],
        control: Control,
        clock: Clock,
        retry: ModelRetry,
        lanes: int = MODEL_LANES,
    ) -> None:
        self._attempt = attempt
        self._control = control
        self._clock = clock
        self._retry = retry
        self._commits = GroupCommit(record, limit=4 * lanes)
        self._free = asyncio.Semaphore(lanes)
        self._patience = 2 * lanes
        self._faults_in_a_row = 0
        self.refusal: ModelFault | None = None

    @property
    def model_is_down(self) -> bool:
        return self.refusal is not None or self._faults_in_a_row >= self._patience

    async def run(self, items: AsyncIterator[PendingItem]) -> None:
        """Work through `items` or until it must stop. Raises what `record` raises."""
        try:
            async with asyncio.TaskGroup() as group:
                async for item in items:
                    await self._free.acquire()
                    if self._control.closing or self.model_is_down:
                        self._free.release()
                        break
                    task = group.create_task(self._do(item))
                    task.add_done_callback(lambda _: self._free.release())
                    await asyncio.sleep(0)
        except BaseExceptionGroup as errors:
            raise errors.exceptions[0] from None
        finally:
            await self._commits.close()

    async def _do(self, item: PendingItem) -> None:
        try:
            by, result = await self._attempt(item)
            outcome = ItemOutcome(item.id, item.attempts, by, result)
            self._faults_in_a_row = 0
        except ModelFault as fault:
            self._faults_in_a_row += 1
            failures = item.attempts + 1
            again = self._retry.after(failures, self._clock()) if fault.transient else None
            self.refusal = self.refusal or (None if fault.transient else fault)
            outcome = ItemOutcome(item.id, failures, "", Fault(fault.code, again))
        await self._commits.put(outcome)
