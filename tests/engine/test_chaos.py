"""Kill -9 of any process, again and again, while the memory server stumbles as well: nothing is lost or doubled.

Jobs share the workers all the while: whenever one ends, another is submitted. `CHAOS_SECONDS` says for how long (60),
`CHAOS_SEED` which kills and which faults (7).
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
from tests.engine.suite import make_job, make_version, open_test_release
from tests.engine.talks import write_bundle
from tests.engine.test_run import run_to_end
from tests.engine.workers import Worker, is_active

CHAOS_SECONDS = float(os.environ.get("CHAOS_SECONDS", "60"))
SEED = int(os.environ.get("CHAOS_SEED", "7"))
TIMING = {"AML_LEASE_S": "4", "AML_HEARTBEAT_S": "1", "AML_REAPER_S": "2", "AML_SLICE_S": "6"}
LEAST_KILLS = 10
LANES = 4
IN_FLIGHT = 3
"""One more than there are workers, so that a job always waits for its turn."""

SCOPES, SESSIONS, QUESTIONS = 4, 3, 80
KINDS = ("supervisor", "cluster", "sentinel", "pusher", "monitor", "idle worker", "busy worker")

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(CHAOS_SECONDS * 3 + 240)]


class Chaos:
    """Kills one process after another, of every kind in turn, in an order that the seed decides."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self._random = random.Random(SEED)
        self._next: list[str] = []
        self._due: float | None = None
        self.kills: Counter[str] = Counter()

    def tick(self) -> None:
        """Kill something a while after a cluster has come up whole, so that what it killed was at work."""
        if not (kinds := self._worker.kinds()):
            self._due = None
            return
        self._due = self._due or time.monotonic() + self._random.uniform(1, 4)
        self._next = self._next or self._random.sample(KINDS, len(KINDS))
        kind = next((kind for kind in self._next if kinds[kind]), "")
        if time.monotonic() < self._due or not kind:
            return
        os.kill(self._random.choice(kinds[kind]), signal.SIGKILL)
        self._next.remove(kind)
        self.kills[kind] += 1
        self._due = None


class Traffic:
    """The jobs in flight: topped up while there is chaos, each held to everything when it ends."""

    def __init__(self, release: Release, memory: StumblingMemory, chaos: Chaos, digest: str) -> None:
        self._release, self._memory, self._chaos, self._digest = release, memory, chaos, digest
        self._kills_before: dict[Job, int] = {}
        self.ended = self.repeated = 0

    def top_up(self) -> None:
        """Submit jobs, each of a team of its own, until enough are in flight."""
        while len(self._kills_before) < IN_FLIGHT:
            job = make_job(self._release, make_version(self._memory.url), lanes=LANES)
            self._kills_before[job] = self._chaos.kills.total()
            wake(job.pk)

    def look(self) -> bool:
        """Check the jobs that have ended; whether any are left."""
        for job in [job for job in self._kills_before if not is_active(job)]:
            kills = self._chaos.kills.total() - self._kills_before.pop(job)
            self.repeated += check(job, self._memory, self._digest, kills)
            self.ended += 1
        return bool(self._kills_before)


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
    digest = Result.objects.get(job=run_to_end(make_job(release, make_version(memory.url), lanes=64))).digest
    chaos, began = Chaos(worker), time.monotonic()
    traffic = Traffic(release, memory, chaos, digest)
    goes_on = True
    while traffic.look() or goes_on:
        if worker.process.poll() is not None:
            worker.start()  # what systemd does
        goes_on = time.monotonic() - began < CHAOS_SECONDS or chaos.kills.total() < LEAST_KILLS
        if goes_on:
            traffic.top_up()
            chaos.tick()
        assert time.monotonic() - began < CHAOS_SECONDS * 3 + 180, worker.log.read_text()[-4000:]
        time.sleep(0.2)

    with capsys.disabled():
        kills = ", ".join(f"{times} {kind}" for kind, times in sorted(chaos.kills.items()))
        fates = ", ".join(f"{times} {fate}" for fate, times in sorted(memory.fates.items()))
        print(f"\nchaos, seed {SEED}, {time.monotonic() - began:.0f} s, {IN_FLIGHT} jobs in flight")
        print(f"  {traffic.ended} jobs of {QUESTIONS} questions ended, none lost, none double; digest {digest[:16]}")
        print(f"  {chaos.kills.total()} kills: {kills}; {traffic.repeated} calls repeated")
        print(f"  the server: {fates}")
    assert traffic.ended >= IN_FLIGHT
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
