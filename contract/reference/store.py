"""Keeps turns in SQLite and searches them, each user apart from every other."""

from __future__ import annotations

import hashlib
import sqlite3
import threading
from collections import OrderedDict
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from contract.memories import Memory
from contract.messages import AddRequest, Content, Message, SearchRequest, TextPart, content_text, encode
from contract.reference.index import Bm25Index

__all__ = ["Conflict", "MemoryStore"]

MAX_OPEN_USERS = 256
"""Users whose index stays in memory; the others are built again from the file when they are asked for."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS writes (
    user_id TEXT NOT NULL, request_id TEXT NOT NULL, digest TEXT NOT NULL, PRIMARY KEY (user_id, request_id)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS turns (
    number INTEGER PRIMARY KEY, user_id TEXT NOT NULL, memory_id TEXT NOT NULL, content TEXT NOT NULL,
    written_at TEXT NOT NULL, happened_ms INTEGER
);
CREATE INDEX IF NOT EXISTS turns_of_user ON turns (user_id, number);
"""


class Conflict(Exception):
    """A request_id came again with another body."""


@dataclass(slots=True)
class _UserMemory:
    """What is held in memory of one user: the index, and the memories by the same numbers."""

    index: Bm25Index = field(default_factory=Bm25Index)
    memories: list[Memory] = field(default_factory=list)
    last_row: int = 0


class MemoryStore:
    """A store in a file, or in memory for ``:memory:``. Safe to use from several threads."""

    def __init__(self, database: str | Path = ":memory:") -> None:
        self._lock = threading.Lock()
        self._database = sqlite3.connect(database, check_same_thread=False, isolation_level=None)
        self._database.execute("PRAGMA journal_mode = WAL")
        self._database.execute("PRAGMA synchronous = FULL")  # an answered Add survives a loss of power
        self._database.executescript(_SCHEMA)
        self._users: OrderedDict[str, _UserMemory] = OrderedDict()

    def add(self, request: AddRequest) -> None:
        """Store the messages of `request`; when this returns they are on disk and searchable.

        The same request again changes nothing. Raises `Conflict` for another body under the same request_id.
        """
        digest = hashlib.sha256(encode(request)).hexdigest()
        with self._lock:
            if not self._write(request, digest):
                return
            self._catch_up(request.user_id)

    def search(self, request: SearchRequest) -> list[Memory]:
        """Return at most `top_k` memories of the user, best first; none for a user that nobody knows."""
        query = " ".join((content_text(request.query), *(request.options or ())))
        with self._lock:
            user = self._catch_up(request.user_id)
            found = user.index.search(query, request.top_k)
            return [msgspec.structs.replace(user.memories[number], score=score) for number, score in found]

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._database.close()

    def _write(self, request: AddRequest, digest: str) -> bool:
        """Write the rows in one transaction; return False when this very request is stored already."""
        key = (request.user_id, request.request_id)
        with closing(self._database.cursor()) as cursor:
            known = cursor.execute("SELECT digest FROM writes WHERE user_id = ? AND request_id = ?", key).fetchone()
            if known:
                if known[0] != digest:
                    raise Conflict(request.request_id)
                return False
            cursor.execute("BEGIN IMMEDIATE")
            try:
                cursor.execute("INSERT INTO writes VALUES (?, ?, ?)", (*key, digest))
                cursor.executemany("INSERT INTO turns VALUES (NULL, ?, ?, ?, ?, ?)", _rows(request))
                cursor.execute("COMMIT")
            except BaseException:
                cursor.execute("ROLLBACK")
                raise
        return True

    def _catch_up(self, user_id: str) -> _UserMemory:
        """Return the user's memory with every stored turn in it."""
        user = self._users.get(user_id) or _UserMemory()
        rows = self._database.execute(
            "SELECT number, memory_id, content, written_at, happened_ms FROM turns"
            " WHERE user_id = ? AND number > ? ORDER BY number",
            (user_id, user.last_row),
        )
        for number, memory_id, content, written_at, happened_ms in rows:
            memory = _memory(memory_id, content, written_at, happened_ms)
            user.memories.append(memory)
            user.index.add(content_text(memory.content), happened_ms or 0)
            user.last_row = number
        if user.last_row:
            self._users[user_id] = user
            self._users.move_to_end(user_id)
            if len(self._users) > MAX_OPEN_USERS:
                self._users.popitem(last=False)
        return user


def _rows(request: AddRequest) -> list[tuple[Any, ...]]:
    written_at = datetime.now(UTC).isoformat(timespec="milliseconds")
    rows = []
    for at, message in enumerate(request.messages):
        name = "\0".join((request.user_id, request.request_id, str(at)))
        memory_id = hashlib.sha256(name.encode()).hexdigest()[:20]
        content = msgspec.json.encode(_dated(message)).decode()
        rows.append((request.user_id, memory_id, content, written_at, message.timestamp))
    return rows


def _memory(memory_id: str, content: str, written_at: str, happened_ms: int | None) -> Memory:
    created_at = written_at if happened_ms is None else _moment(happened_ms).isoformat()
    return Memory(memory_id, msgspec.json.decode(content, type=Content), created_at=created_at)


def _dated(message: Message) -> str | tuple[Any, ...]:
    """Return the content with its date before it, so that whoever reads the memory knows when it was said."""
    if message.timestamp is None:
        return message.content
    date = f"[{_moment(message.timestamp):%Y-%m-%d %H:%M}]"
    if isinstance(message.content, str):
        return f"{date} {message.content}"
    return (TextPart(date), *message.content)


def _moment(unix_ms: int) -> datetime:
    return datetime.fromtimestamp(unix_ms / 1000, UTC)
