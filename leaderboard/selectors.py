"""Reads of the leaderboard room that more than one surface needs."""

from dataclasses import dataclass
from datetime import date, datetime
from typing import Any
from uuid import UUID

from django.db.models import Count, Exists, OuterRef, Prefetch, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.utils.dateparse import parse_date, parse_datetime
from django.utils.translation import gettext as _

from evaluation.models import Job, PublicationReview
from leaderboard.facts import utc_text
from leaderboard.models import Board, Entry, Snapshot
from submissions.models import Cycle, Division, Track, Version
from submissions.moments import board_zone, end_of_day, end_of_loose_day
from submissions.refusals import Refusal

ENTRY_SCHEMA = "aml.entry.v1"
YEARS = range(2000, 3000)
"""Years that `as_of` may name: far enough from the ends of the calendar for any zone."""


@dataclass(frozen=True, slots=True)
class BoardExcerpt:
    """The head of a published board: `rows` are the first entries of the snapshot's payload, `total` counts all."""

    board: Board
    snapshot: Snapshot
    rows: list[dict[str, Any]]
    total: int


@dataclass(frozen=True, slots=True)
class IndexCell:
    """A board in the choice of boards; without a snapshot it waits for its publication."""

    division: Division
    snapshot: Snapshot | None

    @property
    def entries(self) -> list[dict[str, Any]]:
        return self.snapshot.payload["entries"] if self.snapshot else []


@dataclass(frozen=True, slots=True)
class IndexRow:
    track: Track
    cells: list[IndexCell]


@dataclass(frozen=True, slots=True)
class BoardDue:
    """The day on which boards are to be published; `kind` says how exactly it is meant."""

    day: date
    kind: str
    is_past: bool


def approved_without_entry() -> QuerySet[PublicationReview]:
    """Approved full runs of participants that stand on no board yet and whose version is still approved."""
    return PublicationReview.objects.filter(
        state=PublicationReview.State.APPROVED,
        job__runner=Job.Runner.PARTICIPANT,
        job__mode=Job.Mode.FULL,
        job__state=Job.State.SUCCEEDED,
        job__version__state=Version.State.APPROVED,
        job__result__isnull=False,
        job__entry__isnull=True,
    )


def awaiting_publication(board: Board) -> QuerySet[PublicationReview]:
    """The approved runs that the next publication of `board` takes."""
    return (
        approved_without_entry()
        .filter(job__cycle=board.cycle_id, job__track=board.track, job__version__system__division=board.division)
        .select_related("job__result", "job__cycle", "job__release", "job__key", "job__version__system__team")
        .order_by("decided_at", "pk")
    )


def with_waiting_and_newest(boards: QuerySet[Board]) -> QuerySet[Board]:
    """Boards with `waiting_count`, how many runs the next publication takes, and `newest_snapshots`, at most one."""
    waiting = approved_without_entry().filter(
        job__cycle=OuterRef("cycle"), job__track=OuterRef("track"), job__version__system__division=OuterRef("division")
    )
    count = waiting.order_by().values("job__cycle").annotate(count=Count("pk")).values("count")
    latest = Snapshot.objects.filter(board=OuterRef("board")).order_by("-number").values("pk")[:1]
    newest = Snapshot.objects.filter(pk=Subquery(latest)).defer("payload")
    return boards.annotate(waiting_count=Coalesce(Subquery(count), 0)).prefetch_related(
        Prefetch("snapshots", queryset=newest, to_attr="newest_snapshots")
    )


def find_board(*, cycle: str, track: str, division: str) -> Board | None:
    """The board at these names, where readers may see the cycle; an unsaved one where nothing was published yet."""
    shown = Cycle.objects.public().filter(slug=cycle).first()
    if shown is None or track not in Track.values or division not in Division.values:
        return None
    board = Board.objects.filter(cycle=shown, track=track, division=division).select_related("cycle").first()
    if board is None and track in shown.tracks:
        return Board(cycle=shown, track=track, division=division)
    return board


def latest_snapshot(board: Board) -> Snapshot | None:
    """The snapshot that readers see now; None before the first publication."""
    return board.snapshots.order_by("-number").first() if board.pk else None


def earlier_snapshots(board: Board, *, limit: int = 50) -> QuerySet[Snapshot]:
    """The last snapshots of a board without their content, the newest first."""
    return board.snapshots.defer("payload").order_by("-number")[:limit]


def snapshot_as_of(board: Board, as_of: str) -> Snapshot | None:
    """The snapshot that readers saw at `as_of`: a number, a date (its end, in the board's zone) or an ISO 8601 time.

    Raises Refusal when `as_of` is none of these.
    """
    if not board.pk:
        return None
    if as_of.isascii() and as_of.isdigit():
        return board.snapshots.filter(number=int(as_of[:9])).first()
    return board.snapshots.as_of(_moment(as_of)).order_by("-number").first()


def board_payload(snapshot: Snapshot) -> dict[str, Any]:
    """A snapshot as it is given out: its content, and the digest that proves it."""
    return {"schema": snapshot.payload["schema"], "digest": snapshot.digest, "board": snapshot.payload}


def find_entry(entry_id: UUID) -> Entry | None:
    """An entry that readers may open."""
    return Entry.objects.public().filter(pk=entry_id).select_related("board__cycle").first()


def entry_payload(entry: Entry) -> dict[str, Any]:
    """An entry as it is given out; of a withdrawn one the name, the time and the reason stay."""
    is_published = entry.state == Entry.State.PUBLISHED
    return {
        "schema": ENTRY_SCHEMA,
        "id": str(entry.pk),
        "state": entry.state,
        "team": entry.team_name,
        "system": entry.system_name,
        "version": entry.version_label,
        "published_at": utc_text(entry.published_at),
        "withdrawn_at": utc_text(entry.withdrawn_at),
        "withdrawn_reason": entry.withdrawn_reason,
        "facts": entry.facts if is_published else None,
    }


def withdrawn_entries(snapshot: Snapshot) -> dict[str, dict[str, Any]]:
    """Tombstones, by id, of entries that stand in `snapshot` and were withdrawn after it was taken."""
    gone = Entry.objects.withdrawn().filter(board=snapshot.board_id, withdrawn_at__gt=snapshot.created_at)
    return {str(entry.pk): entry_payload(entry) for entry in gone}


def board_excerpt(*, rows: int = 5) -> BoardExcerpt | None:
    """The head of the board that was published last; None as long as there is none."""
    snapshot = Snapshot.objects.public().select_related("board__cycle").order_by("-created_at", "-pk").first()
    if snapshot is None:
        return None
    entries = snapshot.payload["entries"]
    return BoardExcerpt(snapshot.board, snapshot, entries[:rows], len(entries))


def public_cycles() -> list[Cycle]:
    """The cycles that readers may see; the newest with a published board first, then by number."""
    published = Snapshot.objects.filter(board__cycle=OuterRef("pk"))
    return list(Cycle.objects.public().annotate(has_board=Exists(published)).order_by("-has_board", "-number"))


def index_rows(cycle: Cycle) -> list[IndexRow]:
    """For each track of `cycle` both divisions, each with the latest snapshot of its board or None."""
    newest = (
        Snapshot.objects.filter(board__cycle=cycle)
        .filter(number=Subquery(_last_number()))
        .select_related("board")
        .order_by()
    )
    found = {(snapshot.board.track, snapshot.board.division): snapshot for snapshot in newest}
    tracks = [track for track in Track if track in cycle.tracks or any((track, value) in found for value in Division)]
    return [
        IndexRow(track, [IndexCell(division, found.get((track, division))) for division in Division])
        for track in tracks
    ]


def board_due(cycle: Cycle, at: datetime) -> BoardDue | None:
    """When the boards of `cycle` are to be published, and whether that has passed at `at`."""
    if cycle.board_on is None:
        return None
    is_past = at > end_of_loose_day(cycle.board_on, cycle.board_date_kind)
    return BoardDue(cycle.board_on, cycle.board_date_kind, is_past)


def _last_number() -> QuerySet[Snapshot, Any]:
    return Snapshot.objects.filter(board=OuterRef("board")).order_by("-number").values("number")[:1]


def _moment(text: str) -> datetime:
    try:
        day = parse_date(text)
        moment = None if day else parse_datetime(text)
    except ValueError:
        day = moment = None
    if day is not None and day.year in YEARS:
        return end_of_day(day)
    if moment is not None and moment.year in YEARS:
        return moment if moment.tzinfo else moment.replace(tzinfo=board_zone())
    message = _("as_of is a snapshot's number, a date like 2026-11-15, or a time like 2026-11-15T08:00:00Z.")
    raise Refusal("as_of_invalid", message, status=422)
