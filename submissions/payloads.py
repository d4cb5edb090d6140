"""What the API tells about requests, versions and keys; secrets are told by fingerprint and date only."""

from typing import Any

from submissions.models import AccessRequest, KeyClaim, LeaderboardKey, MemorySystemKey, Version

_SHOWN = (
    "tracks",
    "add_url",
    "search_url",
    "health_url",
    "add_status_url",
    "auth_scheme",
    "add_concurrency",
    "search_concurrency",
)


def version_payload(version: Version) -> dict[str, Any]:
    return {
        "id": str(version.pk),
        "system": version.system.name,
        "version": version.label,
        "division": version.system.division,
        "state": version.state,
        "state_reason": version.state_reason,
        **{name: getattr(version, name) for name in _SHOWN},
        "endpoint_changed_at": version.endpoint_changed_at,
        "memory_system_key": secret_payload(version),
    }


def secret_payload(version: Version) -> dict[str, Any]:
    """The secret's facts; a list selects `memory_system_key` with its versions."""
    stored: MemorySystemKey | None = getattr(version, "memory_system_key", None)
    return {
        "configured": stored is not None,
        "fingerprint": stored.fingerprint if stored else "",
        "set_at": stored.set_at if stored else None,
    }


def request_payload(access_request: AccessRequest) -> dict[str, Any]:
    return {
        "id": str(access_request.pk),
        "state": access_request.state,
        "cycle": access_request.cycle.slug,
        "note_to_team": access_request.note_to_team,
        "submitted_at": access_request.submitted_at,
        "decided_at": access_request.decided_at,
        "key_waits": KeyClaim.objects.filter(access_request=access_request, claimed_at=None).exists(),
        "version": version_payload(access_request.version),
    }


def key_payload(key: LeaderboardKey) -> dict[str, Any]:
    return {
        "public_id": key.public_id,
        "team": key.team.name,
        "cycle": key.cycle.slug,
        "scopes": key.scopes,
        "expires_at": key.expires_at,
        "last_used_at": key.last_used_at,
    }
