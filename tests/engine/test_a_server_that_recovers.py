"""A server that stumbles and recovers keeps the exact score of a faultless one, and the run's history tells of it."""

import asyncio
import time
from typing import Any

import pytest

from evaluation.models import Job, Receipt, Release, Result, StageProgress
from tests.engine.conftest import Memory, running_memory
from tests.engine.stumbling import stumbling_memory
from tests.engine.suite import make_job, make_version
from tests.engine.test_run import run_to_end

CALLS = 39


@pytest.fixture
def digest(release: Release, settings: Any) -> str:
    """What a run comes to that nothing disturbs."""
    with running_memory() as memory:
        settings.AML_ALLOWED_PRIVATE_TARGETS = [memory.url.removeprefix("http://")]
        return Result.objects.get(job=run_to_end(make_job(release, make_version(memory.url)))).digest


def told(job: Job) -> set[str]:
    """The causes in the history of a job."""
    return {cause for row in StageProgress.objects.filter(job=job) for _at, _lanes, cause in row.throttle}


def patiently(job: Job) -> Job:
    """Work on `job` whenever it is due, as the reaper has it done."""
    ends = time.monotonic() + 60
    while job.is_active:
        _one_slice(job)
        assert time.monotonic() < ends, f"still {job.state} in {job.stage}"
    return job


def _one_slice(job: Job) -> None:
    from evaluation.slices import work_on

    work_on(job.pk)
    job.refresh_from_db()
    if job.is_active and job.next_wake_at:
        time.sleep(max(0.0, job.next_wake_at.timestamp() - time.time()))


@pytest.mark.parametrize(("status", "retry_after", "cause"), [(429, "1", "busy"), (503, "0", "failing")])
def test_a_burst_costs_no_point(
    digest: str, release: Release, memory: Memory, settings: Any, status: int, retry_after: str, cause: str
) -> None:
    """The first dozen Searches and the first Add are refused, whichever they are."""
    settings.AML_ALLOWED_PRIVATE_TARGETS = [memory.url.removeprefix("http://")]
    memory.retry_after = retry_after
    refused = {"/add": 1, "/search": 12}

    def burst(path: str, request: dict[str, Any], times: int) -> tuple[int, bytes] | None:
        refused[path] -= 1
        return (status, b"{}") if refused[path] >= 0 else None

    memory.fault = burst
    job = patiently(make_job(release, make_version(memory.url)))

    assert (job.state, Result.objects.get(job=job).digest) == ("succeeded", digest)
    assert Receipt.objects.filter(job=job, http_status=status, verdict="retry").count() == 13
    assert told(job) == {cause}


def test_broken_connections_cost_no_point(digest: str, release: Release, settings: Any) -> None:
    fates = {"well": 6, "reset before": 2, "reset behind": 2, "cut": 1}
    with stumbling_memory(3, latency_s=0.0, fates=fates) as server:
        settings.AML_ALLOWED_PRIVATE_TARGETS = [server.target]
        job = patiently(make_job(release, make_version(server.url)))

    assert (job.state, Result.objects.get(job=job).digest) == ("succeeded", digest)
    assert min(server.fates[fate] for fate in fates) > 0
    assert server.fates["well"] == CALLS
    assert told(job) == {"silent"}


def test_a_stall_longer_than_the_read_time_out_costs_no_point(
    digest: str, release: Release, memory: Memory, settings: Any
) -> None:
    job = stalled(release, memory, settings, stall_s=1.6, time_out_s=1)

    assert (job.state, Result.objects.get(job=job).digest) == ("succeeded", digest)
    assert set(Receipt.objects.filter(job=job, verdict="retry").values_list("reason_code", flat=True)) == {
        "read_timeout"
    }
    assert told(job) == {"silent"}


@pytest.mark.chaos
@pytest.mark.timeout(120)
def test_a_stall_of_thirty_seconds_costs_no_point(digest: str, release: Release, memory: Memory, settings: Any) -> None:
    """The team has said that a call takes less, so that it is tried again while the server still stands still."""
    began = time.monotonic()
    job = stalled(release, memory, settings, stall_s=30, time_out_s=20)

    assert (job.state, Result.objects.get(job=job).digest) == ("succeeded", digest)
    assert told(job) == {"silent"}
    assert time.monotonic() - began >= 20


def stalled(release: Release, memory: Memory, settings: Any, *, stall_s: float, time_out_s: int) -> Job:
    """Run against a server on which the first Add and the first Search stand still for a while."""
    settings.AML_ALLOWED_PRIVATE_TARGETS = [memory.url.removeprefix("http://")]
    stalls = {"/add", "/search"} if stall_s < 10 else {"/search"}

    async def stand_still(path: str) -> None:
        if path in stalls:
            stalls.remove(path)
            await asyncio.sleep(stall_s)

    memory.before = stand_still
    version = make_version(memory.url)
    version.call_timeout_s = time_out_s
    version.save()
    return patiently(make_job(release, version))
