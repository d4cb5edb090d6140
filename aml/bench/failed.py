# translates messages from data
"""A run that failed, for people and machines: what failed, with its code and advice, how far it came, how to go on."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from aml.bench.page import facts_table, page
from aml.bench.report import Report, markdown_text
from aml.figures import count_text
from aml.speech import gettext as _
from benchmarks.judging.faults import ModelFault
from contract.reasons import reason_text
from contract.words import gettext_noop
from evaluation.pipeline.files.folder import write_whole
from evaluation.pipeline.files.records import ReceiptLine
from evaluation.pipeline.files.stages import Stages
from evaluation.pipeline.ports import Fault, ItemOutcome

__all__ = ["STAGES", "FailedRun", "by_model", "by_server", "write_failure"]

STAGES = {
    "ingestion": gettext_noop("ingestion"),
    "retrieval": gettext_noop("retrieval"),
    "answering": gettext_noop("answering"),
    "scoring": gettext_noop("scoring"),
}


@dataclass(frozen=True, slots=True)
class FailedRun:
    """What ended a run: `codes` for machines, `facts` as (name, text) in the language that is spoken."""

    ended_by: str
    title: str
    codes: tuple[str, ...]
    facts: tuple[tuple[str, str], ...]
    go_on: str


def by_server(line: ReceiptLine) -> FailedRun:
    """The call that ended the run: what was expected, what came, and what to do."""
    text, receipt = reason_text(line.code), line.receipt
    place = f" ({line.where})" if line.where else ""
    status = f"HTTP {receipt.http_status}" if receipt.http_status else ""
    facts = (
        (_("call"), f"{receipt.kind} {receipt.request_id or line.user_id}, {status}".strip(", ")),
        (_("attempts"), count_text(line.state.attempts)),
        (_("what was expected"), _(text.expected)),
        (_("what came"), f"{line.got}{place}" if line.got else status),
        (_("what to do"), _(text.advice)),
    )
    return FailedRun(
        "server",
        _("The memory server ended the run: "),
        (line.code,),
        tuple((name, value) for name, value in facts if value),
        _("On the board this would have ended the run. Mend the server; the same command then goes on from here."),
    )


def by_model(outcomes: Sequence[ItemOutcome], refusal: ModelFault | None) -> FailedRun:
    """A model of one's own that did not do its part."""
    codes = sorted({outcome.result.code for outcome in outcomes if isinstance(outcome.result, Fault)})
    message = _("The model failed on %(count)d questions (%(codes)s). The same command tries them again.")
    said = ((_("what to do"), _(refusal.message) % refusal.values),) if refusal is not None else ()
    return FailedRun(
        "model",
        _("A model ended the run: "),
        tuple(codes),
        said,
        message % {"count": len(outcomes), "codes": ", ".join(codes)},
    )


def write_failure(folder: Path, manifest: Mapping[str, Any], failed: FailedRun, stages: Stages, language: str) -> None:
    """Write report.md, report.json and report.html into the folder; those of a later end take their place."""
    title = Report(manifest, {}).title(language)
    server = str(manifest["server"]["add"]).removesuffix("/add")
    done = [(_(STAGES[count.stage]), f"{count.done:,}/{count.total:,}") for count in stages.all()]
    write_whole(folder / "report.md", _markdown(title, server, failed, done))
    write_whole(folder / "report.html", _html(title, server, failed, done, language))
    kept = {name: value for name, value in manifest.items() if name != "fence_key"}
    counts = {
        count.stage: {"done": count.done, "total": count.total, "retries": count.retries} for count in stages.all()
    }
    failure = {
        "ended_by": failed.ended_by,
        "codes": list(failed.codes),
        "facts": [{"name": name, "text": text} for name, text in failed.facts],
        "go_on": failed.go_on,
    }
    data = {"format": 1, "language": language, "run": kept, "failure": failure, "stages": counts}
    write_whole(folder / "report.json", json.dumps(data, indent=1, ensure_ascii=False) + "\n")


def _markdown(title: str, server: str, failed: FailedRun, done: Sequence[tuple[str, str]]) -> str:
    lines = [f"# {markdown_text(title)}", "", markdown_text(server), "", f"**{markdown_text(_what(failed))}**", ""]
    lines += [markdown_text(failed.go_on), ""]
    for heading, rows in ((_("What failed"), failed.facts), (_("How far it came"), done)):
        lines += [f"## {heading}", "", f"| | {_('Value')} |", "|---|---|"]
        lines += [f"| {name} | {markdown_text(' '.join(value.split()))} |" for name, value in rows]
        lines.append("")
    return "\n".join(lines)


def _html(title: str, server: str, failed: FailedRun, done: Sequence[tuple[str, str]], language: str) -> str:
    return page(
        title,
        language,
        f"<p>{escape(server)}</p><h2>{escape(_what(failed))}</h2><p>{escape(failed.go_on)}</p>",
        [facts_table(_("What failed"), list(failed.facts)), facts_table(_("How far it came"), list(done))],
    )


def _what(failed: FailedRun) -> str:
    return failed.title + ", ".join(failed.codes)
