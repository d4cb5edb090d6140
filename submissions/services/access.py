"""What a team does with its request: send it, keep it as a draft, edit it, take it back."""

import secrets
from dataclasses import replace
from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _
from django.views.decorators.debug import sensitive_variables

from submissions.audit import append_event
from submissions.digests import peppered_digest
from submissions.keys import is_valid, require_scope
from submissions.materials import VERSION_FIELDS, Materials, check_materials
from submissions.models import AccessRequest, Cycle, LeaderboardKey, System, Team, Version
from submissions.outbox import queue_mail, tell_organizers
from submissions.refusals import Refusal
from submissions.services.locking import letter_names, locked_request
from submissions.vault import (
    SecretUnavailable,
    forget_memory_system_key,
    open_memory_system_key,
    origins_of,
    store_memory_system_key,
)

State = AccessRequest.State
EDITABLE = (State.DRAFT, State.CHANGES_REQUESTED)
WITHDRAWABLE = (State.DRAFT, State.SUBMITTED, State.IN_REVIEW, State.CHANGES_REQUESTED)


def new_receipt() -> str:
    """A receipt token of 43 characters: whoever has it reads the status page and claims the key."""
    return secrets.token_urlsafe(32)


def receipt_digest(receipt: str) -> str:
    return peppered_digest(receipt, purpose="receipt")


@sensitive_variables("materials", "receipt")
@transaction.atomic
def submit_access_request(
    *,
    cycle: Cycle,
    materials: Materials,
    receipt: str,
    language: str,
    at: datetime,
    existing_key: LeaderboardKey | None = None,
    as_draft: bool = False,
) -> AccessRequest:
    """Make team, system, version and request from `materials`; only the digest of `receipt` is kept.

    With `existing_key` the version is for that key's team and cycle. Sending the same receipt twice gives the first
    request. Raises Refusal `materials_closed`, `materials_invalid`, `division_differs`, `version_exists`,
    `key_invalid` or `scope_missing`.
    """
    if existing_key is not None:
        require_scope(existing_key, "smoke")
    digest = receipt_digest(receipt)
    earlier = _sent_before(digest)
    if earlier is not None:
        return earlier
    cycle, materials = _for_key(existing_key, cycle, materials, at)
    _require_materials_time(cycle, at)
    materials = check_materials(materials, cycle=cycle, has_secret=False, is_complete=not as_draft)
    version = Version(endpoint_changed_at=at)
    team = existing_key.team if existing_key else _team(materials.team)
    try:
        _write_version(version, team, materials)
    except Refusal:
        earlier = _sent_before(digest)  # a double click, whose first half has just been committed
        if earlier is None:
            raise
        return earlier
    access_request = AccessRequest(
        receipt_digest=digest, cycle=cycle, version=version, existing_key=existing_key, language=language
    )
    _write_request(access_request, team, materials)
    if materials.memory_system_key:
        store_memory_system_key(version=version, secret=materials.memory_system_key)
    if as_draft:
        _audit(access_request, "access_request.drafted", {"state": str(State.DRAFT)}, at)
    else:
        _submit(access_request, at)
    return access_request


@sensitive_variables("materials")
@transaction.atomic
def edit_access_request(
    *, access_request: AccessRequest, materials: Materials, at: datetime, as_draft: bool = False
) -> AccessRequest:
    """Write new materials into a draft or a request whose changes were asked for, and send it unless `as_draft`.

    A stored Memory System Key stays as long as its URLs do. Raises Refusal as `submit_access_request`, and
    `state_changed` once the request is no longer the team's to edit.
    """
    current = locked_request(access_request, EDITABLE)
    _require_materials_time(current.cycle, at)
    version = Version.objects.select_related("system__team").get(pk=current.version_id)
    before = _declared(version)
    _cycle, materials = _for_key(current.existing_key, current.cycle, materials, at)
    materials = check_materials(
        materials, cycle=current.cycle, has_secret=_fits(version, materials), is_complete=not as_draft
    )
    origins, scheme = origins_of(version), version.auth_scheme
    team = current.existing_key.team if current.existing_key else _team(materials.team)
    _write_version(version, team, materials)
    _write_request(current, team, materials)
    _write_secret(version, materials)
    if materials.memory_system_key or (origins, scheme) != (origins_of(version), version.auth_scheme):
        Version.objects.filter(pk=version.pk).update(endpoint_changed_at=at)
    changed = sorted(name for name, value in _declared(version).items() if before[name] != value)
    _audit(current, "access_request.edited", {"changed": changed}, at)
    current.version = version
    if not as_draft:
        _submit(current, at)
    return current


@transaction.atomic
def withdraw_access_request(*, access_request: AccessRequest, at: datetime) -> AccessRequest:
    """Take a request back before it is decided; its Memory System Key is deleted."""
    current = locked_request(access_request, WITHDRAWABLE)
    before = current.state
    current.state = State.WITHDRAWN
    current.decided_at = at
    current.save()
    retire_version(current.version)
    _audit(current, "access_request.withdrawn", {"state": str(State.WITHDRAWN)}, at, {"state": str(before)})
    return current


def retire_version(version: Version) -> None:
    """Free the label of a version that was never approved, and delete its secret."""
    version.state = Version.State.WITHDRAWN
    version.save()
    forget_memory_system_key(version=version)


def _sent_before(digest: str) -> AccessRequest | None:
    return AccessRequest.objects.filter(receipt_digest=digest).first()


def _submit(access_request: AccessRequest, at: datetime) -> None:
    before = access_request.state
    access_request.state = State.SUBMITTED
    access_request.submitted_at = at
    access_request.save()
    _audit(access_request, "access_request.submitted", {"state": str(State.SUBMITTED)}, at, {"state": str(before)})
    queue_mail(
        event="request_received",
        to=access_request.contact_email,
        language=access_request.language,
        context={**letter_names(access_request.version), "cycle": access_request.cycle},
        at=at,
    )
    tell_organizers(context={**letter_names(access_request.version), "is_request": True}, at=at)


def _for_key(key: LeaderboardKey | None, cycle: Cycle, materials: Materials, at: datetime) -> tuple[Cycle, Materials]:
    """A version under an existing key belongs to that key's cycle and team, whatever was entered."""
    if key is None:
        return cycle, materials
    if not is_valid(key, at):
        raise Refusal("key_invalid", _("Expected a Leaderboard Key that is neither revoked nor expired."), status=401)
    return key.cycle, replace(materials, team=key.team.name)


def _require_materials_time(cycle: Cycle, at: datetime) -> None:
    if cycle.takes_materials(at):
        return
    dates = {
        "opens_at": cycle.opens_at.isoformat() if cycle.opens_at else None,
        "materials_close_at": cycle.materials_close_at.isoformat() if cycle.materials_close_at else None,
    }
    raise Refusal(
        "materials_closed",
        _("%(cycle)s takes no materials now. Look at the cycle's dates in the participation guide.")
        % {"cycle": cycle.name},
        details=dates,
    )


def _team(name: str) -> Team:
    return Team.objects.filter(name__iexact=name).order_by("pk").first() or Team.objects.get_or_create(name=name)[0]


def _system(team: Team, materials: Materials) -> System:
    system = System.objects.filter(team=team, name__iexact=materials.system).order_by("pk").first()
    if system is None:
        defaults = {"division": materials.division}
        system, _is_new = System.objects.get_or_create(team=team, name=materials.system, defaults=defaults)
    if system.division != materials.division:
        if _has_other_versions(system, materials):
            message = _(
                "%(system)s takes part in the other division. Choose that one, or give the system another name."
            )
            raise _field_refusal("division", "division_differs", message % {"system": system.name})
        system.division = materials.division
        system.save()
    return system


def _has_other_versions(system: System, materials: Materials) -> bool:
    alive = system.versions.exclude(state=Version.State.WITHDRAWN)
    return alive.exclude(label=materials.version, state=Version.State.PROPOSED).exists()


def _write_version(version: Version, team: Team, materials: Materials) -> None:
    version.system = _system(team, materials)
    version.label = materials.version
    for name in VERSION_FIELDS:
        value: Any = getattr(materials, name)
        setattr(version, name, list(value) if isinstance(value, tuple) else value)
    try:
        with transaction.atomic():
            version.save()
    except IntegrityError:
        message = _(
            "This version of the system has been requested already. Enter another version, or open its status page."
        )
        raise _field_refusal("version", "version_exists", message) from None


def _field_refusal(name: str, code: str, message: str) -> Refusal:
    problem = {"field": name, "code": code, "message": message}
    return Refusal(code, message, status=422, details={"fields": [problem]})


def _write_request(access_request: AccessRequest, team: Team, materials: Materials) -> None:
    access_request.team = team
    access_request.contact_name = materials.contact_name
    access_request.contact_email = materials.contact_email
    access_request.stays_reachable = materials.stays_reachable
    access_request.save()


@sensitive_variables("materials")
def _write_secret(version: Version, materials: Materials) -> None:
    if materials.memory_system_key:
        store_memory_system_key(version=version, secret=materials.memory_system_key)
    elif version.auth_scheme == Version.AuthScheme.NONE:
        forget_memory_system_key(version=version)


def _fits(version: Version, materials: Materials) -> bool:
    """Whether the stored secret opens under the URLs of `materials`."""
    moved = Version(
        pk=version.pk,
        add_url=materials.add_url,
        search_url=materials.search_url,
        add_status_url=materials.add_status_url,
    )
    try:
        open_memory_system_key(version=moved)
    except (SecretUnavailable, ValueError):
        return False
    return True


def _declared(version: Version) -> dict[str, Any]:
    return {"system": version.system.name, "label": version.label} | {
        name: getattr(version, name) for name in VERSION_FIELDS
    }


def _audit(
    access_request: AccessRequest,
    action: str,
    after: dict[str, Any],
    at: datetime,
    before: dict[str, Any] | None = None,
) -> None:
    append_event(
        actor=f"receipt:{access_request.pk}",
        action=action,
        subject=access_request,
        before=before,
        after=after,
        at=at,
    )
