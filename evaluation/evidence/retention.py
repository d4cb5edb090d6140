"""Removes evidence whose time is over, and never what a published entry or an open decision rests on."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.conf import settings
from django.core.files.storage import Storage
from django.db import transaction
from django.db.models import Q, QuerySet

from evaluation.evidence.sealing import evidence_storage
from evaluation.models import Job, PublicationReview, ResponseBody, Retrieval, Segment
from submissions.audit import append_event

__all__ = ["Purge", "days_of", "is_held", "plan_purge", "purge_evidence"]

ORPHAN_AGE = timedelta(days=1)
"""A file without a row may belong to a worker that is about to write it; after this it belongs to nobody."""
HELD_BY = (PublicationReview.State.PENDING, PublicationReview.State.RETURNED, PublicationReview.State.APPROVED)


@dataclass(slots=True)
class Purge:
    """What is to go, or went: runs, files and bytes; `kept` counts runs whose time is over and that are held."""

    jobs: list[Job] = field(default_factory=list)
    kept: int = 0
    files: int = 0
    size: int = 0
    orphans: list[str] = field(default_factory=list)


def days_of(job: Job) -> int:
    """Days for which a run's evidence is kept after its end: its release's own number, else the settings'."""
    return int(job.release.baseline.get("limits", {}).get("evidence_days", settings.AML_EVIDENCE_DAYS))


def is_held(job: Job) -> bool:
    """Whether something rests on the run: it goes on, its review isn't a refusal, or a room above refers to it."""
    if job.is_active or PublicationReview.objects.filter(job=job, state__in=HELD_BY).exists():
        return True
    above = (link for link in Job._meta.related_objects if link.related_model._meta.app_label != "evaluation")
    return any(link.related_model._base_manager.filter(**{link.field.name: job}).exists() for link in above)


def plan_purge(at: datetime) -> Purge:
    """Say what `purge_evidence` would remove at `at`."""
    purge = Purge()
    for job in _with_evidence().select_related("release"):
        if job.ended_at is None or job.ended_at + timedelta(days=days_of(job)) > at:
            continue
        if is_held(job):
            purge.kept += 1
            continue
        purge.jobs.append(job)
        for size in Segment.objects.filter(job=job, purged_at=None).values_list("size", flat=True):
            purge.files, purge.size = purge.files + 1, purge.size + size
    purge.orphans = list(_orphans(at))
    return purge


def purge_evidence(*, actor: str, at: datetime) -> Purge:
    """Remove what `plan_purge` names. Hashes, receipts, answers and scores stay."""
    purge = plan_purge(at)
    for job in purge.jobs:
        _purge_job(job, actor=actor, at=at)
    for name in purge.orphans:
        evidence_storage().delete(name)
    return purge


def _purge_job(job: Job, *, actor: str, at: datetime) -> None:
    """Rows first: a file that is left over goes as an orphan next time; a row without its file would be a lie."""
    with transaction.atomic():
        locked = Job.objects.select_for_update(of=("self",)).get(pk=job.pk)
        if is_held(locked):
            return
        segments = list(Segment.objects.filter(job=job, purged_at=None))
        Segment.objects.filter(job=job, purged_at=None).update(purged_at=at)
        Retrieval.objects.filter(item__job=job).exclude(memories=b"").update(memories=b"")
        ResponseBody.objects.filter(receipt__job=job).delete()
        append_event(
            actor=actor,
            action="evidence.purged",
            subject=job,
            after={"segments": len(segments), "bytes": sum(segment.size for segment in segments)},
            at=at,
        )
    for segment in segments:
        evidence_storage().delete(segment.file)


def _with_evidence() -> QuerySet[Job]:
    """Runs that have ended and of which something heavy is left."""
    ended = Job.objects.exclude(ended_at=None)
    sealed = Segment.objects.filter(purged_at=None).values("job")
    in_rows = Retrieval.objects.exclude(memories=b"").values("item__job")
    bodies = ResponseBody.objects.values("receipt__job")
    left = Q(pk__in=sealed) | Q(pk__in=in_rows) | Q(pk__in=bodies)
    return ended.filter(left).order_by("ended_at")


def _orphans(at: datetime) -> Iterator[str]:
    """Files that no row names, of a worker that died in between or of a purge that was cut off."""
    storage = evidence_storage()
    known = set(Segment.objects.filter(purged_at=None).values_list("file", flat=True))
    for name in _files(storage, ""):
        if name not in known and storage.get_modified_time(name) < at - ORPHAN_AGE:
            yield name


def _files(storage: Storage, folder: str) -> Iterator[str]:
    try:
        folders, files = storage.listdir(folder)
    except FileNotFoundError:
        return
    for name in files:
        if name.endswith(".jsonl.zst"):
            yield f"{folder}/{name}" if folder else name
    for name in folders:
        yield from _files(storage, f"{folder}/{name}" if folder else name)
