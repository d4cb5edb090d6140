"""Tags and filters that every template has without loading them: the parts of the look, and figures as text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from typing import Any

from django import template
from django.conf import settings
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.utils.html import escape, format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _

from aml import figures, nav
from aml.icons import ICONS, SHAPES, STATE_KINDS
from submissions import moments

register = template.Library()


def _figure(name: str, text_of: Callable[[float | None], str]) -> None:
    """Make a filter of `text_of`; what a template does not find, an empty string, counts as not known."""

    def shown(value: float | str | None) -> str:
        return text_of(None if isinstance(value, str) else value)

    register.filter(name, shown)


_figure("count", figures.count_text)
_figure("percent", figures.percent_text)
_figure("milliseconds", figures.milliseconds_text)
_figure("bytes", figures.bytes_text)
_figure("duration", figures.duration_text)
_figure("span", figures.span_text)


@register.filter
def score(value: float | str | None, digits: int = 2) -> str:
    """A score of 0 to 1 as points of 100."""
    return figures.score_text(None if isinstance(value, str) else value, digits)


@register.filter
def unbroken(text: object) -> SafeString:
    """Keeps words with a hyphen in one piece where a line ends."""
    words = str(text).split(" ")
    pieces = [format_html('<span class="nowrap">{}</span>', word) if "-" in word else escape(word) for word in words]
    return mark_safe(" ".join(pieces))  # noqa: S308 - each piece is escaped


@register.filter
def moment(value: object) -> str:
    """A `<time>` with the moment in the board's zone; scripts add the reader's own."""
    read = figures.read_moment(value)
    if not isinstance(read, datetime):
        return day(value)
    stamp = read.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return format_html('<time datetime="{}" data-moment>{}</time>', stamp, moments.moment_text(read))


@register.filter
def day(value: object) -> str:
    """A `<time>` with the day alone."""
    read = figures.read_moment(value)
    if read is None:
        return figures.NOTHING
    local = read.astimezone(moments.board_zone()).date() if isinstance(read, datetime) else read
    return format_html('<time datetime="{}">{}</time>', local.isoformat(), moments.day_text(local))


@register.filter
def part_of_month(value: date | None, part: str) -> str:
    """A day that is meant loosely, such as `mid-November 2026`."""
    return moments.part_of_month_text(value, part) if value else figures.NOTHING


@register.filter
def short_digest(value: str) -> str:
    """The first twelve characters of a digest, the whole in its title."""
    return format_html('<span class="digest" title="{}">{}</span>', value, value[:12]) if value else figures.NOTHING


@register.simple_tag
def icon(name: str) -> SafeString:
    """A drawing without a name of its own: put it beside a word."""
    drawing = '<svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false"><path d="{}"/></svg>'
    return format_html(drawing, ICONS[name])


@register.simple_tag
def status(state: str, word: object = "", kind: str = "") -> SafeString:
    """A status chip: a shape for the kind of `state`, and the word for it."""
    chosen = kind or STATE_KINDS.get(str(state), "neutral")
    shape = mark_safe(SHAPES[chosen])  # noqa: S308  our own drawings
    chip = (
        '<span class="status status-{}"><svg viewBox="0 0 14 14" aria-hidden="true" focusable="false">{}</svg>{}</span>'
    )
    return format_html(chip, chosen, shape, word or state)


@register.simple_tag
def bar(value: float | None, low: float | None = None, high: float | None = None) -> SafeString:
    """A thin bar for a value of 0 to 1, with a whisker from `low` to `high` where an interval is known."""
    if value is None:
        return SafeString()
    frame = (
        '<svg class="bar" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true" focusable="false">'
        '<rect class="bar-track" width="100" height="6"/><rect class="bar-fill" width="{}" height="6"/>{}</svg>'
    )
    return format_html(frame, _along(value), _whisker(low, high))


def _whisker(low: float | None, high: float | None) -> SafeString:
    if low is None or high is None:
        return SafeString()
    start, end = _along(low), _along(high)
    return format_html(
        '<path class="bar-whisker" fill="none" d="M{0} 3H{1}M{0} 0V6M{1} 0V6"/>',
        start,
        end,
    )


def _along(value: float) -> str:
    return f"{100 * min(max(value, 0.0), 1.0):.2f}".rstrip("0").rstrip(".")


@register.inclusion_tag("components/score.html")
def score_cell(value: float | None, low: float | None = None, high: float | None = None) -> dict[str, Any]:
    """A score's number with its bar; values are of 0 to 1."""
    return {"value": value, "low": low, "high": high}


@register.inclusion_tag("components/rank.html")
def rank_cell(first: int, last: int | None = None, shared: bool = False) -> dict[str, Any]:
    """A rank; from `first` to `last` where the order is not settled; `shared` by entries with the same score."""
    return {"first": first, "last": last if last != first else None, "shared": shared}


@register.inclusion_tag("components/code.html")
def code_sample(text: str, *, name: str, label: str = "", language: str = "") -> dict[str, Any]:
    """A sample with a copy button; `name` is unique on the page."""
    return {"text": text.strip("\n"), "name": name, "label": label, "language": language}


@register.inclusion_tag("components/code_tabs.html")
def code_tabs(samples: Sequence[dict[str, str]], *, name: str, label: str) -> dict[str, Any]:
    """The same sample in up to four languages: `samples` are dicts of language, title, text."""
    return {"samples": samples, "name": name, "label": label}


@register.simple_block_tag
def callout(content: str, *, title: str = "", kind: str = "info") -> str:
    """A remark beside the text; `kind` is info, good, warn or bad."""
    icons = {"info": "info", "good": "check", "warn": "warning", "bad": "cross"}
    values = {"content": content, "title": title, "kind": kind, "icon_name": icons[kind]}
    return render_to_string("components/callout.html", values)


@register.simple_block_tag
def disclosure(content: str, *, summary: str, open: bool = False, id: str = "") -> str:
    """Details that open on demand."""
    values = {"content": content, "summary": summary, "open": open, "id": id}
    return render_to_string("components/disclosure.html", values)


@register.simple_block_tag
def data_table(content: str, *, label: str) -> str:
    """Frames a `<table class="table">`: it scrolls inside itself and can be reached by keyboard."""
    return render_to_string("components/data_table.html", {"content": content, "label": label})


@register.simple_block_tag
def chart_figure(content: str, *, title: str, track: str = "") -> str:
    """Frames an inline SVG and the table with the same numbers (put both inside)."""
    return render_to_string("components/figure.html", {"content": content, "title": title, "track": track})


@register.filter
def in_language(request: HttpRequest, code: str) -> str:
    """The address of the same page, query included, in another language."""
    head, _slash, rest = request.get_full_path().lstrip("/").partition("/")
    known = {code for code, _name in settings.LANGUAGES}
    if head.partition("?")[0] not in known:
        return f"/{code}/"
    query = head.partition("?")[1] + head.partition("?")[2]
    return f"/{code}/{rest}{query}"


@register.filter
def absolute(path: str) -> str:
    """A path with the site's own address before it."""
    return f"{settings.AML_SITE_URL}{path}"


@register.simple_tag
def current(request: HttpRequest | None, prefix: str) -> SafeString:
    """`aria-current` for a link of the nav whose section the reader is in."""
    path = getattr(request, "path", "")
    if path == prefix:
        return mark_safe('aria-current="page"')
    return mark_safe('aria-current="true"') if prefix.count("/") > 2 and path.startswith(prefix) else SafeString()


@register.simple_tag
def theme_choices() -> list[tuple[str, str]]:
    """What the theme can be, and the words for it."""
    return [("auto", _("Auto")), ("light", _("Light")), ("dark", _("Dark"))]


@register.simple_tag
def site_links(place: str) -> list[dict[str, str]]:
    """The links of the head (`nav`) or the foot (`foot`) of the site."""
    return nav.links(place)
