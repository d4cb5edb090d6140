"""The folder of a run: one process at a time, and never another run than the one that it was begun for."""

import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evaluation.pipeline.files.journal import Damaged

__all__ = [
    "MANIFEST",
    "RECEIPTS",
    "RESULT",
    "Difference",
    "FolderInUse",
    "NotARun",
    "OtherRun",
    "locked",
    "open_manifest",
    "write_whole",
]

MANIFEST = "manifest.json"
RECEIPTS = "receipts.jsonl"
RESULT = "result.json"
_LOCK = "lock"
_BEFORE = frozenset({_LOCK, f"{MANIFEST}.part"})
"""What may lie in a folder before its manifest."""


class FolderInUse(Exception):
    """Another process works in this folder."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing in which a run differs from the one that the folder holds. `name` is a path like `suite.digest`."""

    name: str
    kept: str
    asked: str


class NotARun(Exception):
    """The folder holds other things than a run."""


class OtherRun(Exception):
    """The folder holds another run than the one that is asked for."""

    def __init__(self, differences: list[Difference]) -> None:
        super().__init__(", ".join(f"{d.name}: {d.kept} ≠ {d.asked}" for d in differences))
        self.differences = differences


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold `folder`, made where it isn't there; the system lets go of it however this process ends.

    Raises FolderInUse.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / _LOCK).open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise FolderInUse(str(folder)) from None
        yield


def open_manifest(folder: Path, *, asked: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """Return the folder's manifest, written now where there is none: `asked` with `own` beside it.

    `asked` is what two starts of one run must have in common, `own` what the first start chose (its id, its time).
    A run of which nothing was sent yet may still become another. Raises OtherRun when the folder was begun for anything
    else, NotARun when it holds other things, and Damaged when its manifest can't be read.
    """
    path = folder / MANIFEST
    if not path.exists():
        if {found.name for found in folder.iterdir()} - _BEFORE:
            raise NotARun(str(folder))
        return _write_manifest(path, {**asked, **own})
    kept = _read_manifest(path, own)
    differences = list(_differences(json.loads(json.dumps(asked)), {name: kept.get(name) for name in asked}))
    if differences and _has_begun(folder):
        raise OtherRun(differences)
    return _write_manifest(path, {**asked, **own}) if differences else kept


def _write_manifest(path: Path, manifest: dict[str, Any]) -> dict[str, Any]:
    write_whole(path, json.dumps(manifest, indent=1, ensure_ascii=False) + "\n")
    return manifest


def _read_manifest(path: Path, own: Mapping[str, Any]) -> dict[str, Any]:
    try:
        kept: dict[str, Any] = json.loads(path.read_bytes())
        missing = own.keys() - kept.keys()
    except (ValueError, AttributeError):
        raise Damaged(MANIFEST) from None
    if missing:
        raise Damaged(MANIFEST)
    return kept


def _has_begun(folder: Path) -> bool:
    receipts = folder / RECEIPTS
    return receipts.exists() and receipts.stat().st_size > 0


def write_whole(path: Path, text: str) -> None:
    """Write a file that appears at once and whole, on the disk before its name."""
    unfinished = path.with_name(path.name + ".part")
    with unfinished.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    unfinished.replace(path)


def _differences(asked: Any, kept: Any, path: str = "") -> Iterator[Difference]:
    if isinstance(asked, dict) and isinstance(kept, dict):
        for name in sorted({*asked, *kept}):
            yield from _differences(asked.get(name), kept.get(name), f"{path}.{name}" if path else name)
    elif asked != kept:
        yield Difference(path, _shown(kept), _shown(asked))


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
