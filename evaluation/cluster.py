"""A django-q2 cluster that dies as a whole: when one of its processes ends in a way that isn't orderly, all do.

A worker that is killed while it waits for work may die holding the lock of the task queue, and then its siblings wait
for ever while everything looks well (django-q2 issue 23). So nothing is mended inside; the supervisor starts anew.
"""

import ctypes
import logging
import os
import signal
import sys
import time
from importlib import import_module
from types import FrameType
from typing import Any

from django_q import cluster as django_q_cluster

__all__ = ["PR_SET_CHILD_SUBREAPER", "prctl", "serve"]

log = logging.getLogger(__name__)

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
ORDERLY = (0, -2)
"""What a worker's timer says after a time-out and after it was recycled."""


class CrashOnlySentinel(django_q_cluster.Sentinel):
    """Watches over the cluster's processes. Leans on `reincarnate`, which django-q2 1.11 calls for each death.

    After SIGTERM, which the whole group gets, it lets busy workers end and starts nothing in their place.
    """

    draining = False

    def guard(self) -> None:
        """Watch; never returns in order."""
        signal.signal(signal.SIGTERM, self._drain)
        super().guard()  # type: ignore[no-untyped-call]

    def reincarnate(self, process: Any) -> None:
        """Start another process in place of one that ended in order; otherwise end the process group."""
        if self.draining:
            if not any(worker.is_alive() for worker in self.pool):
                _end_group()
        elif process not in (self.monitor, self.pusher) and int(process.timer.value) in ORDERLY:
            super().reincarnate(process)  # type: ignore[no-untyped-call]
        else:
            log.critical("%s died: ending the whole cluster", process.name)
            _end_group()

    def _drain(self, _number: int, _frame: FrameType | None) -> None:
        self.draining = True


def serve(supervisor: int) -> None:
    """Run a cluster in this process, which must lead a process group of its own. Never returns.

    `supervisor` is the process id of the parent, without which a cluster has no business running.
    """
    if os.getpgrp() != os.getpid():
        raise RuntimeError("A cluster needs a process group of its own; `manage.py runworker` gives it one.")
    _die_with(supervisor)
    os.register_at_fork(before=_note_parent, after_in_child=_be_a_child)
    import_module("evaluation.slices")  # before the forks, so that workers share it
    django_q_cluster.Sentinel = CrashOnlySentinel  # type: ignore[misc]
    cluster: Any = django_q_cluster.Cluster()
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    cluster.start()
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # from now on the group ends when its workers have
    while cluster.sentinel.is_alive() and os.getppid() == supervisor:
        time.sleep(0.2)
    _end_group()


def prctl(option: int, value: int) -> None:
    """Set an attribute of this process; does nothing where the kernel isn't Linux."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


_forking = 0


def _note_parent() -> None:
    global _forking
    _forking = os.getpid()


def _be_a_child() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    _die_with(_forking)


def _die_with(parent: int) -> None:
    """Have the kernel kill this process when `parent` ends, so that no worker lives on without a supervisor."""
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it ended before the kernel knew
        os.kill(os.getpid(), signal.SIGKILL)


def _end_group() -> None:
    os.killpg(os.getpgrp(), signal.SIGKILL)
