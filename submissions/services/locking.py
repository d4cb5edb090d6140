"""Rows as they are now, locked until the transaction ends, and in a state that allows what is asked."""

from collections.abc import Collection

from django.utils.translation import gettext as _

from submissions.models import AccessRequest, LeaderboardKey, Version
from submissions.refusals import Refusal


def locked_request(access_request: AccessRequest, allowed: Collection[str]) -> AccessRequest:
    """The request, locked. Raises Refusal `state_changed` unless its state is one of `allowed`."""
    rows = AccessRequest.objects.select_for_update(of=("self",)).select_related("cycle", "team", "existing_key")
    current = rows.get(pk=access_request.pk)
    _require(current, allowed)
    return current


def locked_version(version: Version, allowed: Collection[str]) -> Version:
    """The version, locked. Raises Refusal `state_changed` unless its state is one of `allowed`."""
    current = Version.objects.select_for_update(of=("self",)).select_related("system__team").get(pk=version.pk)
    _require(current, allowed)
    return current


def locked_lineage(key: LeaderboardKey) -> list[LeaderboardKey]:
    """Every key of the lineage, the oldest first, locked.

    Two statements: PostgreSQL gives a statement that waited for a lock its old view, without keys made meanwhile.
    """
    rows = LeaderboardKey.objects.filter(lineage=key.lineage).order_by("pk")
    list(rows.select_for_update().values_list("pk"))
    return list(rows)


def letter_names(version: Version) -> dict[str, str]:
    """What every letter about a version names."""
    return {"team": version.system.team.name, "system": version.system.name, "version": version.label}


def _require(current: AccessRequest | Version, allowed: Collection[str]) -> None:
    if current.state in allowed:
        return
    labels = dict(type(current).State.choices)
    raise Refusal(
        "state_changed",
        _("Expected one of these states: %(expected)s. It is: %(state)s. Load the page again to see what happened.")
        % {
            "expected": ", ".join(str(label) for state, label in labels.items() if state in allowed),
            "state": labels[current.state],
        },
        details={"state": str(current.state)},
    )
