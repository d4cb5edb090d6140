"""Quotas: what the ledger allows at which time, for smoke tests and full evaluations."""

from datetime import datetime, timedelta

import pytest
from django.utils import timezone, translation

from evaluation import quotas
from evaluation.models import Job, QuotaEntry
from evaluation.quotas import next_submission
from submissions.refusals import Refusal
from tests.evaluation import builders
from tests.evaluation.builders import Entrant

AT = timezone.now()
HOUR, DAY = timedelta(hours=1), timedelta(days=1)


def run(entrant: Entrant, mode: str, *, at: datetime, state: str = "succeeded", blame: str = "") -> Job:
    """A run that starts and ends at `at`, with everything that a full one needs before it."""
    if mode == "full" and not Job.objects.filter(mode="smoke", state="succeeded").exists():
        run(entrant, "smoke", at=at - 2 * HOUR)
    job = builders.start(entrant, mode, at=at)
    builders.send_something(job)
    return builders.finish(job, state=state, at=at, blame=blame, code="reset" if blame else "")


def allowance(entrant: Entrant, mode: str, at: datetime) -> quotas.Allowance:
    return next_submission(key=entrant.key, track="textual", mode=mode, at=at)


def test_a_fresh_key_has_every_slot(entrant: Entrant) -> None:
    assert (allowance(entrant, "smoke", AT).left, allowance(entrant, "smoke", AT).limit) == (30, 30)
    assert (allowance(entrant, "full", AT).left, allowance(entrant, "full", AT).limit) == (2, 2)
    assert allowance(entrant, "full", AT).allowed


@pytest.mark.parametrize(
    ("minutes", "allowed"), [(0, False), (59, False), (60, True), (61, True)], ids=["at once", "59 min", "60", "61"]
)
def test_smoke_tests_keep_their_interval(entrant: Entrant, minutes: int, allowed: bool) -> None:
    run(entrant, "smoke", at=AT)
    found = allowance(entrant, "smoke", AT + timedelta(minutes=minutes))
    assert (found.allowed, found.left) == (allowed, 29)
    assert found.next_at == (None if allowed else AT + HOUR)
    assert found.refusal_code == ("" if allowed else "quota_not_yet")


def test_the_interval_holds_after_a_smoke_test_that_failed_by_the_participant(entrant: Entrant) -> None:
    run(entrant, "smoke", at=AT, state="failed", blame="participant")
    assert allowance(entrant, "smoke", AT + timedelta(minutes=1)).refusal_code == "quota_not_yet"


def test_smoke_tests_end_at_the_cycle_limit(entrant: Entrant) -> None:
    entrant.cycle.smoke_limit = 3
    entrant.cycle.save()
    for hour in range(3):
        run(entrant, "smoke", at=AT + hour * HOUR)
    found = allowance(entrant, "smoke", AT + 9 * HOUR)
    assert (found.allowed, found.left, found.next_at, found.refusal_code) == (False, 0, None, "quota_used_up")


@pytest.mark.parametrize(
    ("state", "blame", "spends"),
    [
        ("succeeded", "", True),
        ("failed", "participant", True),
        ("cancelled", "", True),
        ("failed", "platform", False),
    ],
)
def test_the_second_full_waits_thirty_days_after_one_that_spent_its_slot(
    entrant: Entrant, state: str, blame: str, spends: bool
) -> None:
    run(entrant, "full", at=AT, state=state, blame=blame)
    early, late = allowance(entrant, "full", AT + 30 * DAY - HOUR), allowance(entrant, "full", AT + 30 * DAY)
    assert early.allowed is not spends
    assert late.allowed
    assert early.left == (1 if spends else 2)
    assert early.next_at == (AT + 30 * DAY if spends else None)


def test_a_full_that_still_runs_has_no_next_time(entrant: Entrant) -> None:
    builders.passed_smoke(entrant)
    builders.start(entrant, "full", at=AT)
    found = allowance(entrant, "full", AT + 40 * DAY)
    assert (found.allowed, found.next_at, found.refusal_code) == (False, None, "previous_full_running")


def test_two_fulls_are_all(entrant: Entrant) -> None:
    run(entrant, "full", at=AT)
    run(entrant, "full", at=AT + 31 * DAY)
    assert allowance(entrant, "full", AT + 59 * DAY).refusal_code == "quota_used_up"


def test_a_refunded_smoke_test_frees_the_interval(entrant: Entrant) -> None:
    run(entrant, "smoke", at=AT, state="failed", blame="platform")
    assert allowance(entrant, "smoke", AT + timedelta(minutes=1)).allowed


def test_quotas_follow_a_key_through_its_rotations(entrant: Entrant) -> None:
    run(entrant, "full", at=AT)
    newer, _text = builders.make_leaderboard_key(entrant.cycle, entrant.key.team, lineage=entrant.key.lineage)
    assert next_submission(key=newer, track="textual", mode="full", at=AT + HOUR).left == 1


def test_another_track_cycle_or_key_has_quotas_of_its_own(entrant: Entrant) -> None:
    run(entrant, "full", at=AT)
    other = builders.make_entrant(entrant.cycle, name="Beta")
    assert next_submission(key=entrant.key, track="coding", mode="full", at=AT).left == 2
    assert next_submission(key=other.key, track="textual", mode="full", at=AT).left == 2


def test_a_next_time_after_the_close_is_no_next_time(entrant: Entrant) -> None:
    entrant.cycle.evaluation_closes_at = AT + 10 * DAY
    entrant.cycle.materials_close_at = AT + 9 * DAY
    entrant.cycle.save()
    run(entrant, "full", at=AT)
    found = allowance(entrant, "full", AT + HOUR)
    assert (found.allowed, found.next_at, found.refusal_code) == (False, None, "quota_not_yet")
    assert "closes" in found.message


@pytest.mark.parametrize(("days", "code"), [(-61, "cycle_not_open"), (-59, ""), (59, ""), (61, "cycle_closed")])
def test_the_clock_closes_the_evaluation(entrant: Entrant, days: int, code: str) -> None:
    assert allowance(entrant, "full", AT + days * DAY).refusal_code == code


def test_a_closed_cycle_is_closed_whatever_the_clock_says(entrant: Entrant) -> None:
    entrant.cycle.state = "closed"
    assert allowance(entrant, "full", AT).refusal_code == "cycle_closed"


def test_the_refusal_says_what_the_answer_says(entrant: Entrant) -> None:
    run(entrant, "smoke", at=AT)
    found = allowance(entrant, "smoke", AT + timedelta(minutes=10))
    with pytest.raises(Refusal) as caught:
        quotas.require(found, at=AT + timedelta(minutes=10))
    refusal = caught.value
    assert (refusal.code, refusal.status, refusal.retry_after_s) == ("quota_not_yet", 429, 3000)
    assert refusal.message == found.message
    assert refusal.details == {"left": 29, "limit": 30, "next_at": (AT + HOUR).isoformat()}


def test_a_refund_is_given_once_and_named(entrant: Entrant) -> None:
    job = run(entrant, "smoke", at=AT, state="failed", blame="platform")
    assert quotas.was_refunded(job)
    assert not quotas.refund(job=job, reason="again", at=AT)
    entries = QuotaEntry.objects.filter(job=job).values_list("kind", "reason")
    assert list(entries) == [("charge", "submitted"), ("refund", "reset")]


def test_the_answer_is_told_in_chinese(entrant: Entrant) -> None:
    with translation.override("zh-hans"):
        assert allowance(entrant, "full", AT + 61 * DAY).message != ""
