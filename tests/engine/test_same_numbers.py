"""A run comes to the same numbers, whatever its concurrency and however many workers share it.

The run is of LoCoMo's shortest conversation, with `LOCOMO_CONVERSATIONS=10` (`make same-numbers`) of all ten. Where the
file isn't there, a suite of our own in its shape takes its place.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from evaluation.models import Event, Job, Receipt, Release, Result
from evaluation.tasks import wake
from tests.conftest import ROOT
from tests.engine.conftest import Memory, running_memory
from tests.engine.suite import make_job, make_version, open_test_release
from tests.engine.talks import write_bundle
from tests.engine.test_run import run_to_end
from tests.engine.workers import Worker, is_active

CONVERSATIONS = int(os.environ.get("LOCOMO_CONVERSATIONS", "1"))
ENDS_S = 120 * CONVERSATIONS
pytestmark = pytest.mark.timeout(180 + 3 * ENDS_S)


@pytest.fixture
def release(transactional_db: None, tmp_path: Path) -> Release:
    file = Path(os.environ.get("AML_DATA_DIR", ROOT.parent / "shared" / "data")) / "locomo" / "locomo10.json"
    if not file.is_file():
        return open_test_release(write_bundle(tmp_path / "shape", scopes=6, sessions=12, questions=20))
    talks = sorted(json.loads(file.read_text()), key=lambda talk: len(talk["qa"]))[:CONVERSATIONS]
    folder = tmp_path / "locomo"
    folder.mkdir()
    (folder / "locomo10.json").write_text(json.dumps(talks))
    return open_test_release(folder, dataset="locomo")


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
    clusters.wait_until(lambda: not any(is_active(job) for job in shared), ENDS_S)
    calls = {job.pk: Receipt.objects.filter(job=job).count() for job in shared}
    planned = Event.objects.filter(scope__job=shared[0]).count()
    clusters.end()

    digests = {f"two clusters, job {number}": digest(job) for number, job in enumerate(shared, start=1)}
    for lanes in (1, 8, 64):
        with running_memory() as other:
            job = make_job(release, make_version(other.url), lanes=lanes)
            settings.AML_ALLOWED_PRIVATE_TARGETS = [other.url.removeprefix("http://")]
            digests[f"{lanes} lanes"] = digest(run_to_end(job))
    with capsys.disabled():
        n = Result.objects.get(job=shared[0]).n
        print(f"\n{release.smoke_bundle.name}, {n} questions, {planned} calls")
        print("\n".join(f"{name}: {value}" for name, value in digests.items()))
    assert len(set(digests.values())) == 1
    assert set(calls.values()) == {planned}, "no work was done twice"


def digest(job: Job) -> str:
    job.refresh_from_db()
    assert (job.state, job.failure_code) == ("succeeded", ""), job.failure_detail
    result = Result.objects.get(job=job)
    assert result.coverage == 1.0
    assert result.n == result.states["scored"] > 0
    return result.digest
