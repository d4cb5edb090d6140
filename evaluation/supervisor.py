"""Keeps clusters running: starts them in process groups of their own, starts them anew when they end, wakes jobs.

Nothing here holds a run's state, so that killing the supervisor, its clusters, or all of it only costs time.
"""

import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from types import FrameType
from typing import cast

from django.conf import settings
from django.db import DatabaseError, close_old_connections, connections
from django.utils import timezone
from django_q.conf import Conf
from django_q.models import OrmQ

from evaluation.cluster import PR_SET_CHILD_SUBREAPER, prctl
from evaluation.lease import owner_name
from evaluation.models import Job
from evaluation.tasks import queued, reap
from evaluation.workers import BEAT_S, forget_worker, note_worker

__all__ = ["DRAIN_S", "Supervisor", "cluster_command"]

log = logging.getLogger(__name__)

TICK_S = 0.25
REAP_S = 1.0
DRAIN_S = 3.0
"""How long busy workers have after SIGTERM to keep what came in and give their leases back."""
STUCK_S = 90.0
"""A wake-up that no worker takes for so long, while workers are free, means that the cluster is stuck."""
RESTART_S = 1.0
KILL_S = 1.0


@dataclass(slots=True)
class _Cluster:
    """One cluster: a process that leads a group of its own."""

    command: list[str]
    process: subprocess.Popen[bytes] | None = None
    starts: int = 0
    start_after: float = field(default=0.0)

    def tend(self) -> None:
        """Start the cluster, or start it anew when it has ended, whatever its exit code."""
        if self.process is not None:
            if self.process.poll() is None:
                return
            log.error("cluster %s ended with %s: starting another", self.process.pid, self.process.returncode)
            self.kill()
            self.start_after = time.monotonic() + RESTART_S
        if time.monotonic() >= self.start_after:
            self.process = subprocess.Popen(self.command, start_new_session=True)  # noqa: S603
            self.starts += 1

    def signal(self, number: signal.Signals) -> bool:
        """Send a signal to the whole group; False when nothing of it is left."""
        if self.process is None:
            return False
        try:
            os.killpg(self.process.pid, number)
        except ProcessLookupError:
            return False
        return True

    def is_alive(self) -> bool:
        """Whether any process of the group is left, its dead ones buried."""
        if self.process is None:
            return False
        self.process.poll()
        _bury(self.process.pid)
        try:
            os.killpg(self.process.pid, 0)
        except ProcessLookupError:
            return False
        return True

    def kill(self) -> None:
        """End the group and whatever is left of it."""
        if self.process is None:
            return
        self.signal(signal.SIGKILL)
        self.process.wait()
        ends = time.monotonic() + KILL_S
        while self.is_alive() and time.monotonic() < ends:
            time.sleep(0.01)
        self.process = None


class Supervisor:
    """Runs `clusters` clusters until SIGTERM or SIGINT, and leaves no process behind."""

    def __init__(self, *, clusters: int, command: list[str], clock: Callable[[], datetime] = timezone.now) -> None:
        self._clusters = [_Cluster(command) for _ in range(clusters)]
        self._clock = clock
        self._stop = False
        self._next_reap = 0.0
        self._next_check = 0.0
        self._next_sign = 0.0
        self._queue_moved_at = clock()

    def run(self) -> None:
        """Supervise until told to stop, then drain."""
        prctl(PR_SET_CHILD_SUBREAPER, 1)  # orphans of a cluster come to us, to be buried
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_signal)
        try:
            while not self._stop:
                for cluster in self._clusters:
                    cluster.tend()
                self._look_after_jobs()
                time.sleep(TICK_S)
        finally:
            self._drain()

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        self._stop = True

    def _look_after_jobs(self) -> None:
        now = time.monotonic()
        if now < self._next_reap:
            return
        self._next_reap = now + min(REAP_S, settings.AML_REAPER_S)
        try:
            self._show_life(now)
            reap(self._clock())
            if now >= self._next_check:
                self._next_check = now + settings.AML_REAPER_S
                if self._is_stuck():
                    log.critical("a wake-up waits although workers are free: ending the clusters to start others")
                    self._queue_moved_at = self._clock()
                    for cluster in self._clusters:
                        cluster.kill()
        except DatabaseError:
            log.exception("the supervisor could not reach the database")
            connections.close_all()
        finally:
            close_old_connections()

    def _show_life(self, now: float) -> None:
        if now < self._next_sign:
            return
        self._next_sign = now + BEAT_S
        processes = sum(cluster.is_alive() for cluster in self._clusters) * cast(int, Conf.WORKERS)
        note_worker(name=owner_name(), processes=processes, at=self._clock())

    def _is_stuck(self) -> bool:
        at = self._clock()
        busy = Job.objects.filter(state=Job.State.RUNNING, lease_until__gte=at).count()
        return self._waits_long(at) and busy < len(self._clusters) * cast(int, Conf.WORKERS)

    def _waits_long(self, at: datetime) -> bool:
        """Whether tasks wait that nobody takes. A broker outside doesn't say since when, so we watch its queue."""
        if not settings.AML_BROKER_URL:
            return OrmQ.objects.filter(lock__lt=at - timedelta(seconds=STUCK_S)).exists()
        if not queued():  # nothing waits, or the broker is away
            self._queue_moved_at = at
        return at - self._queue_moved_at > timedelta(seconds=STUCK_S)

    def _drain(self) -> None:
        """Let busy workers stop in order for `DRAIN_S`, then end what is left."""
        for cluster in self._clusters:
            cluster.signal(signal.SIGTERM)
        ends = time.monotonic() + DRAIN_S
        while time.monotonic() < ends and any(cluster.is_alive() for cluster in self._clusters):
            time.sleep(0.05)
        for cluster in self._clusters:
            cluster.kill()
        try:
            forget_worker(name=owner_name())
        except DatabaseError:
            log.warning("could not take this worker off the list; it goes by itself")
        connections.close_all()


def cluster_command() -> list[str]:
    """The command line of a cluster process under this supervisor."""
    return [sys.executable, str(settings.BASE_DIR / "manage.py"), "runworker", "--under", str(os.getpid())]


def _bury(group: int) -> None:
    """Collect the exit codes of processes of `group` whose parents ended before them."""
    try:
        while os.waitpid(-group, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass
