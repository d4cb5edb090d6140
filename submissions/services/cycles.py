"""Changes to a cycle, which organizers make by hand in the admin."""

from datetime import datetime
from typing import Any

from django.db import transaction

from submissions.audit import append_event
from submissions.models import Cycle


@transaction.atomic
def record_cycle_change(
    *, cycle: Cycle, before: dict[str, Any], after: dict[str, Any], actor: str, at: datetime
) -> None:
    """Save `cycle` and write the changed fields into the audit chain."""
    is_new = cycle.pk is None
    cycle.save()
    append_event(
        actor=actor,
        action="cycle.created" if is_new else "cycle.changed",
        subject=cycle,
        before=before,
        after=after,
        at=at,
    )


@transaction.atomic
def record_prize_change(
    *, cycle: Cycle, before: dict[str, Any], after: dict[str, Any], actor: str, at: datetime
) -> None:
    """Write changed prizes into the audit chain; nothing when they are as before."""
    if before != after:
        append_event(actor=actor, action="cycle.prizes_changed", subject=cycle, before=before, after=after, at=at)
