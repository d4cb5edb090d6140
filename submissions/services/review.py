"""What organizers decide about a request. Nothing here calls an endpoint."""

from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from submissions.audit import append_event
from submissions.keys import is_valid
from submissions.models import AccessRequest, KeyClaim, LeaderboardKey, Version
from submissions.outbox import Letter, queue_mail, render_letter
from submissions.refusals import Refusal, require_reason
from submissions.services.access import retire_version
from submissions.services.locking import letter_names, locked_lineage, locked_request
from submissions.vault import SecretUnavailable, open_memory_system_key

State = AccessRequest.State
UNDECIDED = (State.SUBMITTED, State.IN_REVIEW)


@transaction.atomic
def start_review(*, access_request: AccessRequest, actor: str, at: datetime, reason: str = "") -> AccessRequest:
    """Show the team that somebody is looking at its request."""
    current = locked_request(access_request, (State.SUBMITTED,))
    return _move(current, State.IN_REVIEW, actor=actor, reason=reason, at=at, action="review_started")


@transaction.atomic
def request_changes(*, access_request: AccessRequest, actor: str, reason: str, at: datetime) -> AccessRequest:
    """Give the request back with a note that the team reads; it may edit and send it again."""
    require_reason(reason)
    current = locked_request(access_request, UNDECIDED)
    current.note_to_team = reason
    _move(current, State.CHANGES_REQUESTED, actor=actor, reason=reason, at=at, action="changes_requested")
    _write(current, "request_changes", {"note": reason}, at)
    return current


@transaction.atomic
def approve_access_request(*, access_request: AccessRequest, actor: str, reason: str, at: datetime) -> AccessRequest:
    """Approve the version and, in the same transaction, make a claim for a key or bind the version to the existing one.

    Raises Refusal `state_changed`, `secret_unavailable` or, for a key that has ended meanwhile, `key_invalid`.
    """
    require_reason(reason)
    current = locked_request(access_request, UNDECIDED)
    version = Version.objects.select_for_update(of=("self",)).select_related("system__team").get(pk=current.version_id)
    _require_secret(version)
    version.state = Version.State.APPROVED
    version.approved_at = at
    version.save()
    if current.existing_key is None:
        KeyClaim.objects.create(access_request=current)
    else:
        _bind(version, current.existing_key, at)
    current.version = version
    current.note_to_team = reason
    current.decided_at = at
    _move(current, State.APPROVED, actor=actor, reason=reason, at=at, action="approved")
    _write(current, "request_approved", {"makes_key": current.existing_key is None}, at)
    return current


@transaction.atomic
def reject_access_request(*, access_request: AccessRequest, actor: str, reason: str, at: datetime) -> AccessRequest:
    """Turn the request down; its version's label is free again and its Memory System Key deleted."""
    require_reason(reason)
    current = locked_request(access_request, UNDECIDED)
    current.note_to_team = reason
    current.decided_at = at
    _move(current, State.REJECTED, actor=actor, reason=reason, at=at, action="rejected")
    retire_version(current.version)
    _write(current, "request_rejected", {"reason": reason}, at)
    return current


def approval_letter(access_request: AccessRequest) -> Letter:
    """The letter that an approval sends, for a look before it is sent."""
    return render_letter(
        event="request_approved",
        language=access_request.language,
        context={**letter_names(access_request.version), "makes_key": access_request.existing_key is None},
    )


def changes_letter(access_request: AccessRequest, reason: str) -> Letter:
    """The letter that a request for changes sends, with its reason."""
    context = {**letter_names(access_request.version), "note": reason}
    return render_letter(event="request_changes", language=access_request.language, context=context)


def rejection_letter(access_request: AccessRequest, reason: str) -> Letter:
    """The letter that a rejection sends, with its reason."""
    context = {**letter_names(access_request.version), "reason": reason}
    return render_letter(event="request_rejected", language=access_request.language, context=context)


def _bind(version: Version, key: LeaderboardKey, at: datetime) -> None:
    """Bind to every key of the lineage, so that a rotation loses nothing."""
    lineage = locked_lineage(key)
    if not any(is_valid(each, at) for each in lineage):
        raise Refusal("key_invalid", _("The existing key was revoked or has expired. Ask the team for a new request."))
    for each in lineage:
        each.versions.add(version)


def _require_secret(version: Version) -> None:
    if version.auth_scheme == Version.AuthScheme.NONE:
        return
    try:
        open_memory_system_key(version=version)
    except SecretUnavailable as error:
        raise Refusal(
            "secret_unavailable",
            _("The Memory System Key cannot be opened (%(code)s). Request changes and let the team enter it once more.")
            % {"code": error.code},
        ) from None


def _move(
    current: AccessRequest, state: AccessRequest.State, *, actor: str, reason: str, at: datetime, action: str
) -> AccessRequest:
    before = str(current.state)
    current.state = state
    current.save()
    append_event(
        actor=actor,
        action=f"access_request.{action}",
        subject=current,
        reason=reason,
        before={"state": before},
        after={"state": str(state)},
        at=at,
    )
    return current


def _write(current: AccessRequest, event: str, context: dict[str, Any], at: datetime) -> None:
    queue_mail(
        event=event,
        to=current.contact_email,
        language=current.language,
        context={**letter_names(current.version), **context},
        at=at,
    )
