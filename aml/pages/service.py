"""How the service fares, read from the evaluation's own tables and the task queue."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import median

from django.conf import settings
from django.db.models import Count, Max, Min, Q
from django_q.models import Task

from evaluation.models import Job
from evaluation.tasks import queued
from evaluation.workers import read_crew
from submissions.models import Track

RECENT = timedelta(days=30)
"""How far back the median durations look."""
SIGNS_WITHIN = timedelta(minutes=5)
"""Without waiting work, how old the last sign of life may be until nothing can be said."""


@dataclass(frozen=True, slots=True)
class TrackLoad:
    """What one track has to do. `smoke_s` and `full_s` are median seconds of recent runs, None without any."""

    track: Track
    running: int
    queued: int
    smoke_s: float | None
    full_s: float | None


@dataclass(frozen=True, slots=True)
class Service:
    """`state` is working, idle, silent or absent. `wake_ups` wait in the task queue, the oldest since `waiting_since`.

    `workers` are the worker processes that are alive, of which `working` have a run.
    """

    state: str
    workers: int
    working: int
    last_sign_at: datetime | None
    running: int
    queued: int
    stalled: int
    waiting_since: datetime | None
    wake_ups: int
    tracks: list[TrackLoad]


def read_service(at: datetime) -> Service:
    """Count what runs and what waits at `at`."""
    jobs = Job.objects.aggregate(
        running=Count("pk", filter=Q(state=Job.State.RUNNING)),
        queued=Count("pk", filter=Q(state=Job.State.QUEUED)),
        waiting_since=Min("created_at", filter=Q(state=Job.State.QUEUED)),
        last_heartbeat=Max("heartbeat_at"),
        working=Count("lease_owner", distinct=True, filter=Q(lease_until__gte=at) & ~Q(lease_owner="")),
    )
    last_task = Task.objects.aggregate(at=Max("stopped"))["at"]
    crew = read_crew(at)
    last_sign = max((sign for sign in (jobs["last_heartbeat"], last_task) if sign), default=None)
    waits = bool(jobs["queued"] or jobs["running"])
    return Service(
        state=_state(at, last_sign, busy=jobs["working"] > 0, waits=waits, alive=crew.processes > 0),
        workers=max(crew.processes, jobs["working"]),
        working=jobs["working"],
        last_sign_at=max((sign for sign in (last_sign, crew.last_seen_at) if sign), default=None),
        running=jobs["running"],
        queued=jobs["queued"],
        stalled=Job.objects.stalled(at - timedelta(seconds=2 * settings.AML_LEASE_S)).count(),
        waiting_since=jobs["waiting_since"],
        wake_ups=queued() or 0,
        tracks=_loads(at),
    )


def _state(at: datetime, last_sign: datetime | None, *, busy: bool, waits: bool, alive: bool) -> str:
    """Workers are silent when work waits and nobody works on it, and absent when none says that it is alive."""
    if busy or (last_sign and at - last_sign <= SIGNS_WITHIN):
        return "working"
    if waits:
        return "silent"
    return "idle" if alive else "absent"


def _loads(at: datetime) -> list[TrackLoad]:
    active = dict.fromkeys(Track, (0, 0))
    counted = (
        Job.objects.active()
        .values("track")
        .annotate(r=Count("pk", filter=Q(state="running")), q=Count("pk", filter=Q(state="queued")))
        .order_by()
    )
    for row in counted:
        active[Track(row["track"])] = (row["r"], row["q"])
    seconds = _recent_seconds(at)
    return [
        TrackLoad(track, *active[track], _median(seconds, track, "smoke"), _median(seconds, track, "full"))
        for track in Track
    ]


def _recent_seconds(at: datetime) -> dict[tuple[str, str], list[float]]:
    ended = Job.objects.filter(state=Job.State.SUCCEEDED, ended_at__gte=at - RECENT, started_at__isnull=False)
    seconds: dict[tuple[str, str], list[float]] = {}
    for track, mode, started, finished in ended.values_list("track", "mode", "started_at", "ended_at"):
        if started and finished:
            seconds.setdefault((track, mode), []).append((finished - started).total_seconds())
    return seconds


def _median(seconds: dict[tuple[str, str], list[float]], track: str, mode: str) -> float | None:
    durations = seconds.get((track, mode))
    return median(durations) if durations else None
