"""The life of a Leaderboard Key: claimed once, rotated by its owner, offered anew or revoked by organizers."""

import uuid
from collections.abc import Iterable
from datetime import datetime, timedelta

from django.db import transaction
from django.utils.translation import gettext as _
from django.views.decorators.debug import sensitive_variables

from submissions.audit import append_event
from submissions.keys import SCOPES, is_valid, make_key, require_scope
from submissions.models import AccessRequest, Cycle, KeyClaim, LeaderboardKey, Team, Version
from submissions.outbox import queue_mail
from submissions.refusals import Refusal, require_reason
from submissions.services.locking import locked_lineage

GRACE = timedelta(hours=24)
"""How long the old key works beside the one that a rotation made."""

READ_AFTER_CLOSE = timedelta(days=90)
"""How long private results can be read after a cycle's evaluation has closed."""

WITHOUT_CLOSE = timedelta(days=365)


@sensitive_variables("text")
@transaction.atomic
def claim_key(*, access_request: AccessRequest, at: datetime) -> str:
    """Make the key of an approved request and return its text: the only time that it can be read.

    Raises Refusal `claim_missing` (nothing to claim) or `already_claimed`.
    """
    claim = KeyClaim.objects.select_for_update().filter(access_request=access_request).first()
    if claim is None:
        raise Refusal(
            "claim_missing",
            _("There is no key to claim: expected an approved request for a new key, the request is %(state)s.")
            % {"state": access_request.get_state_display()},
        )
    if claim.claimed_at is not None:
        raise Refusal(
            "already_claimed",
            _("This key was shown already and cannot be shown again. If it is lost, ask the organizers for a new one."),
        )
    key, text = _claimed(claim, at)
    claim.key, claim.claimed_at = key, at
    claim.save()
    append_event(
        actor=f"receipt:{claim.access_request_id}",
        action="leaderboard_key.claimed",
        subject=key,
        after={"public_id": key.public_id, "scopes": key.scopes, "expires_at": key.expires_at},
        at=at,
    )
    return text


@sensitive_variables("text")
@transaction.atomic
def rotate_key(*, key: LeaderboardKey, actor: str, at: datetime) -> tuple[LeaderboardKey, str]:
    """Make the next key of the lineage and return it with its text; the old one works 24 hours longer.

    Quotas, runs and versions follow the lineage. Raises Refusal `scope_missing` for a key that may only read,
    `key_invalid`, or `key_superseded` when the key was rotated before.
    """
    require_scope(key, "smoke")
    lineage = locked_lineage(key)
    current = next(each for each in lineage if each.pk == key.pk)
    if not is_valid(current, at):
        raise Refusal("key_invalid", _("Expected a Leaderboard Key that is neither revoked nor expired."), status=401)
    if lineage[-1].pk != current.pk:
        raise Refusal("key_superseded", _("This key was rotated already. Use the newer one."))
    return _rotated(current, actor=actor, at=at)


@transaction.atomic
def revoke_key(*, key: LeaderboardKey, actor: str, reason: str, at: datetime) -> LeaderboardKey:
    """End `key` at once: sessions and API calls under it stop with the next request."""
    require_reason(reason)
    current = LeaderboardKey.objects.select_for_update().get(pk=key.pk)
    if current.revoked_at is not None:
        raise Refusal("key_revoked", _("This key was revoked before. Nothing is left to do."))
    current.revoked_at, current.revoked_reason = at, reason
    current.save()
    append_event(
        actor=actor,
        action="leaderboard_key.revoked",
        subject=current,
        reason=reason,
        after={"public_id": current.public_id, "revoked_at": at},
        at=at,
    )
    return current


@transaction.atomic
def set_scopes(*, key: LeaderboardKey, scopes: Iterable[str], actor: str, reason: str, at: datetime) -> LeaderboardKey:
    """Set what `key` may do; the next key of its lineage inherits it. Raises ValueError for a scope that is none."""
    require_reason(reason)
    wanted = set(scopes)
    if not wanted <= set(SCOPES):
        raise ValueError(f"Expected scopes of {SCOPES}, got {sorted(wanted)}.")
    current = LeaderboardKey.objects.select_for_update().get(pk=key.pk)
    before = list(current.scopes)
    current.scopes = [scope for scope in SCOPES if scope in wanted]
    current.save(update_fields=["scopes"])
    append_event(
        actor=actor,
        action="leaderboard_key.scopes_set",
        subject=current,
        reason=reason,
        before={"scopes": before},
        after={"scopes": current.scopes},
        at=at,
    )
    return current


@transaction.atomic
def offer_new_key(*, key: LeaderboardKey, actor: str, reason: str, at: datetime) -> KeyClaim:
    """Let the owner of a lost or leaked key claim the next one of its lineage on the status page of the request.

    The old key works until 24 hours after the claim; revoke it to end it at once. Raises Refusal `claim_missing` or
    `already_offered`.
    """
    require_reason(reason)
    claims = KeyClaim.objects.select_for_update(of=("self",))
    claim = (claims.filter(key__lineage=key.lineage) | claims.filter(renews__lineage=key.lineage)).first()
    if claim is None:
        raise Refusal("claim_missing", _("This key comes from no access request, so no status page can offer another."))
    if claim.claimed_at is None:
        raise Refusal("already_offered", _("A new key waits on the status page of the request already."))
    newest = locked_lineage(key)[-1]
    claim.claimed_at, claim.key, claim.renews = None, None, newest
    claim.save()
    append_event(
        actor=actor, action="leaderboard_key.offered", subject=newest, reason=reason, at=at, after={"renews": newest.pk}
    )
    return claim


@sensitive_variables("text")
def _claimed(claim: KeyClaim, at: datetime) -> tuple[LeaderboardKey, str]:
    access_request = claim.access_request
    if claim.renews is not None:
        return _rotated(locked_lineage(claim.renews)[-1], actor=f"receipt:{access_request.pk}", at=at)
    return _create(
        team=access_request.team,
        cycle=access_request.cycle,
        lineage=uuid.uuid4(),
        versions=[access_request.version],
        scopes=list(SCOPES),
        expires_at=_end(access_request.cycle, at),
        contact_email=access_request.contact_email,
        language=access_request.language,
    )


@sensitive_variables("text")
def _rotated(old: LeaderboardKey, *, actor: str, at: datetime) -> tuple[LeaderboardKey, str]:
    new, text = _create(
        team=old.team,
        cycle=old.cycle,
        lineage=old.lineage,
        versions=old.versions.all(),
        scopes=old.scopes,
        expires_at=old.expires_at if is_valid(old, at) else _end(old.cycle, at),
        contact_email=old.contact_email,
        language=old.language,
        is_test=old.is_test,
    )
    if is_valid(old, at):
        old.expires_at = min(filter(None, (old.expires_at, at + GRACE)))
        old.save(update_fields=["expires_at"])
    append_event(
        actor=actor,
        action="leaderboard_key.rotated",
        subject=new,
        before={"public_id": old.public_id},
        after={"public_id": new.public_id, "old_ends_at": old.expires_at},
        at=at,
    )
    queue_mail(
        event="key_rotated",
        to=new.contact_email,
        language=new.language,
        context={
            "team": new.team.name,
            "public_id": new.public_id,
            "old_public_id": old.public_id,
            "old_ends_at": old.revoked_at or old.expires_at,
        },
        at=at,
    )
    return new, text


@sensitive_variables("made")
def _create(
    *,
    team: Team,
    cycle: Cycle,
    lineage: uuid.UUID,
    versions: Iterable[Version],
    scopes: list[str],
    expires_at: datetime | None,
    contact_email: str,
    language: str,
    is_test: bool = False,
) -> tuple[LeaderboardKey, str]:
    made = make_key(is_test=is_test)
    key = LeaderboardKey.objects.create(
        public_id=made.public_id,
        digest=made.digest,
        lineage=lineage,
        is_test=is_test,
        team=team,
        cycle=cycle,
        scopes=scopes,
        contact_email=contact_email,
        language=language,
        expires_at=expires_at,
    )
    key.versions.set(versions)
    return key, made.text


def _end(cycle: Cycle, at: datetime) -> datetime:
    closes = cycle.evaluation_closes_at
    return max(closes, at) + READ_AFTER_CLOSE if closes else at + WITHOUT_CLOSE
