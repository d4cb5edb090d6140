"""`manage.py runworker`: real clusters, killed without warning, on a database of their own."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.db import connection

from evaluation.models import Item, Job, Result, Retrieval
from evaluation.tasks import wake
from tests.engine.conftest import Memory
from tests.engine.suite import make_job, make_version, open_test_release, write_bundle

pytestmark = pytest.mark.timeout(300)
QUESTIONS = 240
KILLS = 3
START_S = 60
"""A cluster starts in about three seconds; a busy machine takes its time."""


class Worker:
    """A running `manage.py runworker` on the database under test."""

    def __init__(self, folder: Path, targets: str) -> None:
        database = connection.settings_dict
        env = {name: value for name, value in os.environ.items() if not name.startswith(("AML_", "DATABASE_URL"))}
        env |= {
            "DATABASE_URL": _url(database),
            "AML_VAR_DIR": str(folder / "var"),
            "AML_ALLOWED_PRIVATE_TARGETS": targets,
            "AML_LEASE_S": "3",
            "AML_HEARTBEAT_S": "1",
            "AML_REAPER_S": "1",
            "AML_SLICE_S": "4",
            "AML_WORKERS": "2",
        }
        self.log = folder / "worker.log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "manage.py", "runworker"],
                cwd=django_settings.BASE_DIR,
                env=env,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        self.everyone: set[int] = set()

    def members(self) -> list[int]:
        """Process ids of the clusters and all that they started."""
        found = _descendants(self.process.pid)
        self.everyone |= set(found)
        return found

    def stop(self, number: signal.Signals = signal.SIGTERM) -> float:
        """Send a signal to the supervisor and return how many seconds it took to end."""
        self.members()
        began = time.monotonic()
        self.process.send_signal(number)
        self.process.wait(15)
        return time.monotonic() - began

    def left(self) -> list[int]:
        return [pid for pid in self.everyone if _is_alive(pid)]


@pytest.fixture
def worker(transactional_db: None, memory: Memory, tmp_path: Path) -> Iterator[Worker]:
    worker = Worker(tmp_path, memory.url.removeprefix("http://"))
    yield worker
    if worker.process.poll() is None:
        worker.stop()
    for pid in worker.left():
        os.kill(pid, signal.SIGKILL)


@pytest.fixture
def big_job(transactional_db: None, memory: Memory, tmp_path: Path) -> Job:
    import asyncio

    async def work(path: str) -> None:
        await asyncio.sleep(0.1)

    memory.before = work
    release = open_test_release(write_bundle(tmp_path / "big", scopes=4, questions=QUESTIONS // 4))
    job = make_job(release, make_version(memory.url), lanes=4)
    wake(job.pk)
    return job


def test_killing_any_process_at_any_time_loses_and_doubles_nothing(
    worker: Worker, big_job: Job, memory: Memory
) -> None:
    kills = 0
    wait_until(lambda: len(memory.heard) > 10, START_S, worker)
    while _is_active(big_job) and kills < KILLS:
        members = worker.members()
        if len(members) >= 5:
            os.kill(members[(1, 3, 0)[kills]], signal.SIGKILL)  # the sentinel, a worker or the monitor, the leader
            kills += 1
        heard = len(memory.heard)
        wait_until(lambda: len(memory.heard) > heard + 15 or not _is_active(big_job), START_S, worker)  # noqa: B023
    wait_until(lambda: not _is_active(big_job), START_S, worker)

    big_job.refresh_from_db()
    assert (big_job.state, big_job.failure_code) == ("succeeded", "")
    assert kills == KILLS
    assert Item.objects.filter(job=big_job, state="scored").count() == QUESTIONS
    assert Retrieval.objects.filter(item__job=big_job).count() == QUESTIONS
    assert Result.objects.get(job=big_job).n == QUESTIONS
    bodies = {request["request_id"] for request in memory.requests("/add")}
    assert len({body for path, body in memory.heard if path == "/add"}) == len(bodies), "each Add the same each time"
    assert sum(times - 1 for times in memory.seen.values()) <= kills * 8, "4 lanes for Adds and 4 for Searches"


def test_sigterm_ends_within_five_seconds_and_leaves_nothing_behind(
    worker: Worker, big_job: Job, memory: Memory
) -> None:
    wait_until(lambda: len(memory.heard) > 10, START_S, worker)
    took = worker.stop()
    big_job.refresh_from_db()

    assert took < 5
    assert worker.left() == []
    assert worker.process.returncode == 0
    assert (big_job.state, big_job.lease_owner, big_job.lease_until) == ("running", "", None), "given back in order"


def test_a_supervisor_that_is_killed_takes_its_clusters_along(worker: Worker) -> None:
    wait_until(lambda: len(worker.members()) >= 5, START_S, worker)
    worker.stop(signal.SIGKILL)

    wait_until(lambda: not worker.left(), 5, worker)


def wait_until(holds: Callable[[], Any], seconds: float, worker: Worker) -> None:
    ends = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < ends, worker.log.read_text()[-4000:]
        time.sleep(0.1)


def _is_active(job: Job) -> bool:
    return Job.objects.get(pk=job.pk).is_active


def _url(database: dict[str, Any]) -> str:
    if "sqlite3" in database["ENGINE"]:
        return f"sqlite:///{database['NAME']}"
    secret = f":{database['PASSWORD']}" if database["PASSWORD"] else ""
    return f"postgres://{database['USER']}{secret}@{database['HOST']}:{database['PORT'] or 5432}/{database['NAME']}"


def _descendants(pid: int) -> list[int]:
    """Live processes under `pid`, from /proc, oldest first."""
    children: dict[int, list[int]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            state, parent = (folder / "stat").read_text().rpartition(")")[2].split()[:2]
        except OSError:
            continue
        if state != "Z":
            children.setdefault(int(parent), []).append(int(folder.name))
    found, todo = [], [pid]
    while todo:
        below = sorted(children.get(todo.pop(), []))
        found += below
        todo += below
    return sorted(found)


def _is_alive(pid: int) -> bool:
    try:
        return (Path("/proc") / str(pid) / "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
