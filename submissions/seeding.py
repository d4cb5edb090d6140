"""The public cycles so far, as data. What nobody has published stays null."""

from datetime import date, datetime, timedelta, timezone
from typing import Any

from django.db import transaction

from submissions.audit import append_event
from submissions.models import Cycle, Prize, Track

CHINA = timezone(timedelta(hours=8))
TRACKS = [Track.TEXTUAL.value, Track.MULTIMODAL.value, Track.CODING.value]

CYCLES: tuple[dict[str, Any], ...] = (
    {
        "number": 1,
        "slug": "cycle-1",
        "name_en": "Cycle 1",
        "name_zh_hans": "第一期",
        "state": Cycle.State.PUBLISHED,
        "board_on": date(2026, 8, 12),
        "board_date_kind": Cycle.BoardDate.EXACT,
        "tracks": TRACKS,
    },
    {
        "number": 2,
        "slug": "cycle-2",
        "name_en": "Cycle 2 Agent Memory Challenge",
        "name_zh_hans": "第二期 Agent 记忆挑战赛",
        "state": Cycle.State.CLOSED,
        "opens_at": datetime(2026, 9, 20, 0, 0, tzinfo=CHINA),
        "materials_close_at": datetime(2026, 10, 31, 23, 59, tzinfo=CHINA),
        "evaluation_closes_at": datetime(2026, 11, 4, 23, 59, tzinfo=CHINA),
        "board_on": date(2026, 11, 15),
        "board_date_kind": Cycle.BoardDate.MIDDLE,
        "tracks": TRACKS,
    },
)

PRIZES: dict[int, tuple[tuple[Prize.Kind, int, int], ...]] = {
    2: (
        (Prize.Kind.FIRST, 1, 20_000),
        (Prize.Kind.SECOND, 2, 8_000),
        (Prize.Kind.THIRD, 3, 3_000),
        (Prize.Kind.INNOVATION, 1, 5_000),
    )
}
"""By number of the cycle: kind, winners in each track, renminbi yuan for each winner."""


@transaction.atomic
def seed_cycles() -> int:
    """Make the cycles and prizes that are missing and return how many were; what organizers changed stays."""
    made = 0
    for facts in CYCLES:
        cycle, is_new = Cycle.objects.get_or_create(number=facts["number"], defaults=facts)
        made += is_new
        if is_new:
            append_event(actor="platform", action="cycle.created", subject=cycle, after={"slug": cycle.slug})
        for kind, winners, amount in PRIZES.get(cycle.number, ()):
            defaults = {"winners_per_track": winners, "amount_cny": amount}
            made += Prize.objects.get_or_create(cycle=cycle, kind=kind, defaults=defaults)[1]
    return made
