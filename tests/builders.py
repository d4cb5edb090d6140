"""Participants' objects for tests, made by the portal's own services."""

from datetime import datetime, timedelta
from itertools import count
from typing import Any

from django.utils import timezone

from submissions.keys import make_key as make_key_text
from submissions.materials import Materials
from submissions.models import AccessRequest, Cycle, LeaderboardKey, Version
from submissions.services import approve_access_request, claim_key, new_receipt, submit_access_request

ORGANIZER = "organizer:olga"
SECRET = "memory-system-secret-1"
_numbers = count(1)


def make_cycle(*, at: datetime | None = None, **fields: Any) -> Cycle:
    """An open cycle: opened yesterday, materials close in 10 days, evaluation in 20."""
    at = at or timezone.now()
    number = fields.pop("number", 1000 + next(_numbers))
    values = {
        "slug": f"cycle-{number}",
        "name_en": f"Cycle {number}",
        "name_zh_hans": f"第 {number} 期",
        "state": Cycle.State.OPEN,
        "opens_at": at - timedelta(days=1),
        "materials_close_at": at + timedelta(days=10),
        "evaluation_closes_at": at + timedelta(days=20),
        "tracks": ["textual", "multimodal", "coding"],
    }
    return Cycle.objects.create(number=number, **{**values, **fields})


def make_materials(**changes: Any) -> Materials:
    """Complete materials of a commercial product with a bearer key over https."""
    n = next(_numbers)
    values: dict[str, Any] = {
        "contact_name": "Ming Li",
        "contact_email": "ming@memory.example.com",
        "team": f"Team {n}",
        "system": f"System {n}",
        "version": "1.0",
        "division": "commercial",
        "tracks": ("textual",),
        "add_url": "https://memory.example.com/add",
        "search_url": "https://memory.example.com/search",
        "health_url": "https://memory.example.com/health",
        "auth_scheme": "bearer",
        "memory_system_key": SECRET,
        "method_description": "Stores turns and finds them again.",
        "public_description": "A store of turns.",
        "run_notes": "No warm-up.",
        "stays_reachable": True,
    }
    return Materials(**{**values, **changes})


def open_source_fields() -> dict[str, Any]:
    """What an open-source method adds to `make_materials`."""
    return {
        "division": "open_source",
        "repository": "https://github.com/team/memory",
        "commit": "0123456789abcdef0123456789abcdef01234567",
        "original_authors": "A. Author",
        "technical_report": "https://arxiv.org/abs/2402.17753",
        "method_changes": "none",
        "models_used": "none",
    }


def make_request(
    *,
    cycle: Cycle | None = None,
    at: datetime | None = None,
    receipt: str | None = None,
    existing_key: LeaderboardKey | None = None,
    as_draft: bool = False,
    language: str = "en",
    **changes: Any,
) -> AccessRequest:
    """A request sent with `make_materials(**changes)`."""
    at = at or timezone.now()
    return submit_access_request(
        cycle=cycle or make_cycle(at=at),
        materials=make_materials(**changes),
        receipt=receipt or new_receipt(),
        language=language,
        existing_key=existing_key,
        as_draft=as_draft,
        at=at,
    )


def make_version(*, cycle: Cycle | None = None, at: datetime | None = None, **changes: Any) -> Version:
    """An approved version, not yet bound to a key."""
    at = at or timezone.now()
    access_request = make_request(cycle=cycle, at=at, **changes)
    return approve_access_request(access_request=access_request, actor=ORGANIZER, reason="All is there.", at=at).version


def make_key(
    *, version: Version | None = None, cycle: Cycle | None = None, at: datetime | None = None, **fields: Any
) -> tuple[LeaderboardKey, str]:
    """The key of `version` (by default a new one) and its text; `fields` overwrite columns of the key."""
    at = at or timezone.now()
    version = version or make_version(cycle=cycle, at=at)
    access_request = AccessRequest.objects.get(version=version)
    text = claim_key(access_request=access_request, at=at)
    key = LeaderboardKey.objects.select_related("team", "cycle").get(claim__access_request=access_request)
    if fields:
        LeaderboardKey.objects.filter(pk=key.pk).update(**fields)
        key.refresh_from_db()
    return key, text


def key_nobody_has() -> str:
    """A well-formed key that was never issued."""
    return make_key_text().text
