"""Dates and moments as text in the reader's language, in the zone of the boards. Every room formats with these."""

from calendar import monthrange
from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from django.conf import settings
from django.utils.translation import gettext as _
from django.utils.translation import pgettext_lazy

LAST_DAYS = {"early": 10, "middle": 20, "late": 31}
"""Up to which day of its month a loosely meant date still lies ahead."""

_MONTHS = (
    pgettext_lazy("month of a date", "January"),
    pgettext_lazy("month of a date", "February"),
    pgettext_lazy("month of a date", "March"),
    pgettext_lazy("month of a date", "April"),
    pgettext_lazy("month of a date", "May"),
    pgettext_lazy("month of a date", "June"),
    pgettext_lazy("month of a date", "July"),
    pgettext_lazy("month of a date", "August"),
    pgettext_lazy("month of a date", "September"),
    pgettext_lazy("month of a date", "October"),
    pgettext_lazy("month of a date", "November"),
    pgettext_lazy("month of a date", "December"),
)


def moment_text(moment: datetime) -> str:
    """A moment in the board's zone with the zone named: `31 October 2026, 23:59 (UTC+8)`."""
    local = moment.astimezone(board_zone())
    values = {**_parts(local.date()), "time": f"{local:%H:%M}", "zone": _zone_name(local)}
    return _("%(day)d %(month)s %(year)d, %(time)s (%(zone)s)") % values


def day_text(day: date) -> str:
    """A day: `31 October 2026`. A moment is read in the board's zone."""
    if isinstance(day, datetime):
        day = day.astimezone(board_zone()).date()
    return _("%(day)d %(month)s %(year)d") % _parts(day)


def part_of_month_text(day: date, part: str) -> str:
    """A day that is meant loosely: `mid-November 2026`; `part` is early, middle or late."""
    values = _parts(day)
    if part == "early":
        return _("early %(month)s %(year)d") % values
    if part == "middle":
        return _("mid-%(month)s %(year)d") % values
    if part == "late":
        return _("late %(month)s %(year)d") % values
    return day_text(day)


def board_zone() -> ZoneInfo:
    return ZoneInfo(settings.AML_BOARD_TIME_ZONE)


def end_of_day(day: date) -> datetime:
    """The last moment of `day` in the zone of the boards."""
    return datetime.combine(day + timedelta(days=1), time.min, tzinfo=board_zone()) - timedelta(microseconds=1)


def end_of_loose_day(day: date, kind: str) -> datetime:
    """The moment from which a day is past, read as loosely as it is meant: `kind` is early, middle, late or exact."""
    if kind in LAST_DAYS:
        length = monthrange(day.year, day.month)[1]
        day = max(day, day.replace(day=min(LAST_DAYS[kind], length)))
    return end_of_day(day)


def _zone_name(local: datetime) -> str:
    offset = local.utcoffset()
    minutes = int(offset.total_seconds() // 60) if offset else 0
    hours, rest = divmod(abs(minutes), 60)
    sign = "+" if minutes >= 0 else "-"
    return f"UTC{sign}{hours}" + (f":{rest:02d}" if rest else "") if minutes else "UTC"


def _parts(day: date) -> dict[str, object]:
    return {"day": day.day, "month": _MONTHS[day.month - 1], "year": day.year}
