"""The task queue in a Redis: a run comes to its end through it, also when Redis dies in the middle."""

import asyncio
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis
from django.utils import timezone
from django_q.models import OrmQ

from evaluation.models import Item, Job, Receipt, Release
from tests.engine.conftest import Memory
from tests.engine.suite import make_job, make_version
from tests.engine.test_run import ADDS, QUESTIONS
from tests.engine.workers import TIMING, Worker, is_active

pytestmark = pytest.mark.timeout(180)


class RedisServer:
    """A private `redis-server` on a free port, which keeps nothing."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self.start()

    def start(self) -> None:
        program = shutil.which("redis-server")
        assert program, "system-packages.txt names it"
        self._process = subprocess.Popen(
            [program, "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"],
            cwd=self._folder,
            stdout=subprocess.DEVNULL,
        )
        with redis.from_url(self.url) as client:
            ends = time.monotonic() + 20
            while True:
                try:
                    client.ping()
                    return
                except redis.ConnectionError:
                    assert time.monotonic() < ends, "redis-server does not answer"
                    time.sleep(0.05)

    def pushed(self) -> int:
        """How many tasks were handed to it since it started."""
        with redis.from_url(self.url) as client:
            return int(client.info("commandstats").get("cmdstat_rpush", {}).get("calls", 0))

    def kill(self) -> None:
        self._process.send_signal(signal.SIGKILL)
        self._process.wait(10)


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[RedisServer]:
    server = RedisServer(tmp_path)
    yield server
    server.kill()


@pytest.fixture
def worker(transactional_db: None, memory: Memory, broker: RedisServer, tmp_path: Path) -> Iterator[Worker]:
    timing = TIMING | {"AML_BROKER_URL": broker.url, "AML_SLICE_S": "1"}
    worker = Worker(tmp_path, memory.url.removeprefix("http://"), timing=timing)
    yield worker
    worker.end()


def test_a_run_comes_to_its_end_though_redis_is_killed_in_the_middle(
    release: Release, memory: Memory, broker: RedisServer, worker: Worker
) -> None:
    async def work(path: str) -> None:
        await asyncio.sleep(0.25)

    memory.before = work
    job = make_job(release, make_version(memory.url), lanes=2)
    Job.objects.filter(pk=job.pk).update(next_wake_at=timezone.now())
    worker.wait_until(lambda: len(memory.heard) > 5)
    assert broker.pushed() > 0, "the wake-up came through Redis"
    assert not OrmQ.objects.exists()

    broker.kill()
    time.sleep(2.5)  # longer than a slice, whose next wake-up is lost
    broker.start()
    worker.wait_until(lambda: not is_active(job), 90)

    job.refresh_from_db()
    assert (job.state, job.failure_code) == ("succeeded", "")
    assert Item.objects.filter(job=job, state="scored").count() == QUESTIONS
    assert Receipt.objects.filter(job=job, verdict="ok").count() == ADDS + QUESTIONS
    assert broker.pushed() > 0, "the reaper woke it through the new Redis"
    assert not OrmQ.objects.exists()
