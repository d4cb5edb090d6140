# translates messages from data
"""A finished run for people and machines: what it came to, in Markdown, JSON and HTML."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aml.figures import count_text, milliseconds_text, percent_text, score_text
from aml.speech import gettext as _
from benchmarks.datasets.model import CAPABILITIES
from benchmarks.datasets.registry import DATASETS
from evaluation.pipeline.files.folder import RESULT, write_whole
from evaluation.pipeline.files.journal import Damaged

__all__ = [
    "Figure",
    "Report",
    "Section",
    "facts_of",
    "figures_of",
    "markdown_text",
    "read_report",
    "sections_of",
    "write_reports",
]


@dataclass(frozen=True, slots=True)
class Report:
    """A run's manifest and its result, as they stand in the folder."""

    manifest: Mapping[str, Any]
    result: Mapping[str, Any]

    def title(self, language: str) -> str:
        """The suite's title with its version; `language` is en or zh."""
        suite = self.manifest["suite"]
        title = suite["title_zh"] if language == "zh" and suite["title_zh"] else suite["title"]
        return f"{title} {suite['version']}".strip()


@dataclass(frozen=True, slots=True)
class Figure:
    """A line of a report: `share` of 0 to 1 is how long its bar is, `n` the number of questions behind it."""

    code: str
    title: str
    text: str
    share: float
    n: int | None = None


@dataclass(frozen=True, slots=True)
class Section:
    title: str
    figures: tuple[Figure, ...]


def read_report(folder: Path, manifest: Mapping[str, Any]) -> Report | None:
    """Return the folder's report; None while the run has no result. Raises Damaged."""
    path = folder / RESULT
    if not path.exists():
        return None
    try:
        result = json.loads(path.read_bytes())
        result["digest"], result["overall"]
    except (ValueError, KeyError, TypeError):
        raise Damaged(RESULT) from None
    return Report(manifest, result)


def sections_of(report: Report) -> list[Section]:
    """The scores and figures of a report in the language that is spoken."""
    result = report.result
    overall = _part("overall", _("Overall"), {"score": result["overall"], "n": result["n"]})
    answerable = _part("answerable", _("Answerable questions"), result["answerable"])
    categories = DATASETS[report.manifest["suite"]["dataset"]].categories
    return [
        Section(_("Overall"), (overall, answerable)),
        Section(
            _("Categories"),
            tuple(_part(c, _(categories.get(c, c)), part) for c, part in result["categories"].items()),
        ),
        Section(
            _("Capabilities"),
            tuple(
                _part(c, f"{c} · {_(CAPABILITIES[c])}" if c in CAPABILITIES else c, part)
                for c, part in result["capabilities"].items()
            ),
        ),
        Section(_("Latency on the wire"), _latencies(result["efficiency"])),
    ]


def figures_of(report: Report) -> list[tuple[str, str]]:
    """What has no bar: coverage and what the Searches returned."""
    result, efficiency = report.result, report.result["efficiency"]
    return [
        (_("Coverage"), percent_text(result["coverage"])),
        (_("Characters returned, median"), count_text(efficiency.get("characters_p50"))),
        (_("Characters returned, mean"), count_text(efficiency.get("characters_mean"))),
        (_("Memories returned, mean"), f"{efficiency.get('memories_mean', 0):.1f}"),
        (_("Retries"), count_text(sum(result["retries"].values()))),
    ]


def facts_of(report: Report) -> list[tuple[str, str]]:
    """What the run rests on."""
    manifest, result = report.manifest, report.result
    suite, settings = manifest["suite"], manifest["settings"]
    facts = [
        (_("Memory server"), manifest["server"]["add"].removesuffix("/add")),
        (_("Suite"), f"{suite['name']} {suite['version']}, {suite['digest'][:12]}"),
        (_("Conversations"), count_text(suite["scopes"])),
        (_("Answered by"), _model(manifest["answer"])),
        (_("Scored by"), suite["metric"] if manifest["judge"]["backend"] == "rules" else _model(manifest["judge"])),
        (_("Top K"), str(settings["top_k"])),
        (_("Lanes (Add, Search)"), f"{settings['add_lanes']}, {settings['search_lanes']}"),
        (_("Begun"), manifest["begun_at"]),
        (_("Ended"), result["ended_at"]),
        (_("Pipeline code"), manifest["code"][:12]),
        (_("Digest of the result"), result["digest"]),
    ]
    if result["ended_by_server_before"]:
        facts.append((_("Ended by the server before it went on"), count_text(result["ended_by_server_before"])))
    return facts


def write_reports(folder: Path, report: Report, language: str) -> None:
    """Write report.md, report.json and report.html into the folder."""
    from aml.bench.page import as_html

    write_whole(folder / "report.md", as_markdown(report, language))
    write_whole(folder / "report.json", as_json(report, language))
    write_whole(folder / "report.html", as_html(report, language))


def as_json(report: Report, language: str) -> str:
    """The report with titles in `language`; scores are 0 to 1."""
    manifest = {name: value for name, value in report.manifest.items() if name != "fence_key"}
    titles = {figure.code: figure.title for section in sections_of(report) for figure in section.figures}
    data = {"format": 1, "language": language, "run": manifest, "result": report.result, "titles": titles}
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n"


def as_markdown(report: Report, language: str) -> str:
    """The report as tables."""
    lines = [f"# {markdown_text(report.title(language))}", ""]
    for section in sections_of(report):
        lines += [f"## {section.title}", ""]
        has_n = any(figure.n is not None for figure in section.figures)
        lines += [f"| | {_('Score') if has_n else _('Value')} |" + (" n |" if has_n else "")]
        lines += ["|---|---:|" + ("---:|" if has_n else "")]
        for figure in section.figures:
            n = f" {count_text(figure.n)} |" if has_n else ""
            lines.append(f"| {markdown_text(figure.title)} | {figure.text} |{n}")
        lines.append("")
    for title, rows in ((_("What came back"), figures_of(report)), (_("This run"), facts_of(report))):
        lines += [f"## {title}", "", f"| | {_('Value')} |", "|---|---|"]
        lines += [f"| {name} | {markdown_text(value)} |" for name, value in rows]
        lines.append("")
    return "\n".join(lines)


def _part(code: str, title: str, part: Mapping[str, Any]) -> Figure:
    return Figure(code, title, score_text(part["score"]), part["score"], part["n"])


def _latencies(efficiency: Mapping[str, float]) -> tuple[Figure, ...]:
    titles = {
        "add_p50_ms": _("Add, median"),
        "add_p95_ms": _("Add, 95th percentile"),
        "search_p50_ms": _("Search, median"),
        "search_p95_ms": _("Search, 95th percentile"),
    }
    found = {code: efficiency[code] for code in titles if code in efficiency}
    longest = max(found.values(), default=0.0) or 1.0
    return tuple(Figure(c, titles[c], milliseconds_text(ms), ms / longest) for c, ms in found.items())


def _model(part: Mapping[str, Any]) -> str:
    host = part["base_url_host"]
    return f"{part['model']} ({host})" if host else str(part["model"])


def markdown_text(text: str) -> str:
    """Text in which nothing is mark-up."""
    return "".join(f"\\{char}" if char in "\\`*_[]<>|#" else char for char in text)
