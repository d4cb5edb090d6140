"""Boards as CSV and JSON, for spreadsheets and programs."""

import csv
import io
import json
from collections.abc import Callable, Mapping
from typing import Any

from django.utils.translation import override

from leaderboard.models import Snapshot
from leaderboard.selectors import board_payload
from leaderboard.titles import capability_title, category_title

# A spreadsheet takes a cell that begins like this for a formula; full-width forms are normalised by some of them.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
BOM = "\ufeff"
"""Without it, some spreadsheets take UTF-8 for an older encoding."""


def board_json(snapshot: Snapshot) -> str:
    """The snapshot with its digest. The digest is SHA-256 over `board` with sorted keys, no spaces, UTF-8."""
    return json.dumps(board_payload(snapshot), ensure_ascii=False, indent=2, sort_keys=True, allow_nan=False) + "\n"


def board_csv(snapshot: Snapshot) -> str:
    """One line for each entry, scores of 0 to 1. Text that a spreadsheet would run as a formula gets a ' before it."""
    rows = [_row(snapshot, entry) for entry in snapshot.payload["entries"]]
    names = list(dict.fromkeys(name for row in rows for name in row)) or list(_who(snapshot, {}))
    text = io.StringIO()
    writer = csv.DictWriter(text, names, restval="", lineterminator="\r\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def safe_cell(value: object) -> object:
    """`value` so that no spreadsheet runs it; numbers stay numbers."""
    if isinstance(value, str) and value.lstrip(" \u3000").startswith(_FORMULA):
        return f"'{value}"
    return value


def _row(snapshot: Snapshot, entry: Mapping[str, Any]) -> dict[str, object]:
    parts = {
        f"{kind}:{titled(name)} {what}": part[what]
        for kind, group, titled in (
            ("capability", "capabilities", _with_title(capability_title)),
            ("category", "categories", _with_title(category_title)),
            ("dataset", "datasets", str),
        )
        for name, part in sorted(entry[group].items())
        for what in ("score", "n")
    }
    row = {**_who(snapshot, entry), **parts, **_provenance(entry)}
    return {str(safe_cell(name)): safe_cell(value) for name, value in row.items()}


def _with_title(title_of: Callable[[str], str]) -> Callable[[str], str]:
    """A code with its English name, so that a column says the same whatever the reader's language."""

    def named(code: str) -> str:
        with override("en"):
            title = title_of(code)
        return code if title == code else f"{code} ({title})"

    return named


def _who(snapshot: Snapshot, entry: Mapping[str, Any]) -> dict[str, object]:
    plain = ("rank", "team", "system", "version", "label", "score", "n", "coverage", "finished_at", "published_at")
    return {
        "schema": snapshot.payload["schema"],
        "snapshot": snapshot.number,
        "snapshot_digest": snapshot.digest,
        "cycle": snapshot.payload["cycle"],
        "track": snapshot.payload["track"],
        "division": snapshot.payload["division"],
        **{name: entry.get(name) for name in plain},
    }


def _provenance(entry: Mapping[str, Any]) -> dict[str, object]:
    answerable = entry["answerable"]
    return {
        "answerable score": answerable.get("score"),
        "answerable n": answerable.get("n"),
        **entry["efficiency"],
        "release": entry["release"]["name"],
        "release_digest": entry["release"]["digest"],
        "answer_model": entry["answer"]["model"],
        "judge_model": entry["judge"]["model"],
        "code": entry["code"],
        "result_digest": entry["result_digest"],
        "entry": entry["id"],
    }
