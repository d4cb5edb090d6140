"""A figure with its goal, and how it is printed and kept."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

__all__ = ["Figure", "markdown", "missed", "table", "write"]


@dataclass(frozen=True, slots=True)
class Figure:
    """`limit` is the number to keep to: at most it, or at least it where more is better.

    A figure of kind `hard` fails the run when it is missed, an `aim` is only told.
    """

    name: str
    value: float
    unit: str
    limit: float
    kind: Literal["hard", "aim"]
    more_is_better: bool = False

    @property
    def goal(self) -> str:
        return f"{'≥' if self.more_is_better else '≤'} {self.limit:g}"

    @property
    def met(self) -> bool:
        return self.value >= self.limit if self.more_is_better else self.value <= self.limit

    def as_json(self) -> dict[str, Any]:
        document = asdict(self)
        return {
            "value": round(self.value, 3),
            "unit": self.unit,
            "goal": self.goal,
            "kind": self.kind,
            "met": self.met,
            "limit": document["limit"],
        }


def missed(figures: Sequence[Figure]) -> list[Figure]:
    """Return the hard figures that miss their goal."""
    return [figure for figure in figures if figure.kind == "hard" and not figure.met]


def table(figures: Sequence[Figure]) -> str:
    """Return the figures as lines of text."""
    width = max(len(figure.name) for figure in figures)
    lines = []
    for figure in figures:
        verdict = "met" if figure.met else "MISSED" if figure.kind == "hard" else "not met"
        value = f"{figure.value:10.2f} {figure.unit:<6}"
        lines.append(f"{figure.name:<{width}} {value} {figure.kind:<4} {figure.goal:<8} {verdict}")
    return "\n".join(lines)


def markdown(figures: Sequence[Figure]) -> str:
    """Return the figures as a table in Markdown, for the README."""
    rows = [
        f"| {figure.name.replace('_', ' ')} | {figure.value:,.2f} {figure.unit} | {figure.goal} {figure.unit} "
        f"| {figure.kind} | {'met' if figure.met else 'missed'} |"
        for figure in figures
    ]
    return "\n".join(["| figure | measured | goal | kind | |", "|---|---|---|---|---|", *rows])


def write(figures: Sequence[Figure], path: Path) -> None:
    """Keep the figures as one JSON object by name."""
    path.parent.mkdir(parents=True, exist_ok=True)
    document = {figure.name: figure.as_json() for figure in figures}
    path.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
