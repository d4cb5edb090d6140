"""Numbers, sizes and durations as text in the reader's language; `submissions.moments` has the dates."""

from datetime import UTC, date, datetime

from django.utils.dateparse import parse_date, parse_datetime
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

NOTHING = "–"
"""Stands where a number is not known."""

_MINUTE, _HOUR, _DAY = 60, 3600, 86400


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
