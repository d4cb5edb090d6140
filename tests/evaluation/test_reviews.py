"""Decisions about a result: what each state allows, and what a decision leaves behind."""

from collections.abc import Callable

import pytest
from django.utils import timezone

from evaluation.models import Job, PublicationReview
from evaluation.reviews import (
    approve_publication,
    disqualify_publication,
    return_publication,
)
from leaderboard.models import Entry
from leaderboard.services import open_board, publish_board, withdraw_entry
from submissions.models import AuditEvent, OutboxMail
from submissions.refusals import Refusal
from tests.evaluation import builders
from tests.evaluation.builders import Entrant

DECISIONS: dict[str, Callable[..., PublicationReview]] = {
    "approve": approve_publication,
    "return": return_publication,
    "disqualify": disqualify_publication,
}


@pytest.fixture
def review(entrant: Entrant) -> PublicationReview:
    builders.passed_smoke(entrant)
    job = builders.finished_full(entrant)
    OutboxMail.objects.all().delete()
    return job.review


def decide(name: str, review: PublicationReview, reason: str = "Because.") -> PublicationReview:
    return DECISIONS[name](review=review, actor="organizer:ada", reason=reason, at=timezone.now())


@pytest.mark.parametrize(
    ("name", "state", "letters"),
    [
        ("approve", "approved", []),
        ("return", "returned", ["result_returned"]),
        ("disqualify", "disqualified", ["result_disqualified"]),
    ],
)
def test_a_decision_is_kept_told_and_audited(
    review: PublicationReview, name: str, state: str, letters: list[str]
) -> None:
    decided = decide(name, review)
    assert (decided.state, decided.decided_at is not None) == (state, True)
    assert [letter.event for letter in OutboxMail.objects.all()] == letters
    event = AuditEvent.objects.get(action=f"review.{state}")
    assert (event.actor, event.reason, event.before, event.after) == (
        "organizer:ada",
        "Because.",
        {"state": "pending"},
        {"state": state},
    )


ALLOWED = {
    "pending": {"approve", "return", "disqualify"},
    "approved": {"return", "disqualify"},
    "returned": {"approve", "disqualify"},
    "disqualified": set[str](),
}


@pytest.mark.parametrize("name", DECISIONS)
@pytest.mark.parametrize("state", PublicationReview.State.values)
def test_what_each_state_allows(review: PublicationReview, state: str, name: str) -> None:
    PublicationReview.objects.filter(pk=review.pk).update(state=state)
    if name in ALLOWED[state]:
        decide(name, review)
        return
    with pytest.raises(Refusal) as caught:
        decide(name, review)
    assert caught.value.code == "review_decided"


@pytest.mark.parametrize("name", DECISIONS)
@pytest.mark.parametrize("is_withdrawn", [False, True], ids=["published", "withdrawn"])
def test_what_a_board_has_is_decided_there(review: PublicationReview, name: str, is_withdrawn: bool) -> None:
    decide("approve", review)
    board = open_board(
        cycle=review.job.cycle, track="textual", division="open_source", actor="organizer:ada", at=timezone.now()
    )
    publish_board(board=board, actor="organizer:ada", reason="Due.", at=timezone.now())
    if is_withdrawn:
        withdraw_entry(entry=Entry.objects.get(), actor="organizer:ada", reason="Asked for.", at=timezone.now())
    with pytest.raises(Refusal) as caught:
        decide(name, review)
    assert caught.value.code == "result_published"


@pytest.mark.parametrize("name", DECISIONS)
def test_a_decision_needs_a_reason(review: PublicationReview, name: str) -> None:
    with pytest.raises(Refusal) as caught:
        decide(name, review, reason="  ")
    assert caught.value.code == "reason_missing"


def test_the_gate_runs_again_before_an_approval(review: PublicationReview) -> None:
    Job.objects.filter(pk=review.job_id).update(code_sha256="1" * 64)
    with pytest.raises(Refusal) as caught:
        decide("approve", review)
    assert (caught.value.code, caught.value.details) == ("gate_failed", {"failed": ["code"]})
    review.refresh_from_db()
    assert review.state == "pending"
