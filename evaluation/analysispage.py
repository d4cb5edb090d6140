"""The analysis of a run as its result page shows it: bars with a table of the numbers beside each."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.safestring import SafeString
from django.utils.translation import gettext as _  # translates messages from data
from django.utils.translation import ngettext

from evaluation.charts.bars import Bar, bar_chart
from evaluation.models import Result
from evaluation.pipeline.analysis.facts import CAUSES

__all__ = ["AnalysisChart", "charts_of"]


@dataclass(frozen=True, slots=True)
class AnalysisChart:
    """A chart with its table. `rows` are a label and its cells; `note` says what the numbers rest on."""

    title: str
    chart: SafeString
    heads: tuple[str, ...]
    rows: tuple[tuple[str, tuple[str, ...]], ...]
    note: str


def charts_of(result: Result) -> list[AnalysisChart]:
    """Causes of wrong answers, evidence recall and the budget curve, as far as the result has them."""
    charts = (_causes(result), _recall(result), _curve(result))
    return [chart for chart in charts if chart is not None]


def _causes(result: Result) -> AnalysisChart | None:
    facts = result.attribution
    if not facts.get("wrong"):
        return None
    wrong = facts["wrong"]
    counts = [(_(title), facts["counts"].get(cause, 0)) for cause, title in CAUSES.items()]
    bars = [Bar(title, count / wrong, str(count)) for title, count in counts]
    note = ngettext(
        "%(wrong)d of %(n)d answers scored below %(bound)s and counts as wrong.",
        "%(wrong)d of %(n)d answers scored below %(bound)s and count as wrong.",
        wrong,
    ) % {"wrong": wrong, "n": facts["n"], "bound": f"{100 * facts['wrong_below']:.0f}"}
    rows = tuple((title, (str(count), f"{100 * count / wrong:.1f}")) for title, count in counts)
    return _chart("causes", _("Causes of wrong answers"), bars, (_("Answers"), _("Share, %")), rows, note)


def _recall(result: Result) -> AnalysisChart | None:
    facts = result.recall
    if not facts.get("n"):
        return None
    at = facts["at"].items()
    bars = [Bar(_("First %(k)s memories") % {"k": k}, part["turns"], f"{100 * part['turns']:.1f}") for k, part in at]
    rows = tuple(
        (k, (*(f"{100 * part[name]:.1f}" for name in ("turns", "any", "all")), f"{part['ndcg']:.3f}")) for k, part in at
    )
    note = ngettext(
        "Over %(n)d question that names its evidence, by the rule %(rule)s.",
        "Over %(n)d questions that name their evidence, by the rule %(rule)s.",
        facts["n"],
    ) % {"n": facts["n"], "rule": facts["rule"]}
    heads = (_("Turns found, %"), _("Any, %"), _("All, %"), "nDCG")
    return _chart("recall", _("Evidence recall"), bars, heads, rows, note)


def _curve(result: Result) -> AnalysisChart | None:
    facts = result.budget_curve
    if not facts:
        return None
    points = facts["points"]
    title = _("Score by number of memories")
    if facts["missing"] or not points:
        note = _("The curve is missing (%(code)s). That costs the run nothing.") % {"code": facts["missing"] or "—"}
        return AnalysisChart(title, SafeString(""), (), (), note)
    bars = [
        Bar(_("First %(k)s memories") % {"k": part["memories"]}, part["score"], f"{100 * part['score']:.2f}")
        for part in points
    ]
    rows = tuple((str(part["memories"]), (f"{100 * part['score']:.2f}", str(part["n"]))) for part in points)
    note = ngettext(
        "A fixed sample of %(n)d question, answered again from the first memories of the same Search.",
        "A fixed sample of %(n)d questions, answered again from the first memories of the same Search.",
        facts["sample"],
    ) % {"n": facts["sample"]}
    return _chart("budget", title, bars, (_("Score"), _("n")), rows, note)


def _chart(
    name: str,
    title: str,
    bars: Sequence[Bar],
    heads: tuple[str, ...],
    rows: tuple[tuple[str, tuple[str, ...]], ...],
    note: str,
) -> AnalysisChart:
    drawn = bar_chart(bars, name=f"chart-{name}", title=title, description=note)
    return AnalysisChart(title, drawn, heads, rows, note)
