"""Answers and scores a sample of a run's questions from the first few of their memories, after the run is scored.

The participant isn't asked. Each score is kept under the lease as soon as it is there, so that a slice which is cut
off goes on behind it. A fault of the platform's models here costs the run nothing: the curve is missing, and says why.
"""

import asyncio
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from asgiref.sync import sync_to_async
from django.db import transaction

from benchmarks.judging.faults import ModelFault
from benchmarks.judging.rules import RuleJudge
from benchmarks.judging.verdict import Judge
from evaluation.database_thread import DatabaseThread
from evaluation.evidence.reading import Record, read_run
from evaluation.itemledger import storable
from evaluation.lease import Lease, fence
from evaluation.models import BudgetScore, Item, Job
from evaluation.pipeline.analysis.curve import curve_facts, sample_keys
from evaluation.pipeline.analysis.facts import DEPTHS
from evaluation.pipeline.answering.model import Answerer
from evaluation.pipeline.answering.offline import OfflineAnswerer
from evaluation.pipeline.control import Control
from evaluation.suites import JobSuite

__all__ = ["BudgetCurve", "budget_curve_of", "curve_again", "score_at"]

TRIES = 3
"""So often in a row a model may fail on a question; then the curve is given up."""
RETRY_S = 0.5
LANES = 16


@dataclass(frozen=True, slots=True)
class _Due:
    """A sampled question, and the numbers of memories for which it has no score yet."""

    item: int
    score: float
    record: Record
    depths: tuple[int, ...]


class BudgetCurve:
    """The curve of one job, for one slice. Its SQL runs on the slice's database thread."""

    def __init__(self, job: Job, *, lease: Lease, control: Control, thread: DatabaseThread) -> None:
        self._job = job
        self._lease = lease
        self._control = control
        self._thread = thread

    async def is_due(self) -> bool:
        """Whether a sampled question has no score at some depth."""
        return bool(await self._thread.run(_waiting, self._job))

    async def draw(self, answerer: Answerer, judges: Mapping[str, Judge]) -> None:
        """Score what is due, until the control closes. Raises ModelFault, LeaseLost and what reading raises."""
        due = await self._thread.run(_due, self._job)
        for start in range(0, len(due), LANES):
            if self._control.halted or (start and self._control.closing):
                return
            batch = due[start : start + LANES]
            scored = await asyncio.gather(*(_score_all(one, answerer, judges) for one in batch))
            await self._thread.run(self._keep, [row for rows in scored for row in rows])

    def _keep(self, rows: Sequence[BudgetScore]) -> None:
        with transaction.atomic():
            fence(self._lease)
            BudgetScore.objects.bulk_create(rows)


def budget_curve_of(job: Job, missing: str = "") -> dict[str, Any]:
    """The curve of what is kept, as it stands in the Result."""
    scores: dict[int, list[float]] = defaultdict(list)
    rows = BudgetScore.objects.filter(item__job=job).order_by("memories", "item_id")
    for memories, score in rows.values_list("memories", "score"):
        scores[memories].append(score)
    return curve_facts(scores, seed=job.baseline_digest, missing=missing)


async def curve_again(job: Job) -> dict[str, Any]:
    """The curve from the evidence: answered again where no model is asked, else from the scores that were kept."""
    baseline = job.release.baseline
    if baseline["answer"]["backend"] != "offline" or baseline["judge"]["backend"] != "rules":
        return await sync_to_async(budget_curve_of)(job)
    suite = await sync_to_async(JobSuite)(job)
    answerer, metrics = OfflineAnswerer(), {part.bundle.name: part.metric for part in suite.parts}
    scores: dict[int, list[float]] = defaultdict(list)
    for _, score, record in await sync_to_async(_sampled)(job):
        for depth in DEPTHS:
            judge = RuleJudge(metrics[record.dataset])
            scores[depth].append(await score_at(depth, record, score, answerer, judge))
    return curve_facts(scores, seed=job.baseline_digest)


async def score_at(depth: int, record: Record, score: float, answerer: Answerer, judge: Judge) -> float:
    """Return the score, 0 to 1, with the first `depth` memories, `score` with all of them. Raises ModelFault."""
    memories = record.memories or ()
    if depth >= len(memories):
        return score
    answer = await answerer.answer(record.question, memories[:depth])
    return (await judge.judge(record.question, storable(answer.text))).score


async def _score_all(one: _Due, answerer: Answerer, judges: Mapping[str, Judge]) -> list[BudgetScore]:
    rows = []
    for depth in one.depths:
        found = await _patiently(depth, one, answerer, judges[one.record.dataset])
        rows.append(BudgetScore(item_id=one.item, memories=depth, score=found))
    return rows


async def _patiently(depth: int, one: _Due, answerer: Answerer, judge: Judge) -> float:
    for attempt in range(1, TRIES + 1):
        try:
            return await score_at(depth, one.record, one.score, answerer, judge)
        except ModelFault as fault:
            if attempt == TRIES or not fault.transient:
                raise
            await asyncio.sleep(RETRY_S * attempt)
    raise AssertionError("the last try returns or raises")


def _sampled(job: Job) -> list[tuple[int, float, Record]]:
    """The sample's items with their scores and evidence."""
    found = _waiting(job, again=True)
    return [(*found[key][:2], record) for key, record in _records(job) if key in found]


def _waiting(job: Job, *, again: bool = False) -> dict[tuple[str, int], tuple[int, float, tuple[int, ...]]]:
    """The sampled questions with a depth that has no score, or all: primary key, score and those depths."""
    fields = ("question_key", "step", "category")
    sample = sample_keys(
        Item.objects.filter(job=job).order_by().values_list(*fields).iterator(), seed=job.baseline_digest
    )
    kept: dict[int, set[int]] = defaultdict(set)
    rows_kept = BudgetScore.objects.none() if again else BudgetScore.objects.filter(item__job=job)
    for item, memories in rows_kept.values_list("item_id", "memories"):
        kept[item].add(memories)
    rows = Item.objects.filter(job=job).order_by().values_list("pk", "question_key", "step", "score")
    waiting = {}
    for pk, key, step, score in rows.iterator():
        depths = tuple(depth for depth in DEPTHS if depth not in kept[pk]) if (key, step) in sample else ()
        if depths and score is not None:
            waiting[key, step] = (pk, score, depths)
    return waiting


def _due(job: Job) -> list[_Due]:
    waiting = _waiting(job)
    return [_Due(*waiting[key][:2], record, waiting[key][2]) for key, record in _records(job) if key in waiting]


def _records(job: Job) -> Iterator[tuple[tuple[str, int], Record]]:
    return (((record.key, record.step), record) for record in read_run(job))
