"""What the page of an entry shows, out of its frozen facts."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from evaluation.charts.bars import Bar, bar_chart
from leaderboard.models import Entry, Snapshot
from leaderboard.selectors import latest_snapshot
from leaderboard.titles import (
    backend_title,
    capability_title,
    category_title,
    dataset_title,
    efficiency_title,
    item_state_title,
    label_title,
)


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a score with its own n; `metric` where the part is a dataset."""

    code: str
    title: str
    score: float
    n: int
    metric: str = ""


@dataclass(frozen=True, slots=True)
class PartGroup:
    """Parts of one kind, with their chart and what it shows."""

    name: str
    title: str
    figure_title: str
    parts: list[Part]
    chart: str
    note: str = ""


def entry_context(entry: Entry) -> dict[str, Any]:
    """The template's context; of a withdrawn entry the name and the reason alone."""
    snapshot = latest_snapshot(entry.board)
    context: dict[str, Any] = {"entry": entry, "board": entry.board, "snapshot": snapshot}
    if entry.state == Entry.State.WITHDRAWN:
        return context
    facts = entry.facts
    return {
        **context,
        "facts": facts,
        "row": _row_of(entry, snapshot),
        "label": label_title(facts["label"]),
        "groups": _groups(facts),
        "efficiency": [(name, efficiency_title(name), value) for name, value in facts["efficiency"].items()],
        "states": [(item_state_title(state), count) for state, count in facts["states"].items() if count],
        "answer": backend_title(facts["answer"]),
        "judge": backend_title(facts["judge"]),
    }


def _row_of(entry: Entry, snapshot: Snapshot | None) -> Mapping[str, Any] | None:
    rows = snapshot.payload["entries"] if snapshot else []
    return next((row for row in rows if row["id"] == str(entry.pk)), None)


def _groups(facts: Mapping[str, Any]) -> list[PartGroup]:
    named: Sequence[tuple[str, str, str, Callable[[str], str]]] = (
        ("capabilities", _("Capabilities"), _("Score by capability, points of 100"), _capability),
        ("categories", _("Categories"), _("Score by category, points of 100"), category_title),
        (
            "datasets",
            _("Datasets"),
            _("Score by dataset, points of 100"),
            lambda name: dataset_title(name, facts["datasets"][name]),
        ),
    )
    groups = [(name, title, figure, _parts(facts[name], title_of)) for name, title, figure, title_of in named]
    same = _coincide(facts)
    return [
        PartGroup(
            name,
            title,
            figure,
            parts,
            chart="" if same and name == "categories" else _chart(name, figure, parts),
            note=_("The numbers of the capabilities under the dataset's own names.")
            if same and name == "categories"
            else "",
        )
        for name, title, figure, parts in groups
        if parts
    ]


def _coincide(facts: Mapping[str, Any]) -> bool:
    """Whether each category has the numbers of a capability, as where a dataset asks one kind for each."""
    capabilities, categories = (
        sorted((part["n"], part["score"]) for part in facts[name].values()) for name in ("capabilities", "categories")
    )
    return len(categories) > 1 and capabilities == categories


def _capability(code: str) -> str:
    return f"{code} {capability_title(code)}"


def _parts(parts: Mapping[str, Any], title_of: Callable[[str], str]) -> list[Part]:
    return [
        Part(code, title_of(code), part["score"], part["n"], part.get("metric", ""))
        for code, part in sorted(parts.items())
    ]


def _chart(name: str, title: str, parts: Sequence[Part]) -> str:
    bars = [Bar(part.title, part.score, f"{100 * part.score:.2f}") for part in parts]
    description = ngettext(
        "%(count)d bar, from 0 to 100 points; the table beside it has the same numbers.",
        "%(count)d bars, from 0 to 100 points; the table beside it has the same numbers.",
        len(bars),
    ) % {"count": len(bars)}
    return bar_chart(bars, name=f"chart-{name}", title=title, description=description)
