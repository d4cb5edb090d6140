"""What django-q2 carries: wake-ups. Nothing is lost when one is, and nothing is done twice when two arrive."""

import logging
from datetime import datetime, timedelta
from functools import partial
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import F, Q
from django.utils import timezone
from django_q.brokers import get_broker
from django_q.models import OrmQ
from django_q.tasks import async_task

from evaluation.models import Job
from submissions.models import OutboxMail, ThrottleCounter

__all__ = ["queued", "reap", "run_slice", "send_letters", "wake"]

log = logging.getLogger(__name__)

_LETTERS = "letters"
"""Names the counter by which only one of many reapers asks for the waiting letters."""


def run_slice(job_id: str) -> str:
    """Work on the job for one slice, or on one that has waited longer; says how that ended, for the task's log.

    A wake-up says that there is work and finds a worker that is free; the broker hands them out in no order. Each job
    that waits has a wake-up of its own, so whoever is passed over now is the next one's.
    """
    from evaluation.slices import SliceEnd, work_on  # heavy, and only workers need it

    end = work_on(_longest_unserved(timezone.now()) or UUID(job_id))
    if end is SliceEnd.DRAINED:
        raise SystemExit(0)  # the cluster is stopping: this worker takes nothing new
    return end.value


def wake(job_id: UUID | str) -> None:
    """Queue a slice of the job with the caller's transaction. Waking too often does no harm."""
    Job.objects.filter(pk=job_id, waiting_since=None).update(waiting_since=timezone.now())
    _queue("evaluation.tasks.run_slice", str(job_id), name=f"slice {job_id}"[:100])


def reap(at: datetime | None = None) -> int:
    """Wake every job that is due and that nobody works on, the longest unserved first; returns how many.

    A job that was woken is not woken again before `AML_REAPER_S` have passed. Also queues the sending of letters.
    """
    at = at or timezone.now()
    due = Job.objects.without_lease(at).order_by(F("heartbeat_at").asc(nulls_first=True), "created_at")
    woken = sum(_wake_once(job_id, seen, at) for job_id, seen in due.values_list("pk", "next_wake_at"))
    if OutboxMail.objects.filter(state=OutboxMail.State.WAITING, next_attempt_at__lte=at).exists():
        _ask_to_send(at)
    return woken


def send_letters() -> int:
    """Send the letters that are due; returns how many left."""
    from submissions.outbox import send_waiting

    ThrottleCounter.objects.filter(limit=_LETTERS).delete()
    return send_waiting(timezone.now())


@transaction.atomic
def _ask_to_send(at: datetime) -> None:
    """Queue the sending of letters unless that is on its way, where it counts as lost after `AML_REAPER_S`."""
    window = int(at.timestamp() // settings.AML_REAPER_S)
    _row, is_first = ThrottleCounter.objects.get_or_create(limit=_LETTERS, subject="", window=window)
    if is_first:
        ThrottleCounter.objects.filter(limit=_LETTERS, window__lt=window).delete()
        _queue("evaluation.tasks.send_letters", name="letters")


def queued() -> int | None:
    """How many tasks wait in the broker; None where one outside the database can't be reached."""
    if not settings.AML_BROKER_URL:
        return OrmQ.objects.count()
    try:
        return int(get_broker().queue_size())
    except Exception:  # whatever a broker's client raises: it is gone, and the reaper makes up for that
        log.warning("the task queue could not be reached")
        return None


def _queue(function: str, *arguments: Any, name: str) -> None:
    """Hand a task to the broker.

    In the database it is part of the caller's transaction. A broker outside gets it after the commit, so that no worker
    sees it before what it is about; one that is out of reach loses it, and the reaper asks again.
    """
    send = partial(async_task, function, *arguments, task_name=name)
    if settings.AML_BROKER_URL:
        transaction.on_commit(send, robust=True)
    else:
        send()


def _longest_unserved(at: datetime) -> UUID | None:
    """The job that was woken, that nobody works on, and that was worked on longest ago."""
    waiting = Job.objects.active().filter(Q(lease_until=None) | Q(lease_until__lt=at), waiting_since__isnull=False)
    longest: UUID | None = (
        waiting.order_by(F("heartbeat_at").asc(nulls_first=True), "waiting_since").values_list("pk", flat=True).first()
    )
    return longest


@transaction.atomic
def _wake_once(job_id: UUID, seen: datetime | None, at: datetime) -> bool:
    """Wake a job unless another reaper was faster; its row says until when the wake-up counts as on its way."""
    again = at + timedelta(seconds=settings.AML_REAPER_S)
    if not Job.objects.without_lease(at).filter(pk=job_id, next_wake_at=seen).update(next_wake_at=again):
        return False
    wake(job_id)
    return True
