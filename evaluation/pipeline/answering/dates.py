"""Dates in a sentence, worked out from the day on which it was said; English and Chinese."""

import re
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final

__all__ = ["Moment", "find_moment", "without_dates"]

_MONTHS: Final = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
_DAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_NUMBERS: Final = {
    "a": 1, "an": 1, "one": 1, "two": 2, "couple": 2, "three": 3, "few": 3, "four": 4, "five": 5, "six": 6, "seven": 7,
    "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12,
    "一": 1, "两": 2, "二": 2, "三": 3, "四": 4, "五": 5, "六": 6, "七": 7, "八": 8, "九": 9, "十": 10,
}  # fmt: skip
_COUNT: Final = r"(\d{1,3}|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)"
_MONTH: Final = "|".join(_MONTHS)
_DAY: Final = "|".join(_DAYS)
_UNIT: Final = "weekend|week|month|year|summer|winter|spring|fall"
_ZH_COUNT: Final = r"(\d{1,3}|[一二两三四五六七八九十]{1,3})"
_ZH_WEEKDAYS: Final = "一二三四五六日"
_WRITTEN: Final = re.compile(
    rf"\b(?:on |in )?(?:\d{{1,2}}(?:st|nd|rd|th)? )?(?:{_MONTH})\b(?: \d{{1,2}}(?:st|nd|rd|th)?\b)?(?:,? \d{{4}})?"
    r"|\b(?:19|20)\d{2}\b|(?:\d{4}年)?\d{1,2}月(?:\d{1,2}[日号])?|\d{4}年"
)


@dataclass(frozen=True, slots=True)
class Moment:
    """A point in time to a `grain` of day, week, month or year; `day` is a day within it."""

    day: date
    grain: str

    def holds(self, day: date) -> bool:
        """Tell whether `day` is in this day, week, month or year."""
        if self.grain == "year":
            return day.year == self.day.year
        if self.grain == "month":
            return (day.year, day.month) == (self.day.year, self.day.month)
        return abs((day - self.day).days) <= (6 if self.grain == "week" else 1)

    def text(self, *, chinese: bool) -> str:
        """Return the date as people write it: `7 May 2023` or `2023年5月7日`."""
        year, month, day = self.day.year, self.day.month, self.day.day
        if self.grain == "year":
            return f"{year}年" if chinese else str(year)
        if self.grain == "month":
            return f"{year}年{month}月" if chinese else f"{_MONTHS[month - 1]} {year}"
        full = f"{year}年{month}月{day}日" if chinese else f"{day} {_MONTHS[month - 1]} {year}"
        if self.grain == "week":
            return f"{full}那一周" if chinese else f"the week of {full}"
        return full


def find_moment(sentence: str, said_on: date | None) -> Moment | None:
    """Return the first point in time that `sentence` names; relative ones count from `said_on`.

    None if it names none, or only a relative one while `said_on` isn't known. The most exact form is looked for
    first: a written date, then a day, a week, a month, a year.
    """
    try:
        return _find(sentence.lower(), said_on)
    except (ValueError, OverflowError):  # a count that leaves the calendar
        return None


def _find(text: str, said_on: date | None) -> Moment | None:
    for find in (_written_date, _written_date_zh):
        moment = find(text, said_on)
        if moment:
            return moment
    if said_on is None:
        return _month_only(text, None) or _year_only(text)
    for relative in (_relative_day, _relative_weekday, _relative_day_zh, _ago, _relative_unit, _relative_unit_zh):
        moment = relative(text, said_on)
        if moment:
            return moment
    return _month_only(text, said_on) or _year_only(text)


def without_dates(text: str) -> str:
    """Return `text` without its written dates, which say when and not what."""
    return _WRITTEN.sub(" ", text)


def _written_date(text: str, said_on: date | None) -> Moment | None:
    match = re.search(rf"\b(\d{{1,2}})(?:st|nd|rd|th)?(?: of)? ({_MONTH})\b(?:,? (\d{{4}}))?", text, re.I)
    day, month, year = (match[1], match[2], match[3]) if match else ("", "", "")
    if not match:
        match = re.search(rf"\b({_MONTH}) (\d{{1,2}})(?:st|nd|rd|th)?\b(?!:)(?:,? (\d{{4}}))?", text, re.I)
        if not match:
            return None
        day, month, year = match[2], match[1], match[3]
    if not year and said_on is None:
        return None
    return _moment(int(year or _year_of(said_on)), _month_number(month), int(day))


def _written_date_zh(text: str, said_on: date | None) -> Moment | None:
    match = re.search(r"(?:(\d{4}|今|去|明)年)?(\d{1,2})月(?:(\d{1,2})[日号])?", text)
    if not match or (not match[1] and said_on is None):
        return None
    year = int(match[1]) if match[1] and match[1].isdigit() else _year_of(said_on) + _shift_zh(match[1])
    if match[3]:
        return _moment(year, int(match[2]), int(match[3]))
    return _moment(year, int(match[2]), 1, "month")


def _relative_day(text: str, said_on: date) -> Moment | None:
    for pattern, days in (
        (r"\bday before yesterday\b", -2),
        (r"\byesterday\b|\blast night\b", -1),
        (r"\bday after tomorrow\b", 2),
        (r"\btomorrow\b", 1),
        (r"\btoday\b|\btonight\b|\bthis (?:morning|afternoon|evening)\b|\bearlier today\b", 0),
    ):
        if re.search(pattern, text):
            return Moment(said_on + timedelta(days=days), "day")
    return None


def _relative_weekday(text: str, said_on: date) -> Moment | None:
    match = re.search(rf"\b(last|this past|past|next|this|coming|on)\s+({_DAY})\b", text)
    if not match:
        return None
    wanted = _DAYS.index(match[2])
    if match[1] in {"next", "this", "coming"}:
        ahead = (wanted - said_on.weekday()) % 7 or 7
        return Moment(said_on + timedelta(days=ahead), "day")
    back = (said_on.weekday() - wanted) % 7 or 7
    return Moment(said_on - timedelta(days=back), "day")


def _ago(text: str, said_on: date) -> Moment | None:
    match = re.search(rf"\b{_COUNT} (?:or so )?(day|week|month|year)s? (?:ago|back|earlier)\b", text) or re.search(
        r"\b(couple|few)(?: of)? (day|week|month|year)s (?:ago|back)\b", text
    )
    if match:
        return _shifted(said_on, match[2], -_number(match[1]))
    match = re.search(rf"(半|{_ZH_COUNT})个?(天|周|星期|礼拜|月|年)(?:之|以)?前", text)
    if match:
        unit = {"天": "day", "月": "month", "年": "year"}.get(match[3], "week")
        if match[1] == "半":
            return _shifted(said_on, "month", -6) if unit == "year" else None
        return _shifted(said_on, unit, -_number(match[2]))
    return None


def _relative_unit(text: str, said_on: date) -> Moment | None:
    match = re.search(
        r"\b(last|past|previous|next|this|coming)\s+(weekend|week|month|year|summer|winter|spring|fall)\b", text
    )
    if not match:
        return None
    step = {"next": 1, "coming": 1, "this": 0}.get(match[1], -1)
    if match[2] == "weekend":
        return Moment(_weekend(said_on, step), "day" if step else "week")
    if match[2] in {"summer", "winter", "spring", "fall"}:
        return Moment(date(said_on.year + step, 7, 1), "year")
    return _shifted(said_on, match[2], step)


def _relative_day_zh(text: str, said_on: date) -> Moment | None:
    for pattern, days in (
        ("大前天", -3),
        ("前天|前晚", -2),
        ("昨天|昨晚|昨儿|昨日", -1),
        ("大后天", 3),
        ("后天", 2),
        ("明天|明早|明晚|明儿", 1),
    ):
        if re.search(pattern, text):
            return Moment(said_on + timedelta(days=days), "day")
    match = re.search(r"(上上|上|这|本|下下|下)个?(?:周|星期|礼拜)([一二三四五六日天末])", text)
    if match:
        weeks = {"上上": -2, "上": -1, "下": 1, "下下": 2}.get(match[1], 0)
        weekday = 5 if match[2] == "末" else _ZH_WEEKDAYS.index(match[2].replace("天", "日"))
        return Moment(said_on - timedelta(days=said_on.weekday()) + timedelta(days=weekday, weeks=weeks), "day")
    if re.search("今天|今早|今晚|今儿|刚才|早上刚", text):
        return Moment(said_on, "day")
    return None


def _relative_unit_zh(text: str, said_on: date) -> Moment | None:
    match = re.search(r"(上|下|这|本)(?:个)?(周|星期|礼拜|月)", text)
    if match:
        step = {"上": -1, "下": 1}.get(match[1], 0)
        return _shifted(said_on, "month" if match[2] == "月" else "week", step)
    match = re.search("(前|去|今|明|后)年", text)
    if match:
        return _shifted(said_on, "year", {"前": -2, "去": -1, "今": 0, "明": 1, "后": 2}[match[1]])
    return None


def _month_only(text: str, said_on: date | None) -> Moment | None:
    match = re.search(
        rf"\b(last |next |in |this |since |until |by )(?:early |late |mid-?)?({_MONTH})\b(?:,? (\d{{4}}))?", text, re.I
    )
    if not match:
        return None
    month = _month_number(match[2])
    if not match[3] and said_on is None:
        return None
    year = int(match[3] or _year_of(said_on))
    if not match[3] and said_on:
        passed, coming = month >= said_on.month, month <= said_on.month
        year += (match[1] == "next " and coming) - (match[1] == "last " and passed)
    return Moment(date(year, month, 1), "month")


def _year_only(text: str) -> Moment | None:
    match = re.search(r"(?<!\d)((?:19|20)\d{2})(?!\d)", text)
    return Moment(date(int(match[1]), 1, 1), "year") if match else None


def _shifted(day: date, unit: str, count: int) -> Moment | None:
    if unit == "day":
        return Moment(day + timedelta(days=count), "day")
    if unit == "week":
        return Moment(day + timedelta(weeks=count), "week")
    if unit == "month":
        months = day.year * 12 + day.month - 1 + count
        return Moment(date(months // 12, months % 12 + 1, 1), "month")
    return Moment(date(day.year + count, 1, 1), "year")


def _weekend(day: date, step: int) -> date:
    """Return the Saturday of the last, this or the next weekend."""
    back = (day.weekday() - 5) % 7
    if step < 0:
        return day - timedelta(days=back or 7)
    return day + timedelta(days=(7 - back) % 7 + (7 if step and back == 0 else 0))


def _moment(year: int, month: int, day: int, grain: str = "day") -> Moment | None:
    try:
        return Moment(date(year, month, day), grain)
    except ValueError:
        return None


def _number(text: str) -> int:
    if text.isdigit():
        return int(text)
    if text in _NUMBERS:
        return _NUMBERS[text]
    tens, _, ones = text.partition("十")
    return _NUMBERS.get(tens, 1) * 10 + _NUMBERS.get(ones, 0)


def _month_number(name: str) -> int:
    return _MONTHS.index(name.capitalize()) + 1


def _year_of(day: date | None) -> int:
    return day.year if day else 1


def _shift_zh(word: str | None) -> int:
    return {"去": -1, "明": 1}.get(word or "", 0)
