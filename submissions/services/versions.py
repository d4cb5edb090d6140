"""What happens to a version after its request: its secret, its suspension or disqualification, an appeal."""

from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _
from django.views.decorators.debug import sensitive_variables

from submissions.audit import append_event
from submissions.models import AccessRequest, MemorySystemKey, Version
from submissions.outbox import queue_mail
from submissions.refusals import Refusal, require_reason
from submissions.services.locking import letter_names, locked_version
from submissions.vault import forget_memory_system_key, store_memory_system_key

State = Version.State
LIVE = (State.PROPOSED, State.APPROVED)
STOPPED = (State.SUSPENDED, State.DISQUALIFIED)


@sensitive_variables("secret")
@transaction.atomic
def replace_secret(*, version: Version, secret: str, actor: str, at: datetime) -> MemorySystemKey:
    """Put another Memory System Key in place of the stored one. A full evaluation then needs a new smoke test.

    Raises Refusal `secret_malformed`, `secret_without_scheme` or `state_changed`.
    """
    current = locked_version(version, LIVE)
    if current.auth_scheme == Version.AuthScheme.NONE:
        raise Refusal(
            "secret_without_scheme",
            _("This version was declared without authentication, so no key is sent. A change is a new version."),
        )
    before = _fingerprint(current)
    stored = store_memory_system_key(version=current, secret=secret)
    _note_change(current, actor, "version.secret_replaced", before, stored.fingerprint, at)
    return stored


@transaction.atomic
def forget_secret(*, version: Version, actor: str, at: datetime) -> None:
    """Delete the stored Memory System Key; runs of this version then fail until another is entered."""
    current = locked_version(version, State.values)
    before = _fingerprint(current)
    if forget_memory_system_key(version=current):
        _note_change(current, actor, "version.secret_deleted", before, "", at)


@transaction.atomic
def suspend_version(*, version: Version, actor: str, reason: str, at: datetime) -> Version:
    """Stop new evaluations with this version until it is reinstated."""
    return _stop(version, State.SUSPENDED, (State.APPROVED,), actor=actor, reason=reason, at=at)


@transaction.atomic
def disqualify_version(*, version: Version, actor: str, reason: str, at: datetime) -> Version:
    """Exclude this version; only a reinstatement after an appeal brings it back."""
    return _stop(version, State.DISQUALIFIED, (State.APPROVED, State.SUSPENDED), actor=actor, reason=reason, at=at)


@transaction.atomic
def reinstate_version(*, version: Version, actor: str, reason: str, at: datetime) -> Version:
    """Approve a suspended or disqualified version again."""
    require_reason(reason)
    current = locked_version(version, STOPPED)
    return _move(current, State.APPROVED, actor=actor, reason=reason, at=at)


@transaction.atomic
def appeal_version(*, version: Version, note: str, actor: str, at: datetime) -> Version:
    """Keep what the team answers to a suspension or disqualification; organizers read it beside the version."""
    require_reason(note)
    current = locked_version(version, STOPPED)
    current.appeal_note = note.strip()
    current.save()
    append_event(actor=actor, action="version.appealed", subject=current, reason=note.strip(), at=at)
    return current


@transaction.atomic
def set_http_override(*, version: Version, actor: str, reason: str, at: datetime) -> Version:
    """Let a full evaluation send the credential over plain http, for the written reason."""
    require_reason(reason)
    current = locked_version(version, LIVE)
    before = current.plain_http_override
    current.plain_http_override = reason.strip()
    current.save()
    append_event(
        actor=actor,
        action="version.plain_http_allowed",
        subject=current,
        reason=reason,
        before={"plain_http_override": before},
        after={"plain_http_override": current.plain_http_override},
        at=at,
    )
    return current


def _stop(
    version: Version, state: Version.State, allowed: tuple[str, ...], *, actor: str, reason: str, at: datetime
) -> Version:
    require_reason(reason)
    current = _move(locked_version(version, allowed), state, actor=actor, reason=reason, at=at)
    access_request = AccessRequest.objects.filter(version=current).first()
    if access_request is not None:
        queue_mail(
            event=f"version_{state.value}",
            to=access_request.contact_email,
            language=access_request.language,
            context={**letter_names(current), "reason": reason},
            at=at,
        )
    return current


def _move(current: Version, state: Version.State, *, actor: str, reason: str, at: datetime) -> Version:
    before = str(current.state)
    current.state, current.state_reason = state, reason
    current.save()
    append_event(
        actor=actor,
        action=f"version.{state.value}" if state in STOPPED else "version.reinstated",
        subject=current,
        reason=reason,
        before={"state": before},
        after={"state": str(state)},
        at=at,
    )
    return current


def _fingerprint(version: Version) -> str:
    stored = MemorySystemKey.objects.filter(version=version).first()
    return stored.fingerprint if stored else ""


def _note_change(version: Version, actor: str, action: str, before: str, after: str, at: datetime) -> None:
    version.endpoint_changed_at = at
    version.save()
    append_event(
        actor=actor,
        action=action,
        subject=version,
        before={"fingerprint": before},
        after={"fingerprint": after},
        at=at,
    )
