"""Keeps answers and scores, and says which items still wait for one."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Q, QuerySet

from benchmarks.judging.verdict import Judgement as JudgementFacts
from contract.memories import Memory
from evaluation.database_thread import DatabaseThread
from evaluation.evidence.reading import MemoryReader
from evaluation.lease import Lease, fence
from evaluation.models import Answer, Item, Job, Judgement
from evaluation.pipeline.answering.model import Answer as AnswerFacts
from evaluation.pipeline.items import by_asking
from evaluation.pipeline.ports import Clock, Fault, ItemOutcome, PendingItem
from evaluation.progress import Progress
from evaluation.suites import JobSuite

__all__ = ["ANSWERING", "SCORING", "ItemLedger", "Step", "judgement_row", "storable"]

READ_AT_ONCE = 100


@dataclass(frozen=True, slots=True)
class Step:
    """Answering or scoring: the stage, and the state of an item with which the models have failed for good."""

    stage: Job.Stage
    gave_up: Item.State
    code: str

    def waiting(self, job_id: Any) -> QuerySet[Item]:
        """The items that wait for this step."""
        is_answering = self.stage == Job.Stage.ANSWERING
        return Item.objects.filter(job_id=job_id, state=Item.State.PENDING, answer__isnull=is_answering)


ANSWERING = Step(Job.Stage.ANSWERING, Item.State.PLATFORM_ERROR, "answers_incomplete")
SCORING = Step(Job.Stage.SCORING, Item.State.UNSCORED, "scores_incomplete")


@dataclass(frozen=True, slots=True)
class _Row:
    """An item as it is read, with what its step needs."""

    pk: int
    ordinal: int
    asking: tuple[str, int]
    attempts: int
    memories: tuple[Memory, ...] = ()
    answer: str = ""


class ItemLedger:
    """One step of a job's items, for one slice. Its SQL runs on the slice's database thread."""

    def __init__(self, step: Step, *, lease: Lease, progress: Progress, thread: DatabaseThread) -> None:
        self._step = step
        self._lease = lease
        self._progress = progress
        self._thread = thread
        self._memories = MemoryReader()

    async def due(self, suite: JobSuite, clock: Clock) -> AsyncIterator[PendingItem]:
        """Yield the items that are due, scope by scope, reading a hundred at a time."""
        for scope in suite.scopes():
            dataset = scope.part.bundle.name
            questions = by_asking(dataset, scope.scope.questions)
            after = -1
            while found := await self._thread.run(self._read, scope.ordinal, after, clock()):
                for item in found:
                    after = item.ordinal
                    question = questions[item.asking]
                    yield PendingItem(item.pk, dataset, question, item.attempts, item.memories, item.answer)

    async def record(self, outcomes: Sequence[ItemOutcome]) -> None:
        """Keep what a batch of items came to. Raises LeaseLost."""
        await self._thread.run(self._keep, outcomes)

    def _read(self, scope: int, after: int, at: datetime) -> list["_Row"]:
        related = ("scope", "retrieval") if self._step is ANSWERING else ("answer",)
        items = (
            self._step.waiting(self._lease.job_id)
            .filter(Q(next_attempt_at=None) | Q(next_attempt_at__lte=at), scope__ordinal=scope, ordinal__gt=after)
            .select_related(*related)
            .order_by("ordinal")[:READ_AT_ONCE]
        )
        return [self._row(item) for item in items]

    def _row(self, item: Item) -> "_Row":
        row = _Row(item.pk, item.ordinal, (item.question_key, item.step), item.attempts)
        if self._step is ANSWERING:
            return replace(row, memories=self._memories.of(item))
        return replace(row, answer=item.answer.text)

    def _keep(self, outcomes: Sequence[ItemOutcome]) -> None:
        faults = [outcome for outcome in outcomes if isinstance(outcome.result, Fault)]
        answers = [outcome for outcome in outcomes if isinstance(outcome.result, AnswerFacts)]
        scores = [outcome for outcome in outcomes if isinstance(outcome.result, JudgementFacts)]
        with transaction.atomic():
            fence(self._lease, stage=self._step.stage)
            self._keep_answers(answers)
            self._keep_scores(scores)
            self._keep_faults(faults)
            self._progress.add(self._step.stage, done=len(answers) + len(scores), retries=len(faults))
            self._progress.save()

    def _keep_answers(self, outcomes: Sequence[ItemOutcome]) -> None:
        Answer.objects.bulk_create(_answer(outcome) for outcome in outcomes)
        tried = [outcome.item for outcome in outcomes if outcome.attempts]
        Item.objects.filter(pk__in=tried).update(attempts=0, next_attempt_at=None, error_code="")

    def _keep_scores(self, outcomes: Sequence[ItemOutcome]) -> None:
        rows = [judgement_row(outcome) for outcome in outcomes]
        Judgement.objects.bulk_create(rows)
        scored = [Item(pk=row.item_id, state=Item.State.SCORED, score=row.score, error_code="") for row in rows]
        Item.objects.bulk_update(scored, ["state", "score", "error_code", "next_attempt_at"])

    def _keep_faults(self, outcomes: Sequence[ItemOutcome]) -> None:
        for outcome in outcomes:
            assert isinstance(outcome.result, Fault)
            again = outcome.result.next_attempt_at
            Item.objects.filter(pk=outcome.item).update(
                attempts=outcome.attempts,
                next_attempt_at=again,
                error_code=outcome.result.code[:60],
                state=Item.State.PENDING if again else self._step.gave_up,
            )


def _answer(outcome: ItemOutcome) -> Answer:
    facts = outcome.result
    assert isinstance(facts, AnswerFacts)
    return Answer(
        item_id=outcome.item,
        text=storable(facts.text),
        model=facts.model[:120],
        prompt_sha256=facts.prompt_sha256,
        prompt_tokens=facts.prompt_tokens,
        completion_tokens=facts.completion_tokens,
        latency_ms=facts.latency_ms,
        memories_used=facts.memories_used,
        memories_cut=facts.memories_cut,
    )


def judgement_row(outcome: ItemOutcome, *, column: str = "main") -> Judgement:
    """Return the row of a score, not kept yet."""
    facts = outcome.result
    assert isinstance(facts, JudgementFacts)
    return Judgement(
        item_id=outcome.item,
        column=column,
        metric=outcome.by[:40],
        score=facts.score,
        verdict=facts.verdict,
        reason=storable(facts.reason),
        votes=[asdict(replace(vote, reason=storable(vote.reason))) for vote in facts.votes],
        model=facts.model[:120],
        prompt_sha256=facts.votes[0].prompt_sha256 if facts.votes else "",
        prompt_tokens=facts.prompt_tokens,
        completion_tokens=facts.completion_tokens,
    )


def storable(text: str) -> str:
    """Return a model's text without U+0000, which PostgreSQL refuses and SQLite keeps."""
    return text.replace("\x00", "\ufffd")
