"""The organizers' three groups and what each may do; nobody both approves a result and publishes it by one group."""

from collections.abc import Iterator, Mapping

from django.contrib.auth.models import Group, Permission
from django.db import transaction

REVIEWER, OPERATOR, PUBLISHER = "reviewer", "operator", "publisher"

_PARTICIPANTS = ("accessrequest", "leaderboardkey", "version", "system", "team", "cycle", "prize", "auditevent")
_RUNS = ("job", "result", "receipt", "publicationreview", "quotaentry", "quotaaccount", "release")
_BOARDS = ("board", "entry", "snapshot")
_READ_ALL: Mapping[str, tuple[str, ...]] = {
    **{f"submissions.{model}": ("view",) for model in (*_PARTICIPANTS, "outboxmail")},
    **{f"evaluation.{model}": ("view",) for model in _RUNS},
    **{f"leaderboard.{model}": ("view",) for model in _BOARDS},
    "benchmarks.bundle": ("view",),
}

GROUPS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    REVIEWER: {
        **_READ_ALL,
        "submissions.accessrequest": ("view", "change"),
        "submissions.version": ("view", "change"),
        "evaluation.publicationreview": ("view", "change"),
    },
    OPERATOR: {
        **_READ_ALL,
        "submissions.cycle": ("view", "add", "change"),
        "submissions.prize": ("view", "add", "change", "delete"),
        "submissions.team": ("view", "change"),
        "submissions.system": ("view", "change"),
        "submissions.leaderboardkey": ("view", "change"),
        "submissions.outboxmail": ("view", "change"),
        "evaluation.job": ("view", "change"),
        "evaluation.release": ("view", "add", "change"),
        "benchmarks.bundle": ("view", "change"),
    },
    PUBLISHER: {
        **{f"submissions.{model}": ("view",) for model in ("version", "system", "team", "cycle", "auditevent")},
        **{f"evaluation.{model}": ("view",) for model in ("job", "result", "publicationreview", "release")},
        "benchmarks.bundle": ("view",),
        "leaderboard.board": ("view", "add", "change"),
        "leaderboard.entry": ("view", "change"),
        "leaderboard.snapshot": ("view",),
    },
}
"""Group → model → actions. Who changes a row reaches its decisions; nothing is edited past a service."""


@transaction.atomic
def seed_groups() -> list[Group]:
    """Make the groups, or set their permissions back to `GROUPS`; members stay."""
    groups = []
    for name, models in GROUPS.items():
        group, _created = Group.objects.get_or_create(name=name)
        group.permissions.set(_permissions(models))
        groups.append(group)
    return groups


def _permissions(models: Mapping[str, tuple[str, ...]]) -> Iterator[Permission]:
    for label, actions in models.items():
        app, model = label.split(".")
        for action in actions:
            yield Permission.objects.get(
                content_type__app_label=app, content_type__model=model, codename=f"{action}_{model}"
            )
