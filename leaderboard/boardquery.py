"""What a reader asks of a board, as it stands in the address: order, search, label, columns."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from urllib.parse import urlencode

from django.http import QueryDict

from leaderboard.facts import REFERENCE_ARM, SUBMITTED_BY_API

LONGEST_SEARCH = 80
LABELS = (SUBMITTED_BY_API, REFERENCE_ARM)


@dataclass(frozen=True, slots=True)
class BoardQuery:
    """`columns` is None where the reader takes the board's own choice. `sort` is a column's key."""

    sort: str = "rank"
    descending: bool = False
    search: str = ""
    label: str = ""
    columns: tuple[str, ...] | None = None

    def urlencode(self) -> str:
        """The query string; what is as usual stays out of it, so that one view has one address."""
        pairs: list[tuple[str, str]] = []
        if (self.sort, self.descending) != ("rank", False):
            pairs.append(("sort", f"-{self.sort}" if self.descending else self.sort))
        if self.search:
            pairs.append(("q", self.search))
        if self.label:
            pairs.append(("label", self.label))
        if self.columns is not None:
            pairs += [("columns", name) for name in self.columns] or [("columns", "")]
        return urlencode(pairs)

    def sorted_by(self, column: str, *, falling_first: bool) -> "BoardQuery":
        """This query in the order of `column`; asked again for the same column, the other way round."""
        descending = not self.descending if self.sort == column else falling_first
        return replace(self, sort=column, descending=descending)


def read_query(data: QueryDict, *, sortable: Collection[str], choosable: Collection[str]) -> BoardQuery:
    """Read the query string. What nobody can mean is left out rather than refused: an address lives long."""
    sort = data.get("sort", "rank")
    name = sort.removeprefix("-")
    label = data.get("label", "")
    columns = tuple(name for name in dict.fromkeys(data.getlist("columns")) if name in choosable)
    return BoardQuery(
        sort=name if name in sortable else "rank",
        descending=sort.startswith("-") and name in sortable,
        search=data.get("q", "").replace("\x00", "").strip()[:LONGEST_SEARCH],
        label=label if label in LABELS else "",
        columns=columns if "columns" in data else None,
    )
