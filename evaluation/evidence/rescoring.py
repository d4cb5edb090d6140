"""Scores the kept answers of a run once more, beside the scores that it has, without asking the participant."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from math import fsum

from django.db import transaction

from benchmarks.judging.faults import ModelFault
from benchmarks.judging.rules import RuleJudge
from benchmarks.judging.verdict import Judge
from benchmarks.scoring.registry import METRICS
from evaluation.backends import judges_for
from evaluation.evidence.reading import Record, read_run
from evaluation.itemledger import judgement_row
from evaluation.models import Answer, Item, Job, Judgement
from evaluation.pipeline.baseline import pipeline_code_hash
from evaluation.pipeline.items import MODEL_LANES
from evaluation.pipeline.ports import ItemOutcome
from submissions.audit import append_event

__all__ = ["AT_ONCE", "Rescored", "answered", "in_batches", "metrics_of", "next_column", "rescore"]

AT_ONCE = 200
MAIN = "main"


@dataclass(frozen=True, slots=True)
class Rescored:
    """What a second column comes to, over the questions that have both scores. `faults` are judge calls that failed."""

    column: str
    added: int
    faults: int
    n: int
    before: float
    after: float
    changed: int


def next_column(job: Job) -> str:
    """A column that the run doesn't have: rejudge-1, rejudge-2 and so on."""
    taken = set(
        Judgement.objects.filter(item__job=job, column__startswith="rejudge-")
        .order_by()
        .values_list("column", flat=True)
    )
    return next(name for number in range(1, len(taken) + 2) if (name := f"rejudge-{number}") not in taken)


def rescore(*, job: Job, column: str, metric: str = "", actor: str, at: datetime) -> Rescored:
    """Give every kept answer a score in `column`: by the rule `metric`, else as the run's release says.

    No score that exists is changed, so that a call that was cut off goes on where it stopped. Raises ValueError for
    the column `main` and for a metric that isn't known, EvidenceMissing, and PlatformFault when this installation has
    another judge than the release.
    """
    if column == MAIN or not column or len(column) > 40:
        raise ValueError("a column needs a name of at most 40 characters other than main")
    if metric and metric not in METRICS:
        raise ValueError(f"metric {metric!r} is not known; known are {', '.join(sorted(METRICS))}")
    added = faults = 0
    for records in in_batches(read_run(job)):
        rows, failed = asyncio.run(_judge_all(job, metric, _todo(job, records, column)))
        with transaction.atomic():
            Judgement.objects.bulk_create([judgement_row(outcome, column=column) for outcome in rows])
        added, faults = added + len(rows), faults + failed
    rescored = _compare(job, column, added, faults)
    append_event(
        actor=actor,
        action="job.rejudged",
        subject=job,
        after={
            "column": column,
            "metric": metric or "release",
            "added": added,
            "n": rescored.n,
            "mean": repr(rescored.after),
            "code": pipeline_code_hash(),
        },
        at=at,
    )
    return rescored


def in_batches(records: Iterator[Record]) -> Iterator[list[Record]]:
    """Yield the records by the hundred."""
    while batch := list(islice(records, AT_ONCE)):
        yield batch


def answered(job: Job, records: Sequence[Record]) -> dict[tuple[int, int], Item]:
    """The items of `records` with their answers, by scope and ordinal."""
    scopes = {record.scope for record in records}
    items = Item.objects.filter(
        job=job, scope__ordinal__in=scopes, question_key__in=[record.key for record in records]
    ).select_related("scope", "answer")
    return {(item.scope.ordinal, item.ordinal): item for item in items}


def _todo(job: Job, records: Sequence[Record], column: str) -> list[tuple[Record, Item, str]]:
    items = answered(job, records)
    done = set(
        Judgement.objects.filter(item__in=items.values(), column=column).order_by().values_list("item_id", flat=True)
    )
    todo = []
    for record in records:
        item = items.get((record.scope, record.ordinal))
        answer: Answer | None = getattr(item, "answer", None)
        if item is not None and answer is not None and item.pk not in done:
            todo.append((record, item, answer.text))
    return todo


async def _judge_all(job: Job, metric: str, todo: Sequence[tuple[Record, Item, str]]) -> tuple[list[ItemOutcome], int]:
    free = asyncio.Semaphore(MODEL_LANES)

    async def judge(record: Record, item: Item, answer: str) -> ItemOutcome | None:
        judge = judges[record.dataset]
        async with free:
            try:
                return ItemOutcome(item.pk, 0, judge.id, await judge.judge(record.question, answer))
            except ModelFault:
                return None

    async with _judges(job, metric) as judges:
        found = await asyncio.gather(*(judge(*one) for one in todo))
    kept = [outcome for outcome in found if outcome is not None]
    return kept, len(found) - len(kept)


@asynccontextmanager
async def _judges(job: Job, metric: str) -> AsyncIterator[Mapping[str, Judge]]:
    metrics = metrics_of(job)
    if metric:
        yield {dataset: RuleJudge(metric) for dataset in metrics}
        return
    async with judges_for(job.release.baseline, metrics=metrics, fence_key=bytes(job.id_key)) as judges:
        yield judges


def metrics_of(job: Job) -> dict[str, str]:
    """The metric of each dataset of a run, as its release froze them."""
    baseline = job.release.baseline
    if job.mode == Job.Mode.SMOKE:
        smoke = baseline["smoke"]
        return {smoke["bundle"]: smoke["metric"]}
    return dict(baseline["metrics"])


def _compare(job: Job, column: str, added: int, faults: int) -> Rescored:
    """Both columns side by side, over the items that have both."""
    rows = Judgement.objects.filter(item__job=job).order_by()
    before = dict(rows.filter(column=MAIN).values_list("item_id", "score"))
    after = dict(rows.filter(column=column).values_list("item_id", "score"))
    both = sorted(before.keys() & after.keys())
    return Rescored(
        column=column,
        added=added,
        faults=faults,
        n=len(both),
        before=fsum(before[pk] for pk in both) / len(both) if both else 0.0,
        after=fsum(after[pk] for pk in both) / len(both) if both else 0.0,
        changed=sum(before[pk] != after[pk] for pk in both),
    )
