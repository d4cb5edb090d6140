"""The columns that a board has: those that always stand, and those that come from what its runs measured."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from leaderboard.titles import capability_title, category_title, dataset_title, label_title

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a board. `value` reads it from a row of a snapshot, None where the row has none.

    `kind` says how it is shown: rank, system, score, count, percent, day, text or part (a score with its own n).
    `about` is the long form of `title`. Optional columns can be chosen; those with `is_default` stand unless one
    chooses.
    """

    key: str
    group: str
    title: str
    kind: str
    value: Callable[[Row], Any]
    about: str = ""
    is_optional: bool = False
    is_default: bool = False

    @property
    def falling_first(self) -> bool:
        """Whether the first click on its head puts great values first."""
        return self.kind in {"score", "count", "percent", "part"}

    @property
    def is_numeric(self) -> bool:
        return self.kind in {"rank", "score", "count", "percent", "part"}


def board_columns(rows: Sequence[Row]) -> list[Column]:
    """Every column of a board with these rows, in its order."""
    return [*_fixed(), *_run(rows), *_capabilities(rows), *_categories(rows), *_datasets(rows)]


def group_title(group: str) -> str:
    """The head over the columns of a group."""
    titles = {
        "entry": _("Entry"),
        "overall": _("Overall"),
        "run": _("Run"),
        "capabilities": _("Capabilities"),
        "categories": _("Categories"),
        "datasets": _("Datasets"),
    }
    return titles[group]


def _fixed() -> list[Column]:
    return [
        Column("system", "entry", _("System"), "system", lambda row: row["system"]),
        Column("rank", "overall", _("Rank"), "rank", lambda row: row["rank"]),
        Column("score", "overall", _("Score"), "score", lambda row: row["score"], about=_("Mean over all questions")),
        Column("n", "overall", "n", "count", lambda row: row["n"], about=_("Questions that the score is the mean of")),
    ]


def _run(rows: Sequence[Row]) -> list[Column]:
    mixed = len({row["label"] for row in rows}) > 1
    return [
        Column("version", "run", _("Version"), "text", lambda row: row["version"], is_optional=True, is_default=True),
        Column("date", "run", _("Date"), "day", lambda row: row["finished_at"], is_optional=True, is_default=True),
        Column("coverage", "run", _("Coverage"), "percent", lambda row: row["coverage"], is_optional=True),
        Column(
            "label",
            "run",
            _("Source"),
            "text",
            lambda row: label_title(row["label"]),
            is_optional=True,
            is_default=mixed,
        ),
    ]


def _capabilities(rows: Sequence[Row]) -> list[Column]:
    return [
        Column(
            f"capability:{code}",
            "capabilities",
            code,
            "part",
            _part_reader("capabilities", code),
            about=capability_title(code),
            is_optional=True,
            is_default=True,
        )
        for code in _names(rows, "capabilities")
    ]


def _categories(rows: Sequence[Row]) -> list[Column]:
    return [
        Column(
            f"category:{code}",
            "categories",
            category_title(code),
            "part",
            _part_reader("categories", code),
            is_optional=True,
        )
        for code in _names(rows, "categories")
    ]


def _datasets(rows: Sequence[Row]) -> list[Column]:
    names = _names(rows, "datasets")
    found = {name: row["datasets"][name] for row in rows for name in row["datasets"]}
    return [
        Column(
            f"dataset:{name}",
            "datasets",
            dataset_title(name, found[name]),
            "part",
            _part_reader("datasets", name),
            about=found[name].get("metric", ""),
            is_optional=True,
            is_default=len(names) > 1,
        )
        for name in names
    ]


def _names(rows: Iterable[Row], part: str) -> list[str]:
    return sorted({name for row in rows for name in row[part]})


def _part_reader(part: str, name: str) -> Callable[[Row], Any]:
    return lambda row: row[part].get(name)
