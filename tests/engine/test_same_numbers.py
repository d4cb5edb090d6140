"""A run in LoCoMo's shape comes to the same numbers, whatever its concurrency and however many workers share it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from evaluation.models import Job, Receipt, Release, Result
from evaluation.tasks import wake
from tests.engine.conftest import Memory, running_memory
from tests.engine.suite import make_job, make_version, open_test_release, write_bundle
from tests.engine.test_run import run_to_end
from tests.engine.workers import Worker, is_active

pytestmark = pytest.mark.timeout(300)
SCOPES, SESSIONS, QUESTIONS = 10, 19, 40


@pytest.fixture
def release(transactional_db: None, tmp_path: Path) -> Release:
    return open_test_release(write_bundle(tmp_path / "shape", scopes=SCOPES, sessions=SESSIONS, questions=QUESTIONS))


@pytest.fixture
def clusters(release: Release, memory: Memory, tmp_path: Path) -> Iterator[Worker]:
    worker = Worker(tmp_path, memory.url.removeprefix("http://"), "--clusters", "2")
    yield worker
    worker.end()


def test_1_8_and_64_lanes_and_two_clusters_come_to_one_digest(
    release: Release, memory: Memory, clusters: Worker, capsys: pytest.CaptureFixture, settings
) -> None:
    """The clusters' jobs run at the same time, so that their workers share the database while they run."""
    shared = [make_job(release, make_version(memory.url), lanes=8) for _ in range(2)]
    for job in shared:
        wake(job.pk)
    clusters.wait_until(lambda: not any(is_active(job) for job in shared), 120)
    calls = {job.pk: Receipt.objects.filter(job=job).count() for job in shared}
    clusters.end()

    digests = {f"two clusters, job {number}": digest(job) for number, job in enumerate(shared, start=1)}
    for lanes in (1, 8, 64):
        with running_memory() as other:
            job = make_job(release, make_version(other.url), lanes=lanes)
            settings.AML_ALLOWED_PRIVATE_TARGETS = [other.url.removeprefix("http://")]
            digests[f"{lanes} lanes"] = digest(run_to_end(job))
    with capsys.disabled():
        print("\n" + "\n".join(f"{name}: {value}" for name, value in digests.items()))
    assert len(set(digests.values())) == 1
    assert set(calls.values()) == {SCOPES * (SESSIONS + QUESTIONS)}, "no work was done twice"


def digest(job: Job) -> str:
    job.refresh_from_db()
    assert (job.state, job.failure_code) == ("succeeded", ""), job.failure_detail
    result = Result.objects.get(job=job)
    assert (result.n, result.coverage) == (SCOPES * QUESTIONS, 1.0)
    return result.digest
