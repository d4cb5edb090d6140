"""A board as a table: the rows of a snapshot in the order, and with the columns, that a reader asks for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from django.template.loader import render_to_string

from benchmarks.datasets.model import CAPABILITIES
from leaderboard.boardquery import BoardQuery
from leaderboard.columns import Column, Row, board_columns, group_title
from leaderboard.titles import backend_title, label_title


@dataclass(frozen=True, slots=True)
class Head:
    """A column's head: `query` is the address's query that sorts by it, `direction` what aria-sort says."""

    column: Column
    query: str
    direction: str

    @property
    def icon(self) -> str:
        return {"ascending": "up", "descending": "down"}.get(self.direction, "")

    @property
    def css(self) -> str:
        """A score's number stands before its bar, so its head stands at the start too."""
        return "num" if self.column.is_numeric and self.column.kind != "score" else ""


@dataclass(frozen=True, slots=True)
class Group:
    """Columns that stand together under one head."""

    title: str
    span: int


@dataclass(frozen=True, slots=True)
class Cell:
    """One value; `n` is the number of questions of a part."""

    column: Column
    value: Any
    n: int | None = None


@dataclass(frozen=True, slots=True)
class TableRow:
    """One entry: `facts` is its row of the snapshot, `withdrawn` the tombstone when it was withdrawn since.

    `provenance` is HTML that entries of the same release share.
    """

    facts: Row
    cells: list[Cell]
    label: str
    provenance: str
    withdrawn: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class BoardTable:
    groups: list[Group]
    heads: list[Head]
    rows: list[TableRow]
    total: int
    asked: frozenset[str] = frozenset()

    @property
    def width(self) -> int:
        return len(self.heads)

    @property
    def legend(self) -> list[tuple[str, str]]:
        """What the letters over the columns of capabilities stand for."""
        columns = [head.column for head in self.heads if head.column.group == "capabilities"]
        return [(column.title, column.about) for column in columns]

    @property
    def unasked(self) -> list[str]:
        """Capabilities that no entry of the board has a question for."""
        return [code for code in CAPABILITIES if code not in self.asked]


@dataclass(frozen=True, slots=True)
class Choice:
    """A column that can be chosen, by group, and whether it is."""

    column: Column
    is_chosen: bool


def build_table(
    payload: Mapping[str, Any],
    query: BoardQuery,
    *,
    withdrawn_since: Mapping[str, Mapping[str, Any]] | None = None,
) -> BoardTable:
    """The table of a snapshot's payload. `withdrawn_since` has tombstones by the id of entries that left it later."""
    columns = shown_columns(payload, query)
    rows = _ordered([row for row in payload["entries"] if _matches(row, query)], columns, query)
    gone = withdrawn_since or {}
    provenance = _Provenance()
    return BoardTable(
        groups=_groups(columns),
        heads=[_head(column, query) for column in columns],
        rows=[
            TableRow(
                facts=row,
                cells=[_cell(column, row) for column in columns],
                label=label_title(row["label"]),
                provenance=provenance.of(row),
                withdrawn=gone.get(row["id"]),
            )
            for row in rows
        ],
        total=len(payload["entries"]),
        asked=frozenset(code for row in payload["entries"] for code in row["capabilities"]),
    )


class _Provenance:
    """Renders what a release fixes once for all of its entries."""

    def __init__(self) -> None:
        self._kept: dict[str, str] = {}

    def of(self, row: Row) -> str:
        digest = row["release"]["digest"]
        if digest not in self._kept:
            context = {
                "facts": row,
                "answer": backend_title(row["answer"]),
                "judge": backend_title(row["judge"]),
            }
            self._kept[digest] = render_to_string("leaderboard/parts/provenance.html", context)
        return self._kept[digest]


def shown_columns(payload: Mapping[str, Any], query: BoardQuery) -> list[Column]:
    """The fixed columns and the chosen ones."""
    return [
        column for column in board_columns(payload["entries"]) if not column.is_optional or _is_chosen(column, query)
    ]


def column_choices(payload: Mapping[str, Any], query: BoardQuery) -> list[tuple[str, list[Choice]]]:
    """What can be chosen: groups by their title, each with its columns."""
    optional = [column for column in board_columns(payload["entries"]) if column.is_optional]
    return [
        (group_title(group), [Choice(column, _is_chosen(column, query)) for column in columns])
        for group, columns in groupby(optional, key=lambda column: column.group)
    ]


def _is_chosen(column: Column, query: BoardQuery) -> bool:
    return column.is_default if query.columns is None else column.key in query.columns


def _matches(row: Row, query: BoardQuery) -> bool:
    if query.label and row["label"] != query.label:
        return False
    wanted = query.search.casefold().split()
    text = f"{row['system']} {row['team']} {row['version']}".casefold()
    return all(word in text for word in wanted)


def _ordered(rows: list[Row], columns: Sequence[Column], query: BoardQuery) -> list[Row]:
    """Rows without a value come last whichever way the order goes; equal ones keep the order of rank."""
    column = next((column for column in columns if column.key == query.sort), None)
    if column is None:
        return rows
    known = [row for row in rows if _sort_value(column, row) is not None]
    unknown = [row for row in rows if _sort_value(column, row) is None]
    return sorted(known, key=lambda row: _sort_value(column, row), reverse=query.descending) + unknown


def _sort_value(column: Column, row: Row) -> Any:
    value = column.value(row)
    if column.kind == "part":
        return value["score"] if value else None
    return value.casefold() if isinstance(value, str) else value


def _cell(column: Column, row: Row) -> Cell:
    value = column.value(row)
    if column.kind == "part":
        return Cell(column, value["score"], value["n"]) if value else Cell(column, None)
    return Cell(column, value)


def _head(column: Column, query: BoardQuery) -> Head:
    direction = ("descending" if query.descending else "ascending") if query.sort == column.key else ""
    return Head(column, query.sorted_by(column.key, falling_first=column.falling_first).urlencode(), direction)


def _groups(columns: Sequence[Column]) -> list[Group]:
    spans = [(group, len(list(members))) for group, members in groupby(columns, key=lambda column: column.group)]
    return [Group(group_title(group), span) for group, span in spans]
