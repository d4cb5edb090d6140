"""Bars as inline SVG: readable by a screen reader, printable, and without a style or script of their own."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

WIDTH = 320
ROW = 38
TOP = 6


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar. `value` is 0 to 1; `text` is what stands at its end."""

    label: str
    value: float
    text: str


def bar_chart(bars: Sequence[Bar], *, name: str, title: str, description: str) -> SafeString:
    """A chart of horizontal bars from 0 to 1. `name` is unique on its page; put a table with the numbers beside it."""
    height = TOP + ROW * len(bars)
    return format_html(
        '<svg class="chart-bars" viewBox="0 0 {} {}" role="img" aria-labelledby="{}-title {}-desc">'
        '<title id="{}-title">{}</title><desc id="{}-desc">{}</desc>{}{}</svg>',
        *(WIDTH, height, name, name, name, title, name, description),
        _grid(height),
        format_html_join("", "{}", ((_row(bar, TOP + ROW * index),) for index, bar in enumerate(bars))),
    )


def _grid(height: int) -> SafeString:
    """Lines at each quarter."""
    lines = ((WIDTH * quarter // 4, height) for quarter in range(5))
    return format_html_join("", '<path class="chart-axis" d="M{} 0V{}"/>', lines)


def _row(bar: Bar, top: int) -> SafeString:
    return format_html(
        '<text x="0" y="{y}" font-size="13">{label}</text>'
        '<text x="{width}" y="{y}" font-size="13" text-anchor="end">{text}</text>'
        '<rect class="chart-rest" x="0" y="{bar}" width="{width}" height="6"/>'
        '<rect class="chart-mark" x="0" y="{bar}" width="{length}" height="6"/>',
        y=top + 14,
        bar=top + 22,
        width=WIDTH,
        length=f"{WIDTH * min(max(bar.value, 0.0), 1.0):.1f}",
        label=bar.label,
        text=bar.text,
    )
