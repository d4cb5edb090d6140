"""What stands around a board's table: the way to other boards, the exports, and the reading of the query."""

from dataclasses import dataclass, replace

from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext as _

from leaderboard.boardquery import BoardQuery, read_query
from leaderboard.columns import board_columns
from leaderboard.models import Board, Snapshot
from leaderboard.selectors import public_cycles
from submissions.models import Cycle, Division, Track


@dataclass(frozen=True, slots=True)
class Link:
    """A link; `is_current` when it leads to where the reader is."""

    title: str
    url: str
    is_current: bool = False


@dataclass(frozen=True, slots=True)
class Switch:
    """A choice of a few boards that differ in one thing."""

    title: str
    links: list[Link]


def read_board_query(request: HttpRequest, snapshot: Snapshot | None) -> BoardQuery:
    """What the address asks for, of what this snapshot has."""
    columns = board_columns(snapshot.payload["entries"] if snapshot else [])
    optional = [column for column in columns if column.is_optional]
    query = read_query(
        request.GET,
        sortable=[column.key for column in columns],
        choosable=[column.key for column in optional],
    )
    usual = tuple(column.key for column in optional if column.is_default)
    return replace(query, columns=None) if query.columns == usual else query


def board_switches(board: Board) -> list[Switch]:
    """Other tracks, divisions and cycles of this board."""
    cycles = [cycle for cycle in public_cycles() if board.track in cycle.tracks or cycle == board.cycle]
    switches = [
        Switch(_("Track"), [_link(board, Track(track).label, track=track) for track in tracks_of(board.cycle)]),
        Switch(_("Division"), [_link(board, label, division=value) for value, label in Division.choices]),
        Switch(_("Cycle"), [_link(board, cycle.name, cycle=cycle) for cycle in cycles]),
    ]
    return [switch for switch in switches if len(switch.links) > 1]


def board_links(board: Board, snapshot: Snapshot | None, *, is_newest: bool) -> dict[str, str]:
    """Addresses of the permalink and of both exports, of what the page shows."""
    if snapshot is None:
        return {}
    names = [board.cycle.slug, board.track, board.division]
    numbered = [*names, snapshot.number]
    what, where = ("board", names) if is_newest else ("snapshot", numbered)
    return {
        "permalink": reverse("leaderboard:snapshot", args=numbered),
        "csv": reverse(f"leaderboard:{what}_csv", args=where),
        "json": reverse(f"leaderboard:{what}_json", args=where),
    }


def tracks_of(cycle: Cycle) -> list[str]:
    """The tracks that a cycle evaluates, in the order of the site."""
    return [track for track in Track.values if track in cycle.tracks]


def _link(board: Board, title: object, *, cycle: Cycle | None = None, track: str = "", division: str = "") -> Link:
    names = [(cycle or board.cycle).slug, track or board.track, division or board.division]
    here = [board.cycle.slug, board.track, board.division]
    return Link(str(title), reverse("leaderboard:board", args=names), names == here)
