"""What goes wrong on our own side never costs a participant anything."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from evaluation import slices
from evaluation.models import Event, Item, Job, QuotaEntry, Release
from evaluation.slices import MAX_BARREN_TAKEOVERS, SliceEnd, work_on
from submissions.models import Version
from tests.engine.conftest import Memory
from tests.engine.suite import make_job, make_version
from tests.engine.test_run import run_to_end


def refunded(job: Job) -> bool:
    return QuotaEntry.objects.filter(job=job, kind="refund").exists()


def test_a_changed_dataset_file_ends_the_job_and_gives_the_slot_back(job: Job, memory: Memory) -> None:
    bundle = job.release.bundles.get()
    file = Path(bundle.folder) / next(iter(bundle.files))
    file.write_text(file.read_text() + "\n")
    run_to_end(job)

    assert (job.state, job.blame, job.failure_code) == ("failed", "platform", "dataset_changed")
    assert refunded(job)
    assert memory.heard == []


def test_a_request_that_would_be_other_bytes_now_is_not_sent_again(job: Job, memory: Memory) -> None:
    memory.fault = lambda path, request, times: (500, b"{}")
    assert work_on(job.pk) is SliceEnd.AGAIN
    Event.objects.filter(scope__job=job).update(body_sha256="0" * 64)
    sent = len(memory.heard)
    run_to_end(job)

    assert (job.state, job.blame, job.failure_code) == ("failed", "platform", "plan_changed")
    assert refunded(job)
    assert len(memory.heard) == sent


def test_a_job_that_ends_its_worker_again_and_again_is_given_up(job: Job, memory: Memory) -> None:
    """As when a worker runs out of memory on it: each time the lease is left and runs out."""
    for _ in range(MAX_BARREN_TAKEOVERS + 1):
        Job.objects.filter(pk=job.pk).update(
            state="running", lease_owner="gone:1", lease_until=datetime.now(UTC) - timedelta(seconds=1)
        )
        assert slices.acquire(job.pk, at=datetime.now(UTC)) is not None
    Job.objects.filter(pk=job.pk).update(lease_until=datetime.now(UTC) - timedelta(seconds=1))
    run_to_end(job)

    assert (job.state, job.blame, job.failure_code) == ("failed", "platform", "no_progress")
    assert refunded(job)


def test_an_unexpected_error_is_tried_again_later_and_then_given_up(
    job: Job, memory: Memory, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("something nobody thought of")

    monkeypatch.setattr(slices, "JobSuite", broken)
    assert work_on(job.pk) is SliceEnd.STUMBLED
    job.refresh_from_db()
    assert job.is_active
    assert job.next_wake_at > datetime.now(UTC)

    run_to_end(job)
    assert (job.blame, job.failure_code) == ("platform", "no_progress")
    assert "something nobody thought of" in caplog.text


def test_a_missing_item_row_never_becomes_a_result(job: Job, memory: Memory, settings: Any) -> None:
    settings.AML_SLICE_S = 0.0
    work_on(job.pk)  # makes the rows and has no time for more
    settings.AML_SLICE_S = 60.0
    Item.objects.filter(job=job).first().delete()  # as after a bad restore of the database
    run_to_end(job, slices=50)

    assert (job.state, job.blame) == ("failed", "platform")


def test_a_full_evaluation_that_goes_on_under_other_code_ends_and_gives_the_slot_back(
    job: Job, memory: Memory, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.AML_SLICE_S = 0.0
    assert work_on(job.pk) is SliceEnd.AGAIN
    settings.AML_SLICE_S = 60.0
    sent = len(memory.heard)
    monkeypatch.setattr(slices, "pipeline_code_hash", lambda: "1" * 64)  # as after an update and a restart
    run_to_end(job)

    assert (job.state, job.blame, job.failure_code) == ("failed", "platform", "plan_changed")
    assert refunded(job)
    assert len(memory.heard) == sent


def test_a_smoke_test_may_go_on_under_other_code(
    release: Release, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slices, "pipeline_code_hash", lambda: "1" * 64)
    smoke = make_job(release, make_version(memory.url), mode="smoke")
    run_to_end(smoke)
    assert smoke.state == "succeeded"


@pytest.mark.parametrize("state", ["suspended", "disqualified"])
def test_a_run_of_a_version_that_was_stopped_sends_nothing_more(
    job: Job, memory: Memory, settings: Any, state: str
) -> None:
    settings.AML_SLICE_S = 0.0
    assert work_on(job.pk) is SliceEnd.AGAIN
    settings.AML_SLICE_S = 60.0
    sent = len(memory.heard)
    Version.objects.filter(pk=job.version_id).update(state=state, state_reason="Under question.")
    run_to_end(job)

    assert (job.state, job.blame, job.failure_code) == ("cancelled", "", "version_stopped")
    assert len(memory.heard) == sent
