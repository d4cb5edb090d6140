"""How a run ends: who may end it, what its slot becomes, who is told, and what an organizer can do."""

from datetime import timedelta

import pytest
from django.utils import timezone

from evaluation import quotas
from evaluation.models import Job, PublicationReview, Receipt
from evaluation.pipeline.baseline import pipeline_code_hash
from evaluation.services import cancel_job, cancel_job_by_organizer, end_job, end_job_by_organizer
from submissions.models import AuditEvent, OutboxMail
from submissions.refusals import Refusal
from tests.evaluation import builders
from tests.evaluation.builders import Entrant


def hold(job: Job) -> None:
    """A worker takes the lease."""
    until = timezone.now() + timedelta(minutes=1)
    Job.objects.filter(pk=job.pk).update(
        state="running", lease_token=job.lease_token + 1, lease_owner="w", lease_until=until, started_at=timezone.now()
    )
    job.refresh_from_db()


def test_a_queued_run_is_cancelled_at_once_and_gets_its_slot_back(entrant: Entrant) -> None:
    job = builders.start(entrant)
    job = cancel_job(job=job, actor="key:x", at=timezone.now())
    assert (job.state, job.blame) == ("cancelled", "")
    assert quotas.was_refunded(job)
    assert job.quota_entries.get(kind="refund").reason == "nothing_sent"


def test_a_run_of_which_something_was_sent_keeps_its_slot_spent_and_its_receipts(entrant: Entrant) -> None:
    job = builders.start(entrant)
    builders.send_something(job)
    job = cancel_job(job=job, actor="key:x", at=timezone.now())
    assert job.state == "cancelled"
    assert not quotas.was_refunded(job)
    assert Receipt.objects.filter(job=job).count() == 1


def test_a_run_that_a_worker_has_is_only_asked_to_stop(entrant: Entrant) -> None:
    job = builders.start(entrant)
    hold(job)
    job = cancel_job(job=job, actor="key:x", at=timezone.now())
    assert (job.state, job.cancel_requested) == ("running", True)
    builders.finish(job, state="cancelled")
    assert not quotas.was_refunded(job)  # a first call may have been under way


def test_a_run_whose_worker_died_is_cancelled_at_once_and_fenced_off(entrant: Entrant) -> None:
    job = builders.start(entrant)
    hold(job)
    token = job.lease_token
    job = cancel_job(job=job, actor="key:x", at=timezone.now() + timedelta(minutes=2))
    assert (job.state, job.lease_token) == ("cancelled", token + 1)


def test_an_ended_run_is_not_cancelled_again(entrant: Entrant) -> None:
    job = builders.passed_smoke(entrant)
    with pytest.raises(Refusal) as caught:
        cancel_job(job=job, actor="key:x", at=timezone.now())
    assert caught.value.code == "job_ended"


def test_only_the_holder_of_the_lease_ends_a_run(entrant: Entrant) -> None:
    job = builders.start(entrant)
    hold(job)
    at = timezone.now()
    assert not end_job(job_id=job.pk, token=job.lease_token - 1, state="failed", blame="platform", at=at)
    assert end_job(job_id=job.pk, token=job.lease_token, state="succeeded", blame="", at=at)
    assert not end_job(job_id=job.pk, token=job.lease_token, state="failed", blame="platform", at=at)
    job.refresh_from_db()
    assert (job.state, job.ended_at, job.lease_until, job.lease_owner) == ("succeeded", at, None, "")
    assert job.code_sha256 == pipeline_code_hash()


@pytest.mark.parametrize(("blame", "refunded"), [("participant", False), ("platform", True)])
def test_a_fault_of_the_platform_costs_no_slot(entrant: Entrant, blame: str, refunded: bool) -> None:
    job = builders.start(entrant)
    builders.send_something(job)
    builders.finish(job, state="failed", blame=blame, code="reset", detail={"got": "x"})
    assert quotas.was_refunded(job) is refunded
    assert AuditEvent.objects.get(action="job.ended").after == {
        "state": "failed",
        "blame": blame,
        "refunded": refunded,
    }
    assert job.failure_detail == {"got": "x"}


@pytest.mark.parametrize(
    ("mode", "state", "blame", "events"),
    [
        ("smoke", "succeeded", "", ["smoke_finished"]),
        ("full", "succeeded", "", ["full_finished"]),
        ("full", "failed", "participant", ["full_finished"]),
        ("full", "failed", "platform", ["full_finished", "quota_refunded"]),
        ("full", "cancelled", "", []),
    ],
)
def test_the_team_is_told_without_a_score(
    entrant: Entrant, mode: str, state: str, blame: str, events: list[str]
) -> None:
    if mode == "full":
        builders.passed_smoke(entrant)
    job = builders.start(entrant, mode, run_label="label-1")
    builders.fill_result(job, score=0.4321)
    OutboxMail.objects.all().delete()
    builders.finish(job, state=state, blame=blame, code="no_progress" if blame == "platform" else "")
    letters = OutboxMail.objects.order_by("pk")
    assert [letter.event for letter in letters] == events
    for letter in letters:
        assert "label-1" in letter.text
        assert "43.2" not in letter.text + letter.html
        assert "0.432" not in letter.text + letter.html


def test_a_letter_comes_in_the_language_of_its_key(entrant: Entrant) -> None:
    entrant.key.language = "zh-hans"
    entrant.key.save()
    builders.passed_smoke(entrant)
    assert OutboxMail.objects.get().language == "zh-hans"


@pytest.mark.parametrize(("mode", "state"), [("smoke", "succeeded"), ("full", "failed"), ("full", "cancelled")])
def test_only_a_full_evaluation_that_succeeded_goes_to_review(entrant: Entrant, mode: str, state: str) -> None:
    builders.passed_smoke(entrant)
    later = timezone.now() + timedelta(hours=2)
    builders.finish(builders.start(entrant, mode, at=later), state=state)
    assert not PublicationReview.objects.exists()


def test_a_full_evaluation_that_succeeded_goes_to_review_with_its_checks(entrant: Entrant) -> None:
    builders.passed_smoke(entrant)
    job = builders.finished_full(entrant)
    assert job.review.state == "pending"
    assert len(job.review.checks) == 11
    assert all(check["passed"] for check in job.review.checks)


def test_an_organizer_ends_a_stuck_run_with_a_refund(entrant: Entrant) -> None:
    job = builders.start(entrant)
    builders.send_something(job)
    hold(job)
    token = job.lease_token
    for stop in (cancel_job_by_organizer, end_job_by_organizer):
        with pytest.raises(Refusal) as refused:
            stop(job=job, actor="organizer:ada", reason=" ", at=timezone.now())
        assert refused.value.code == "reason_missing"
    job = end_job_by_organizer(job=job, actor="organizer:ada", reason="The disk was full.", at=timezone.now())
    assert (job.state, job.blame, job.failure_code) == ("failed", "platform", "ended_by_organizer")
    assert job.lease_token == token + 1
    assert quotas.was_refunded(job)
    assert AuditEvent.objects.get(action="job.ended_by_organizer").reason == "The disk was full."


def test_organizers_hear_once_of_a_result_to_review_and_of_no_other_end(settings, entrant: Entrant) -> None:
    settings.AML_ORGANIZER_EMAILS = ["olga@example.org"]
    builders.passed_smoke(entrant)
    assert not OutboxMail.objects.filter(event="organizer_work").exists()
    job = builders.finished_full(entrant)
    letter = OutboxMail.objects.get(event="organizer_work")
    assert letter.to == "olga@example.org"
    assert job.run_label in letter.text
    assert str(job.result.overall) not in letter.text
