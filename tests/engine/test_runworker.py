"""`manage.py runworker`: real clusters, killed without warning, on a database of their own."""

import asyncio
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from evaluation.models import Item, Job, Result, Retrieval
from evaluation.tasks import wake
from tests.engine.conftest import Memory
from tests.engine.suite import make_job, make_version, open_test_release
from tests.engine.talks import write_bundle
from tests.engine.workers import Worker, is_active

pytestmark = pytest.mark.timeout(300)
QUESTIONS = 240
KILLS = 3


@pytest.fixture
def worker(transactional_db: None, memory: Memory, tmp_path: Path) -> Iterator[Worker]:
    worker = Worker(tmp_path, memory.url.removeprefix("http://"))
    yield worker
    worker.end()


@pytest.fixture
def big_job(transactional_db: None, memory: Memory, tmp_path: Path) -> Job:
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
    worker.wait_until(lambda: len(memory.heard) > 10)
    while is_active(big_job) and kills < KILLS:
        members = worker.members()
        if len(members) >= 5:
            os.kill(members[(1, 3, 0)[kills]], signal.SIGKILL)  # the sentinel, a worker or the monitor, the leader
            kills += 1
        heard = len(memory.heard)
        worker.wait_until(lambda: len(memory.heard) > heard + 15 or not is_active(big_job))  # noqa: B023
    worker.wait_until(lambda: not is_active(big_job))

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
    worker.wait_until(lambda: len(memory.heard) > 10)
    took = worker.stop()
    big_job.refresh_from_db()

    assert took < 5
    assert worker.left() == []
    assert worker.process.returncode == 0
    assert (big_job.state, big_job.lease_owner, big_job.lease_until) == ("running", "", None), "given back in order"


def test_a_supervisor_that_is_killed_takes_its_clusters_along(worker: Worker) -> None:
    worker.wait_until(lambda: len(worker.members()) >= 5)
    worker.stop(signal.SIGKILL)

    worker.wait_until(lambda: not worker.left(), 5)
