"""`manage.py runworker` as a real process on the database under test, and the processes below it."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.conf import settings as django_settings
from django.db import connection

from evaluation.models import Job

START_S = 60
"""A cluster starts in about three seconds; a busy machine takes its time."""

WORKERS = 2
TIMING = {"AML_LEASE_S": "3", "AML_HEARTBEAT_S": "1", "AML_REAPER_S": "1", "AML_SLICE_S": "4"}


class Worker:
    """A running `manage.py runworker`. `options` are its arguments, `timing` the settings of its leases."""

    def __init__(self, folder: Path, targets: str, *options: str, timing: dict[str, str] | None = None) -> None:
        env = {name: value for name, value in os.environ.items() if not name.startswith(("AML_", "DATABASE_URL"))}
        self._env = env | {
            "DATABASE_URL": _url(connection.settings_dict),
            "AML_VAR_DIR": str(folder / "var"),
            "AML_ALLOWED_PRIVATE_TARGETS": targets,
            "AML_WORKERS": str(WORKERS),
            **(timing or TIMING),
        }
        self._options = options
        self.log = folder / "worker.log"
        self.everyone: set[int] = set()
        self.start()

    def start(self) -> None:
        """Start the supervisor, also after it was killed."""
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "manage.py", "runworker", *self._options],
                cwd=django_settings.BASE_DIR,
                env=self._env,
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    def members(self) -> list[int]:
        """Process ids of the clusters and all that they started."""
        found = descendants(self.process.pid)
        self.everyone |= set(found)
        return found

    def kinds(self) -> dict[str, list[int]]:
        """Process ids by what they are, while one cluster is up whole; empty in between.

        The sentinel forks its workers first, then the monitor, then the pusher.
        """
        self.members()
        kinds: dict[str, list[int]] = {"supervisor": [self.process.pid]}
        for kind, parent in (("cluster", "supervisor"), ("sentinel", "cluster")):
            kinds[kind] = children(kinds[parent][0])
            if len(kinds[kind]) != 1:
                return {}
        forked = children(kinds["sentinel"][0])
        if len(forked) != WORKERS + 2:
            return {}
        busy = {int(owner.rpartition(":")[2]) for owner in owners()}
        kinds["busy worker"] = [pid for pid in forked[:WORKERS] if pid in busy]
        kinds["idle worker"] = [pid for pid in forked[:WORKERS] if pid not in busy]
        return kinds | {"monitor": forked[WORKERS : WORKERS + 1], "pusher": forked[WORKERS + 1 :]}

    def stop(self, number: signal.Signals = signal.SIGTERM) -> float:
        """Send a signal to the supervisor and return how many seconds it took to end."""
        self.members()
        began = time.monotonic()
        self.process.send_signal(number)
        self.process.wait(15)
        return time.monotonic() - began

    def left(self) -> list[int]:
        return [pid for pid in self.everyone if _is_alive(pid)]

    def end(self) -> None:
        """Stop, and end whatever that has left behind."""
        if self.process.poll() is None:
            self.stop()
        for pid in self.left():
            os.kill(pid, signal.SIGKILL)

    def wait_until(self, holds: Callable[[], Any], seconds: float = START_S) -> None:
        """Wait until something comes to pass; fails with the end of the log when it doesn't."""
        ends = time.monotonic() + seconds
        while not holds():
            assert time.monotonic() < ends, self.log.read_text()[-4000:]
            time.sleep(0.1)


def owners() -> list[str]:
    """Who holds the lease of a running job."""
    return list(Job.objects.filter(state="running").exclude(lease_owner="").values_list("lease_owner", flat=True))


def is_active(job: Job) -> bool:
    return Job.objects.get(pk=job.pk).is_active


def children(pid: int) -> list[int]:
    """Live processes that `pid` started, oldest first."""
    return _by_parent().get(pid, [])


def descendants(pid: int) -> list[int]:
    """Live processes under `pid`, oldest first."""
    by_parent = _by_parent()
    found, todo = [], [pid]
    while todo:
        below = by_parent.get(todo.pop(), [])
        found += below
        todo += below
    return sorted(found)


def _by_parent() -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            state, parent = (folder / "stat").read_text().rpartition(")")[2].split()[:2]
        except OSError:
            continue
        if state != "Z":
            found.setdefault(int(parent), []).append(int(folder.name))
    return {parent: sorted(pids) for parent, pids in found.items()}


def _is_alive(pid: int) -> bool:
    try:
        return (Path("/proc") / str(pid) / "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def _url(database: dict[str, Any]) -> str:
    if "sqlite3" in database["ENGINE"]:
        return f"sqlite:///{database['NAME']}"
    secret = f":{database['PASSWORD']}" if database["PASSWORD"] else ""
    return f"postgres://{database['USER']}{secret}@{database['HOST']}:{database['PORT'] or 5432}/{database['NAME']}"
