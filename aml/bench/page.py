"""The report as one page that needs nothing else: no script, no font, no picture from anywhere, light and dark."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from aml.bench.report import Figure, Report, Section, facts_of, figures_of, sections_of
from aml.figures import count_text
from aml.speech import gettext as _

__all__ = ["as_html", "facts_table", "page"]

WIDTH, HEIGHT = 240, 12

STYLE = """
:root { color-scheme: light dark;
  --paper: light-dark(oklch(0.992 0.002 240), oklch(0.185 0.012 250));
  --ink: light-dark(oklch(0.23 0.02 250), oklch(0.93 0.008 240));
  --quiet: light-dark(oklch(0.45 0.02 250), oklch(0.75 0.012 240));
  --rule: light-dark(oklch(0.885 0.006 240), oklch(0.32 0.014 250));
  --mark: light-dark(oklch(0.55 0.15 258), oklch(0.7 0.13 255)); }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 60rem; padding: 2rem 1.25rem 4rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.55 system-ui, "Noto Sans CJK SC", "PingFang SC", "Microsoft YaHei", sans-serif; }
:lang(zh) body, body:lang(zh) { line-height: 1.7; }
h1 { font-size: 1.75rem; line-height: 1.25; margin: 0 0 0.25rem; }
h2 { font-size: 1.0625rem; margin: 2.25rem 0 0.5rem; }
p { margin: 0; color: var(--quiet); overflow-wrap: anywhere; }
strong { color: var(--ink); font-size: 2.375rem; line-height: 1.2; font-variant-numeric: tabular-nums; }
table { border-collapse: collapse; width: 100%; }
th, td { border-top: 1px solid var(--rule); padding: 0.5rem 0.75rem 0.5rem 0; text-align: start; vertical-align: middle;
  font-weight: normal; overflow-wrap: anywhere; }
thead th { border-top: 0; color: var(--quiet); font-size: 0.8125rem; }
.number { text-align: end; font-variant-numeric: tabular-nums; white-space: nowrap; width: 6.5rem;
  padding-inline-end: 0; }
.bar { width: 42%; }
svg { display: block; width: 100%; height: 0.75rem; }
.rest { fill: var(--rule); }
.mark { fill: var(--mark); }
@media (max-width: 36rem) { .bar { width: 26%; } .number { width: 4.5rem; } }
@media print { :root { color-scheme: light; } section { break-inside: avoid; } }
"""


def as_html(report: Report, language: str) -> str:
    """Return the page in the language that is spoken; `language` is en or zh."""
    overall = sections_of(report)[0].figures[0]
    head = (
        f"<p>{escape(str(report.manifest['server']['add']).removesuffix('/add'))}</p>\n"
        f"<p><strong>{overall.text}</strong> {escape(overall.title)}, n = {count_text(overall.n)}</p>"
    )
    parts = [
        *(_section(section) for section in sections_of(report)),
        facts_table(_("What came back"), figures_of(report)),
        facts_table(_("This run"), facts_of(report)),
    ]
    return page(report.title(language), language, head, parts)


def page(title: str, language: str, head: str, parts: Sequence[str]) -> str:
    """A whole page; `head` goes below its title, `head` and `parts` are HTML already."""
    title = escape(title)
    lines = [
        "<!doctype html>",
        f'<html lang="{"zh-Hans" if language == "zh" else "en"}"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{title}</title><style>{STYLE}</style></head><body>",
        f"<header><h1>{title}</h1>",
        f"{head}</header><main>",
        *parts,
        "</main></body></html>",
    ]
    return "\n".join(lines) + "\n"


def _section(section: Section) -> str:
    has_n = any(figure.n is not None for figure in section.figures)
    heads = f'<th></th><th class="bar"></th><th class="number">{_("Score") if has_n else _("Value")}</th>'
    heads += '<th class="number">n</th>' if has_n else ""
    rows = "\n".join(_row(figure, has_n=has_n) for figure in section.figures)
    return (
        f"<section><h2>{escape(section.title)}</h2><table><thead><tr>{heads}</tr></thead>"
        f"<tbody>\n{rows}\n</tbody></table></section>"
    )


def _row(figure: Figure, *, has_n: bool) -> str:
    n = f'<td class="number">{count_text(figure.n)}</td>' if has_n else ""
    return (
        f'<tr><th scope="row">{escape(figure.title)}</th><td class="bar">{_bar(figure.share)}</td>'
        f'<td class="number">{figure.text}</td>{n}</tr>'
    )


def _bar(share: float) -> str:
    """A bar from 0 to 1; its number stands beside it, so that a screen reader need not read it."""
    length = WIDTH * min(max(share, 0.0), 1.0)
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" preserveAspectRatio="none" aria-hidden="true">'
        f'<rect class="rest" width="{WIDTH}" height="{HEIGHT}"/>'
        f'<rect class="mark" width="{length:.1f}" height="{HEIGHT}"/></svg>'
    )


def facts_table(title: str, rows: list[tuple[str, str]]) -> str:
    cells = "\n".join(f'<tr><th scope="row">{escape(n)}</th><td>{escape(v)}</td></tr>' for n, v in rows)
    return f"<section><h2>{escape(title)}</h2><table><tbody>\n{cells}\n</tbody></table></section>"
