"""Numbers, sizes, durations and moments as text in the reader's language. Every page formats with these."""

from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

from django.conf import settings
from django.utils.dateparse import parse_date, parse_datetime
from django.utils.translation import gettext as _
from django.utils.translation import ngettext, pgettext_lazy

NOTHING = "–"
"""Stands where a number is not known."""

_MINUTE, _HOUR, _DAY = 60, 3600, 86400

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


def score_text(value: float | None, digits: int = 2) -> str:
    """A score of 0 to 1 as points of 100: 0.6142 reads `61.42`."""
    return NOTHING if value is None else f"{100 * value:.{digits}f}"


def count_text(value: float | None) -> str:
    """A whole number with separators: 1986 reads `1,986`."""
    return NOTHING if value is None else f"{value:,.0f}"


def percent_text(value: float | None) -> str:
    """A share of 0 to 1: 0.985 reads `98.5%`; only a whole is `100%`."""
    if value is None:
        return NOTHING
    if value in (0, 1):
        return f"{value:.0%}"
    return f"{min(max(value, 0.001), 0.999):.1%}"


def milliseconds_text(value: float | None) -> str:
    """A duration in milliseconds with its unit: `0.8 ms`, `182 ms`, `2.41 s`."""
    if value is None:
        return NOTHING
    if value < 10:
        return f"{value:.1f} ms"
    return f"{value:.0f} ms" if value < 1000 else f"{value / 1000:.2f} s"


def bytes_text(value: float | None) -> str:
    """A size in bytes with a binary unit: `512 B`, `1.4 KiB`, `10 MiB`."""
    if value is None:
        return NOTHING
    for unit in ("B", "KiB", "MiB"):
        if value < 1024:
            return f"{value:.0f} {unit}" if unit == "B" or value >= 100 or value % 1 == 0 else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.1f} GiB"


def duration_text(seconds: float | None) -> str:
    """A duration in at most two units, rounded down: `2 d 3 h`, `4 min 10 s`, `8 s`."""
    if seconds is None:
        return NOTHING
    whole = max(0, int(seconds))
    if whole < _MINUTE:
        return _("%(seconds)d s") % {"seconds": whole}
    if whole < _HOUR:
        return _("%(minutes)d min %(seconds)d s") % {"minutes": whole // _MINUTE, "seconds": whole % _MINUTE}
    if whole < _DAY:
        return _("%(hours)d h %(minutes)d min") % {"hours": whole // _HOUR, "minutes": whole % _HOUR // _MINUTE}
    return _("%(days)d d %(hours)d h") % {"days": whole // _DAY, "hours": whole % _DAY // _HOUR}


def span_text(seconds: float | None) -> str:
    """A span for a sentence, in its largest unit: `12 days`, `3 hours`."""
    if seconds is None:
        return NOTHING
    whole = max(0, int(seconds))
    if whole >= _DAY:
        days = whole // _DAY
        return ngettext("%(days)d day", "%(days)d days", days) % {"days": days}
    if whole >= _HOUR:
        hours = whole // _HOUR
        return ngettext("%(hours)d hour", "%(hours)d hours", hours) % {"hours": hours}
    minutes = whole // _MINUTE
    return ngettext("%(minutes)d minute", "%(minutes)d minutes", minutes) % {"minutes": minutes}


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


def read_moment(value: object) -> datetime | date | None:
    """A moment or a day from what a template holds: one of these, or ISO 8601 text from a JSON document."""
    if isinstance(value, date):
        return value
    if isinstance(value, str):
        return parse_date(value) if len(value) == len("2026-10-31") else _aware(parse_datetime(value))
    return None


def _aware(moment: datetime | None) -> datetime | None:
    """A moment without a zone is meant in UTC."""
    return moment.replace(tzinfo=UTC) if moment and moment.tzinfo is None else moment


def board_zone() -> ZoneInfo:
    return ZoneInfo(settings.AML_BOARD_TIME_ZONE)


def _zone_name(local: datetime) -> str:
    offset = local.utcoffset()
    minutes = int(offset.total_seconds() // 60) if offset else 0
    hours, rest = divmod(abs(minutes), 60)
    sign = "+" if minutes >= 0 else "-"
    return f"UTC{sign}{hours}" + (f":{rest:02d}" if rest else "") if minutes else "UTC"


def _parts(day: date) -> dict[str, object]:
    return {"day": day.day, "month": _MONTHS[day.month - 1], "year": day.year}
