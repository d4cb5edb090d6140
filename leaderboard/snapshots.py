"""What a snapshot holds, and how its digest is made and checked."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from evaluation.pipeline.baseline import canonical_digest
from leaderboard import ranking
from leaderboard.facts import utc_text
from leaderboard.models import Board, Entry, Snapshot

SCHEMA = "aml.board.v1"


def build_payload(
    *, board: Board, number: int, entries: Sequence[Entry], previous: Snapshot | None, at: datetime
) -> dict[str, Any]:
    """The content of a snapshot as JSON values. It names its predecessor's digest, so that none can be taken out."""
    published = [entry for entry in entries if entry.state == Entry.State.PUBLISHED]
    withdrawn = [entry for entry in entries if entry.state == Entry.State.WITHDRAWN]
    return {
        "schema": SCHEMA,
        "cycle": board.cycle.slug,
        "track": board.track,
        "division": board.division,
        "number": number,
        "created_at": utc_text(at),
        "previous": previous.digest if previous else None,
        "ranking": ranking.METHOD,
        "entries": _ranked(published),
        "withdrawn": [_tombstone(entry) for entry in sorted(withdrawn, key=lambda entry: str(entry.pk))],
    }


def digest_of(payload: dict[str, Any]) -> str:
    """SHA-256 of the payload as JSON with sorted keys, no spaces and UTF-8."""
    return canonical_digest(payload)


def is_intact(snapshot: Snapshot) -> bool:
    """Whether the content of `snapshot` is what its digest says."""
    return digest_of(snapshot.payload) == snapshot.digest


def broken_snapshots() -> tuple[int, list[tuple[str, str]]]:
    """How many snapshots there are, and of each that is not whole its name and what is wrong with it."""
    count, broken = 0, []
    last: Snapshot | None = None
    for snapshot in Snapshot.objects.select_related("board__cycle").order_by("board", "number").iterator(chunk_size=20):
        before = last if last is not None and last.board_id == snapshot.board_id else None
        problem = _problem(snapshot, before)
        if problem:
            broken.append((str(snapshot), problem))
        count, last = count + 1, snapshot
    return count, broken


def _problem(snapshot: Snapshot, before: Snapshot | None) -> str:
    if not is_intact(snapshot):
        return "its content is not what its digest says"
    number, digest = (before.number, before.digest) if before else (0, None)
    if snapshot.number != number + 1 or snapshot.payload["previous"] != digest:
        return "it does not follow from the snapshot before"
    return ""


def _ranked(entries: Sequence[Entry]) -> list[dict[str, Any]]:
    standings = ranking.rank_by_score([entry.score for entry in entries])
    rows = [
        {
            "id": str(entry.pk),
            "rank": standing.rank,
            "tied": standing.tied,
            "published_at": utc_text(entry.published_at),
            **entry.facts,
        }
        for entry, standing in zip(entries, standings, strict=True)
    ]
    return sorted(rows, key=lambda row: (row["rank"], row["system"].casefold(), row["id"]))


def _tombstone(entry: Entry) -> dict[str, Any]:
    return {
        "id": str(entry.pk),
        "team": entry.team_name,
        "system": entry.system_name,
        "version": entry.version_label,
        "withdrawn_at": utc_text(entry.withdrawn_at),
        "reason": entry.withdrawn_reason,
    }
