"""Decisions about a succeeded full evaluation: approve it for a board, return it, or disqualify it."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from evaluation.gate import check_publication, passes
from evaluation.models import PublicationReview
from evaluation.services import letter_context
from submissions.audit import append_event
from submissions.outbox import queue_mail
from submissions.refusals import Refusal, require_reason

_State = PublicationReview.State
_DECIDABLE = frozenset({_State.PENDING, _State.RETURNED})
_RETURNABLE = frozenset({_State.PENDING, _State.APPROVED})


def may_approve(review: PublicationReview) -> bool:
    """Whether a reviewer may approve the result, if it passes the gate."""
    return review.state in _DECIDABLE


def may_return(review: PublicationReview) -> bool:
    """Whether the result may be given back: before its decision, and after an approval until a board has it."""
    return review.state in _RETURNABLE and not has_entry(review)


def may_disqualify(review: PublicationReview) -> bool:
    """Whether the result may be barred: by any decision before a board has it."""
    return review.state != _State.DISQUALIFIED and not has_entry(review)


def has_entry(review: PublicationReview) -> bool:
    """Whether the result has come to a board, where it stands or has left its tombstone."""
    return PublicationReview.objects.filter(pk=review.pk, job__entry__isnull=False).exists()


@transaction.atomic
def approve_publication(*, review: PublicationReview, actor: str, reason: str, at: datetime) -> PublicationReview:
    """Approve a result for the board's next snapshot. The gate runs again: every check must pass now."""
    require_reason(reason)
    locked = _lock(review)
    _require(may_approve, locked)
    checks = check_publication(locked.job)
    if not passes(checks):
        failed = [check.name for check in checks if not check.passed]
        message = _(
            "The result does not pass the gate, so it can't be approved. Return it, or mend what failed: %(checks)s."
        )
        titles = "; ".join(str(check.title) for check in checks if not check.passed)
        raise Refusal("gate_failed", message % {"checks": titles}, details={"failed": failed})
    locked.checks = [check.as_json() for check in checks]
    return _decide(locked, PublicationReview.State.APPROVED, actor=actor, reason=reason, at=at)


@transaction.atomic
def return_publication(*, review: PublicationReview, actor: str, reason: str, at: datetime) -> PublicationReview:
    """Give a result back to its team with a note; it may still be decided later.

    An approved result that no board has yet may be given back too.
    """
    locked = _lock(review)
    _require(may_return, locked)
    require_reason(reason)
    locked.note_to_team = reason
    returned = _decide(locked, PublicationReview.State.RETURNED, actor=actor, reason=reason, at=at)
    _write_letter(returned, "result_returned", at)
    return returned


@transaction.atomic
def disqualify_publication(*, review: PublicationReview, actor: str, reason: str, at: datetime) -> PublicationReview:
    """Bar a result from every board, with the reason that its team reads."""
    locked = _lock(review)
    _require(may_disqualify, locked)
    require_reason(reason)
    locked.note_to_team = reason
    barred = _decide(locked, PublicationReview.State.DISQUALIFIED, actor=actor, reason=reason, at=at)
    _write_letter(barred, "result_disqualified", at)
    return barred


def _lock(review: PublicationReview) -> PublicationReview:
    return PublicationReview.objects.select_for_update(of=("self",)).select_related("job").get(pk=review.pk)


def _require(rule: Callable[[PublicationReview], bool], review: PublicationReview) -> None:
    if rule(review):
        return
    if has_entry(review):
        raise Refusal("result_published", _("This result has an entry on a board. Withdraw the entry instead."))
    raise Refusal("review_decided", _("This result has been decided on already. Look at the page again."))


def _decide(review: PublicationReview, state: str, *, actor: str, reason: str, at: datetime) -> PublicationReview:
    before: dict[str, Any] = {"state": review.state}
    review.state = state
    review.decided_at = at
    review.save()
    append_event(
        actor=actor,
        action=f"review.{state}",
        subject=review,
        reason=reason,
        before=before,
        after={"state": state},
        at=at,
    )
    return review


def _write_letter(review: PublicationReview, event: str, at: datetime) -> None:
    key = review.job.key
    if key is None:
        return
    context = letter_context(review.job, reason=review.note_to_team)
    queue_mail(event=event, to=key.contact_email, language=key.language, context=context, at=at)
