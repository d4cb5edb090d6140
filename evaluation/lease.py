"""The lease of a job: one worker has it at a time, and a token that only grows fences off all earlier ones."""

import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import FrameType
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import DatabaseError, connection, transaction
from django.db.models import Case, F, Q, Value, When
from django.db.models.functions import Coalesce
from django.utils import timezone

from evaluation.models import Job
from evaluation.pipeline.control import Control, Halt
from evaluation.pipeline.ports import LeaseLost
from evaluation.querysets import JobQuerySet

__all__ = ["Lease", "acquire", "fence", "heartbeat", "owner_name", "release", "renew"]

LOOK_S = 0.5
"""How often a worker looks whether somebody wants its job stopped."""


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to work on a job until somebody with a higher token has it."""

    job_id: UUID
    token: int


def owner_name() -> str:
    """Names this process among all that share the database."""
    return f"{socket.gethostname()}:{os.getpid()}"[:120]


@transaction.atomic
def acquire(job_id: UUID | str, *, at: datetime) -> Lease | None:
    """Take the lease of an active job that nobody holds; None when there is nothing to take.

    A lease that ran out without being given back counts as a take-over; keeping anything clears that count again.
    """
    was_left = Case(When(lease_owner="", then=F("barren_takeovers")), default=F("barren_takeovers") + 1)
    taken = (
        Job.objects.active()
        .filter(Q(lease_until=None) | Q(lease_until__lt=at), pk=job_id)
        .update(
            barren_takeovers=was_left,
            lease_token=F("lease_token") + 1,
            lease_owner=owner_name(),
            lease_until=_end(at),
            heartbeat_at=at,
            next_wake_at=None,
            waiting_since=None,
            state=Job.State.RUNNING,
            slices=F("slices") + 1,
            started_at=Coalesce("started_at", Value(at)),
        )
    )
    return Lease(UUID(str(job_id)), Job.objects.values_list("lease_token", flat=True).get(pk=job_id)) if taken else None


def renew(lease: Lease, *, at: datetime) -> bool:
    """Hold the lease for another while; False when it is lost."""
    return _held(lease).update(lease_until=_end(at), heartbeat_at=at) == 1


def fence(lease: Lease, **changes: Any) -> None:
    """Check the lease inside the transaction that keeps something, and lock the job's row until it ends.

    Raises LeaseLost, which rolls the transaction back.
    """
    if not connection.in_atomic_block:
        raise RuntimeError("A fence outside a transaction holds nobody off.")
    if not _held(lease).update(barren_takeovers=0, **changes):
        raise LeaseLost(f"{lease.job_id} has another worker than token {lease.token}, or has ended")


def release(lease: Lease, *, wake_at: datetime, stumbled: bool = False) -> bool:
    """Give the lease back; the job is due again at `wake_at`. False when it was lost already.

    `stumbled` counts the slice as a take-over that got nowhere.
    """
    return (
        _held(lease).update(
            lease_until=None,
            lease_owner="",
            next_wake_at=wake_at,
            barren_takeovers=F("barren_takeovers") + (1 if stumbled else 0),
        )
        == 1
    )


@contextmanager
def heartbeat(lease: Lease, control: Control) -> Iterator[None]:
    """Renew the lease from a thread of its own, so that no long computation loses it, and pass on what is asked for.

    Losing the lease, a request to cancel, and SIGTERM (when entered on the main thread) halt `control`.
    """
    stop = threading.Event()
    thread = threading.Thread(target=_beat, args=(lease, control, stop), name="heartbeat", daemon=True)
    thread.start()
    try:
        with _draining(control):
            yield
    finally:
        stop.set()
        thread.join()


def _beat(lease: Lease, control: Control, stop: threading.Event) -> None:
    renewed = time.monotonic()
    try:
        while control.halted is not Halt.LOST and not stop.wait(LOOK_S):
            try:
                if time.monotonic() - renewed >= settings.AML_HEARTBEAT_S and renew(lease, at=timezone.now()):
                    renewed = time.monotonic()
                _pass_on(lease, control)
            except DatabaseError:
                connection.close()  # a new one next time
            if time.monotonic() - renewed >= settings.AML_LEASE_S:
                control.halt(Halt.LOST)
    finally:
        connection.close()


def _pass_on(lease: Lease, control: Control) -> None:
    """Halt `control` when the lease is gone or somebody wants the job to stop."""
    wanted = _held(lease).values_list("cancel_requested", flat=True).first()
    if wanted is None:
        control.halt(Halt.LOST)
    elif wanted:
        control.halt(Halt.CANCELLED)


@contextmanager
def _draining(control: Control) -> Iterator[None]:
    """Let SIGTERM halt `control` instead of ending the process in the middle of something."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def drain(_number: int, _frame: FrameType | None) -> None:
        control.halt(Halt.DRAINED)

    before = signal.signal(signal.SIGTERM, drain)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _held(lease: Lease) -> JobQuerySet:
    return Job.objects.filter(pk=lease.job_id, lease_token=lease.token, state=Job.State.RUNNING)


def _end(at: datetime) -> datetime:
    return at + timedelta(seconds=settings.AML_LEASE_S)
