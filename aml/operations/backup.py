"""Copies what a portal can't do without into a folder: the database, the evidence, what teams have sent in.

The secrets are not in it: whoever restores needs the settings too, the key ring above all.
"""

import hashlib
import json
import os
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

from django.conf import settings
from django.db import connection

from evaluation.evidence.sealing import evidence_storage
from evaluation.models import Segment

__all__ = ["Backup", "BackupFailed", "find_program", "make_backup"]


class BackupFailed(RuntimeError):
    """No backup was made; the text says why, without a secret."""


@dataclass(frozen=True, slots=True)
class Backup:
    """A backup in `folder`: the database's file with its SHA-256, and what else was copied."""

    folder: str
    database: str
    sha256: str
    evidence_files: int
    missing: tuple[str, ...]
    made_at: str


def make_backup(target: Path, at: datetime) -> Backup:
    """Make a folder named by the time in `target`. Works while the portal is in use.

    The database comes first and files after it: every segment that the copy names was there before, and never changes.
    """
    name = f"{at:%Y%m%dT%H%M%SZ}"
    folder, partial = target / name, target / f"{name}.partial"
    partial.mkdir(parents=True, mode=0o700)
    file = partial / ("database.sqlite3" if connection.vendor == "sqlite" else "database.dump")
    (_copy_sqlite if connection.vendor == "sqlite" else _dump_postgresql)(file)
    copied, missing = _copy_evidence(partial / "evidence")
    if Path(settings.MEDIA_ROOT).is_dir():
        shutil.copytree(settings.MEDIA_ROOT, partial / "media")
    backup = Backup(str(folder), file.name, _sha256(file), copied, tuple(missing), at.isoformat())
    (partial / "backup.json").write_text(json.dumps(asdict(backup), indent=2) + "\n")
    partial.rename(folder)
    return backup


def find_program(name: str) -> str:
    """The path of one of PostgreSQL's programs, the newest where several are installed. Raises BackupFailed."""
    installed = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), key=lambda path: int(path.parts[4]))
    found = shutil.which(name) or (str(installed[-1]) if installed else "")
    if not found:
        raise BackupFailed(f"{name} is not installed. Install PostgreSQL's client programs of the server's version.")
    return found


def _copy_sqlite(file: Path) -> None:
    # a connection of its own: SQLite's backup waits for ever on one that has a transaction open
    path = quote(str(connection.settings_dict["NAME"]))
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as source, closing(sqlite3.connect(file)) as target:
        source.backup(target)
        (verdict,) = target.execute("PRAGMA integrity_check(1)").fetchone()
    if verdict != "ok":
        raise BackupFailed(f"the copy of the database is damaged: {verdict}"[:200])


def _dump_postgresql(file: Path) -> None:
    options, environment = _postgresql_access(connection.settings_dict)
    command = [find_program("pg_dump"), "--format=custom", "--no-owner", f"--file={file}", *options]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)  # noqa: S603
    if ran.returncode:
        raise BackupFailed(f"pg_dump ended with {ran.returncode}: {ran.stderr.strip()[:300]}")


def _postgresql_access(database: dict[str, Any]) -> tuple[list[str], dict[str, str]]:
    """Options that name the server, and an environment with the password, which no process list shows."""
    names = {"HOST": "host", "PORT": "port", "USER": "username", "NAME": "dbname"}
    options = [f"--{option}={database[name]}" for name, option in names.items() if database[name]]
    return options, {**os.environ, "PGPASSWORD": str(database["PASSWORD"] or "")}


def _copy_evidence(folder: Path) -> tuple[int, list[str]]:
    copied, missing = 0, []
    for name in _evidence_names():
        try:
            with evidence_storage().open(name, "rb") as source:
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                with (folder / name).open("wb") as target:
                    shutil.copyfileobj(source, target, 1 << 20)
                copied += 1
        except FileNotFoundError:
            missing.append(name)
    return copied, missing


def _evidence_names() -> Iterator[str]:
    yield from Segment.objects.filter(purged_at=None).order_by("pk").values_list("file", flat=True).iterator()


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
