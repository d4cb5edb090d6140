"""What the site's own pages read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from submissions.models import Cycle, Prize, Track
from submissions.moments import end_of_loose_day, moment_text, part_of_month_text


@dataclass(frozen=True, slots=True)
class CycleDate:
    """A date of a cycle. `text` is the date in the reader's language; `at` the moment from which it is past."""

    title: str | Promise
    text: str
    at: datetime
    is_loose: bool
    is_past: bool
    is_next: bool


def current_cycle(at: datetime) -> Cycle | None:
    """The public cycle that readers want to hear of: an open one first, then the newest."""
    cycles = list(Cycle.objects.public().prefetch_related("prizes").order_by("-number"))
    running = [cycle for cycle in cycles if cycle.takes_materials(at) or cycle.takes_evaluations(at)]
    ahead = [cycle for cycle in cycles if cycle.opens_at and cycle.opens_at > at]
    return next(iter([*running, *reversed(ahead), *cycles]), None)


def cycle_dates(cycle: Cycle, at: datetime) -> list[CycleDate]:
    """The dates of `cycle` that are known, in order; at most one of them is the next."""
    known = [
        (_("Opens"), cycle.opens_at),
        (_("Materials close"), cycle.materials_close_at),
        (_("Evaluation closes"), cycle.evaluation_closes_at),
    ]
    dated = [(title, moment_text(moment), moment, False) for title, moment in known if moment]
    if cycle.board_on:
        loose = cycle.board_date_kind != Cycle.BoardDate.EXACT
        text = part_of_month_text(cycle.board_on, cycle.board_date_kind)
        dated.append((_("Board published"), text, end_of_loose_day(cycle.board_on, cycle.board_date_kind), loose))
    following = next((index for index, (*_rest, moment, _loose) in enumerate(dated) if moment > at), None)
    return [
        CycleDate(title, text, moment, loose, is_past=moment <= at, is_next=index == following)
        for index, (title, text, moment, loose) in enumerate(dated)
    ]


def next_date(dates: Sequence[CycleDate]) -> CycleDate | None:
    """The next of `dates`; None when all have passed."""
    return next((entry for entry in dates if entry.is_next), None)


def track_choices(cycle: Cycle | None) -> list[Track]:
    """The tracks of `cycle` in the order of the site; without a cycle the three that speak the contract."""
    taken = cycle.tracks if cycle else [Track.TEXTUAL, Track.MULTIMODAL, Track.CODING]
    return [track for track in Track if track in taken]


def prizes_in_order(cycle: Cycle) -> list[Prize]:
    """The prizes of `cycle`, from the first to the special one."""
    order = list(Prize.Kind)
    return sorted(cycle.prizes.all(), key=lambda prize: order.index(Prize.Kind(prize.kind)))


def prize_total(prizes: Sequence[Prize]) -> int:
    """What one track gives away, in yuan."""
    return sum(prize.winners_per_track * prize.amount_cny for prize in prizes)
