"""Kill -9 of any process, again and again, while the memory server stumbles as well: nothing is lost or doubled.

`CHAOS_SECONDS` says for how long (60), `CHAOS_SEED` which kills and which faults (7).
"""

import json
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from evaluation.models import Answer, Event, Item, Job, Judgement, Receipt, Release, Result, Retrieval, StageProgress
from evaluation.tasks import wake
from tests.engine.stumbling import StumblingMemory, stumbling_memory
from tests.engine.suite import make_job, make_version, open_test_release, write_bundle
from tests.engine.test_run import run_to_end
from tests.engine.workers import Worker, is_active

CHAOS_SECONDS = float(os.environ.get("CHAOS_SECONDS", "60"))
SEED = int(os.environ.get("CHAOS_SEED", "7"))
TIMING = {"AML_LEASE_S": "4", "AML_HEARTBEAT_S": "1", "AML_REAPER_S": "2", "AML_SLICE_S": "6"}
LEAST_KILLS = 10
LANES = 4
SCOPES, SESSIONS, QUESTIONS = 4, 3, 240
KINDS = ("supervisor", "cluster", "sentinel", "pusher", "monitor", "idle worker", "busy worker")

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(CHAOS_SECONDS * 3 + 240)]


class Chaos:
    """Kills one process after another, of every kind in turn, in an order that the seed decides."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self._random = random.Random(SEED)
        self._next: list[str] = []
        self.kills: Counter[str] = Counter()
        self.begins()

    def begins(self) -> None:
        """Count the kills of one job from here."""
        self.kills_of_job = 0
        self._due = time.monotonic() + self._random.uniform(1, 3)

    def tick(self) -> None:
        """Kill something when its time has come and a cluster is up whole."""
        if self._worker.process.poll() is not None:
            self._worker.start()  # what systemd does
        if time.monotonic() < self._due or not (kinds := self._worker.kinds()):
            return
        self._next = self._next or self._random.sample(KINDS, len(KINDS))
        kind = next((kind for kind in self._next if kinds[kind]), "")
        if not kind:
            return
        os.kill(self._random.choice(kinds[kind]), signal.SIGKILL)
        self._next.remove(kind)
        self.kills[kind] += 1
        self.kills_of_job += 1
        self._due = time.monotonic() + self._random.uniform(1, 4)


@pytest.fixture
def memory(settings) -> Iterator[StumblingMemory]:
    with stumbling_memory(SEED) as memory:
        settings.AML_ALLOWED_PRIVATE_TARGETS = [memory.target]
        yield memory


@pytest.fixture
def release(transactional_db: None, tmp_path: Path) -> Release:
    return open_test_release(
        write_bundle(tmp_path / "talks", scopes=SCOPES, sessions=SESSIONS, questions=QUESTIONS // SCOPES)
    )


@pytest.fixture
def worker(transactional_db: None, memory: StumblingMemory, tmp_path: Path) -> Iterator[Worker]:
    worker = Worker(tmp_path, memory.target, timing=TIMING)
    yield worker
    worker.end()


def test_nothing_is_lost_or_doubled_whatever_is_killed(
    worker: Worker, release: Release, memory: StumblingMemory, capsys: pytest.CaptureFixture
) -> None:
    version = make_version(memory.url)
    undisturbed = Result.objects.get(job=run_to_end(make_job(release, version, lanes=64)))
    chaos, began, jobs, repeated = Chaos(worker), time.monotonic(), 0, 0
    while time.monotonic() - began < CHAOS_SECONDS or chaos.kills.total() < LEAST_KILLS:
        chaos.begins()
        job = make_job(release, make_version(memory.url), lanes=LANES)
        wake(job.pk)
        while is_active(job):
            if time.monotonic() - began < CHAOS_SECONDS or chaos.kills.total() < LEAST_KILLS:
                chaos.tick()
            elif worker.process.poll() is not None:
                worker.start()
            assert time.monotonic() - began < CHAOS_SECONDS * 3 + 180, worker.log.read_text()[-4000:]
            time.sleep(0.2)
        jobs += 1
        repeated += check(job, memory, undisturbed.digest, chaos.kills_of_job)

    with capsys.disabled():
        kills = ", ".join(f"{times} {kind}" for kind, times in sorted(chaos.kills.items()))
        fates = ", ".join(f"{times} {fate}" for fate, times in sorted(memory.fates.items()))
        print(f"\nchaos, seed {SEED}, {time.monotonic() - began:.0f} s: {jobs} jobs of {QUESTIONS} questions")
        print(f"  {chaos.kills.total()} kills: {kills}; {repeated} calls repeated; digest {undisturbed.digest[:16]}")
        print(f"  the server: {fates}")
    assert chaos.kills.total() >= LEAST_KILLS
    assert set(chaos.kills) == set(KINDS)


def check(job: Job, memory: StumblingMemory, digest: str, kills: int) -> int:
    """Hold a job that has ended to everything; return how many calls were made again because of a kill."""
    job.refresh_from_db()
    assert (job.state, job.failure_code) == ("succeeded", ""), job.failure_detail
    assert dict(Counter(job.items.values_list("state", flat=True))) == {"scored": QUESTIONS}
    for model in (Retrieval, Answer, Judgement):
        assert model.objects.filter(item__job=job).count() == QUESTIONS
    assert Item.objects.filter(job=job).values("question_key").distinct().count() == QUESTIONS
    assert Result.objects.get(job=job).digest == digest

    adds = SCOPES * SESSIONS
    assert Event.objects.filter(scope__job=job, state="done").count() == adds + QUESTIONS
    done = dict(StageProgress.objects.filter(job=job).values_list("stage", "done"))
    assert done == {"ingestion": adds, "retrieval": QUESTIONS, "answering": QUESTIONS, "scoring": QUESTIONS} | {
        "aggregation": 1
    }

    heard = memory.of_run(job.pk.hex)
    bodies = [body for path, body in heard if path == "/add"]
    assert len(bodies) == len({json.loads(body)["request_id"] for body in bodies}) == adds, "byte for byte the same"
    assert len(heard) == adds + QUESTIONS
    calls, receipts = sum(heard.values()), Receipt.objects.filter(job=job).count()
    # a call whose receipt the kill took with it is made again; every other repetition has its receipt
    repeated = calls - receipts
    assert 0 <= repeated <= kills * 2 * LANES, f"{repeated} calls again after {kills} kills"
    return repeated
