"""Before the first request: a job's scopes and items as rows, and how much there is to do in each stage."""

from collections.abc import Iterable
from datetime import datetime

from django.db import transaction
from django.db.models import Sum

from evaluation.lease import Lease, fence
from evaluation.models import Item, Job, Scope, StageProgress
from evaluation.pipeline.items import item_key
from evaluation.pipeline.plan import count_events, search_ordinals
from evaluation.suites import JobSuite, SuiteScope

__all__ = ["is_prepared", "prepare"]


def is_prepared(job: Job) -> bool:
    """Whether every scope and item of the job has its row."""
    return StageProgress.objects.filter(job=job, stage=Job.Stage.INGESTION, started_at__isnull=False).exists()


def prepare(job: Job, lease: Lease, suite: JobSuite, *, at: datetime) -> None:
    """Make the rows, a scope at a time, and then the totals; goes on where an earlier try was cut off."""
    known = set(Scope.objects.filter(job=job).values_list("ordinal", flat=True))
    adds = 0
    for scope in suite.scopes():
        scope_adds, searches = count_events(scope.scope)
        adds += scope_adds
        if scope.ordinal not in known:
            with transaction.atomic():
                fence(lease)
                _make_scope(job, suite, scope, scope_adds, searches)
    _set_totals(job, lease, adds, at)


def _make_scope(job: Job, suite: JobSuite, scope: SuiteScope, adds: int, searches: int) -> None:
    row = Scope.objects.create(
        job=job,
        ordinal=scope.ordinal,
        bundle=scope.part.bundle.name,
        key=scope.scope.key,
        user_id=suite.user_id(scope),
        events=adds + searches,
        state=Scope.State.PENDING if adds + searches else Scope.State.DONE,
    )
    Item.objects.bulk_create(
        Item(
            job=job,
            scope=row,
            ordinal=ordinal,
            question_key=item_key(row.bundle, question),
            step=question.step,
            category=question.category,
            capability=question.capability,
            answerable=question.answerable,
        )
        for ordinal, question in zip(search_ordinals(scope.scope), scope.scope.questions, strict=True)
    )


def _set_totals(job: Job, lease: Lease, adds: int, at: datetime) -> None:
    with transaction.atomic():
        fence(lease)
        items = Item.objects.filter(job=job).count()
        events = Scope.objects.filter(job=job).aggregate(events=Sum("events"))["events"] or 0
        assert events == adds + items, "every item is asked once"
        _set_total(job, [Job.Stage.RETRIEVAL, Job.Stage.ANSWERING, Job.Stage.SCORING], total=items)
        _set_total(job, [Job.Stage.AGGREGATION], total=1)
        _set_total(job, [Job.Stage.INGESTION], total=adds, started_at=at)


def _set_total(job: Job, stages: Iterable[str], **values: object) -> None:
    for stage in stages:
        StageProgress.objects.update_or_create(job=job, stage=stage, defaults=values)
