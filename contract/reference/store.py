"""Keeps turns in SQLite and searches them, each user apart from every other."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from contract.memories import Memory
from contract.messages import AddRequest, SearchRequest, content_text, encode
from contract.reference.index import Bm25Index
from contract.reference.rows import pictures_of, read_content, read_memory, rows_of

__all__ = ["Conflict", "MemoryStore", "Promise"]

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
CREATE TABLE IF NOT EXISTS promises (
    number INTEGER PRIMARY KEY, task_id TEXT NOT NULL UNIQUE, request_id TEXT NOT NULL, user_id TEXT NOT NULL,
    session_id TEXT NOT NULL, body BLOB, due REAL NOT NULL
);
CREATE INDEX IF NOT EXISTS promises_to_keep ON promises (number) WHERE body IS NOT NULL;
"""


class Conflict(Exception):
    """A request_id came again with another body."""


@dataclass(frozen=True, slots=True)
class Promise:
    """A write that was accepted and is stored `seconds_left` from now, at 0 it is stored."""

    request_id: str
    user_id: str
    session_id: str
    seconds_left: float


@dataclass(slots=True)
class _Turn:
    """Where a turn's content stands, when it was said, and the pictures in it."""

    row: int
    time: int
    pictures: frozenset[bytes]


@dataclass(slots=True)
class _User:
    """What is held in memory of one user: an index of the texts, and the turns by the same numbers."""

    index: Bm25Index = field(default_factory=Bm25Index)
    turns: list[_Turn] = field(default_factory=list)

    @property
    def last_row(self) -> int:
        return self.turns[-1].row if self.turns else 0

    def like(self, pictures: frozenset[bytes], limit: int) -> list[tuple[int, float]]:
        """Rank for a question that is a picture: the same one first, then other pictures, then text, newest first.

        A real system would look at the picture; this one compares bytes.
        """
        scores = [1.0 if turn.pictures & pictures else 0.5 if turn.pictures else 0.0 for turn in self.turns]
        ranked = sorted(range(len(scores)), key=lambda number: (-scores[number], -self.turns[number].time, -number))
        return [(number, scores[number]) for number in ranked[:limit]]


class MemoryStore:
    """A store in a file, or in memory for ``:memory:``. Safe to use from several threads.

    `clock` gives Unix seconds; only promises look at it.
    """

    def __init__(self, database: str | Path = ":memory:", *, clock: Callable[[], float] = time.time) -> None:
        self._lock = threading.Lock()
        self._clock = clock
        self._database = sqlite3.connect(database, check_same_thread=False, isolation_level=None)
        self._database.execute("PRAGMA journal_mode = WAL")
        self._database.execute("PRAGMA synchronous = FULL")  # an answered Add survives a loss of power
        self._database.executescript(_SCHEMA)
        self._users: OrderedDict[str, _User] = OrderedDict()

    def add(self, request: AddRequest) -> None:
        """Store the messages of `request`; when this returns they are on disk and searchable.

        The same request again changes nothing. Raises `Conflict` for another body under the same request_id.
        """
        body = encode(request)
        with self._lock:
            with self._transaction():
                if self._is_new(request, body):
                    self._insert(request)
            self._keep_promises(float("inf"))  # a server that ran with --deferred before may have left some
            self._catch_up(request.user_id)

    def promise(self, request: AddRequest, seconds: float) -> str:
        """Accept `request` now and store it `seconds` later; return the id under which `promised` knows it.

        A promise is on disk when this returns and is kept after a restart. Raises `Conflict` like `add`.
        """
        body = encode(request)
        task_id = hashlib.sha256("\0".join((request.user_id, request.request_id)).encode()).hexdigest()[:24]
        with self._lock, self._transaction():
            if self._is_new(request, body):
                due = self._clock() + seconds
                values = (task_id, request.request_id, request.user_id, request.session_id, body, due)
                self._database.execute("INSERT INTO promises VALUES (NULL, ?, ?, ?, ?, ?, ?)", values)
        return task_id

    def promised(self, task_id: str) -> Promise | None:
        """Return how an accepted write stands, None when nobody knows it."""
        with self._lock:
            now = self._clock()
            self._keep_promises(now)
            row = self._database.execute(
                "SELECT request_id, user_id, session_id, due FROM promises WHERE task_id = ?", (task_id,)
            ).fetchone()
        if row is None:
            return None
        request_id, user_id, session_id, due = row
        return Promise(request_id, user_id, session_id, max(0.0, due - now))

    def search(self, request: SearchRequest) -> list[Memory]:
        """Return at most `top_k` memories of the user, best first; none for a user that nobody knows.

        Text is what is searched. A question with a picture whose words find nothing gets the user's pictures.
        """
        query = " ".join((content_text(request.query), *(request.options or ())))
        pictures = pictures_of(request.query)
        with self._lock:
            self._keep_promises(self._clock())
            user = self._catch_up(request.user_id)
            found = user.index.search(query, request.top_k)
            if not found and pictures:
                found = user.like(pictures, request.top_k)
            return self._memories([(user.turns[number].row, score) for number, score in found])

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._database.close()

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._database.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._database.execute("ROLLBACK")
            raise
        self._database.execute("COMMIT")

    def _is_new(self, request: AddRequest, body: bytes) -> bool:
        """Take note of the request; return False when this very one was noted before."""
        key = (request.user_id, request.request_id)
        digest = hashlib.sha256(body).hexdigest()
        known = self._database.execute("SELECT digest FROM writes WHERE user_id = ? AND request_id = ?", key).fetchone()
        if known is None:
            self._database.execute("INSERT INTO writes VALUES (?, ?, ?)", (*key, digest))
        elif known[0] != digest:
            raise Conflict(request.request_id)
        return known is None

    def _insert(self, request: AddRequest) -> None:
        self._database.executemany("INSERT INTO turns VALUES (NULL, ?, ?, ?, ?, ?)", rows_of(request))

    def _keep_promises(self, now: float) -> None:
        """Store every accepted write that is due, in the order in which they came."""
        due = self._database.execute(
            "SELECT number, body FROM promises WHERE body IS NOT NULL AND due <= ? ORDER BY number", (now,)
        ).fetchall()
        for number, body in due:
            with self._transaction():
                self._insert(msgspec.json.decode(body, type=AddRequest))
                self._database.execute("UPDATE promises SET body = NULL WHERE number = ?", (number,))

    def _catch_up(self, user_id: str) -> _User:
        """Return the user with every stored turn in the index."""
        user = self._users.get(user_id) or _User()
        rows = self._database.execute(
            "SELECT number, content, happened_ms FROM turns WHERE user_id = ? AND number > ? ORDER BY number",
            (user_id, user.last_row),
        )
        for number, text, happened_ms in rows:
            content = read_content(text)
            user.index.add(content_text(content), happened_ms or 0)
            user.turns.append(_Turn(number, happened_ms or 0, pictures_of(content)))
        if user.turns:
            self._users[user_id] = user
            self._users.move_to_end(user_id)
            if len(self._users) > MAX_OPEN_USERS:
                self._users.popitem(last=False)
        return user

    def _memories(self, found: list[tuple[int, float]]) -> list[Memory]:
        """Read the content of rows, best first; pictures stay in the file until they are asked for."""
        rows = self._database.execute(
            "SELECT number, memory_id, content, written_at, happened_ms FROM turns"
            " WHERE number IN (SELECT value FROM json_each(?))",
            (json.dumps([row for row, _ in found]),),
        )
        by_row = {values[0]: values for values in rows}
        return [read_memory(by_row[row], score) for row, score in found]
