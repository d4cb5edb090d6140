"""How a message becomes a row of the store, and a row a memory."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime

import msgspec

from contract.memories import Memory
from contract.messages import AddRequest, Content, ImagePart, Message, Part, TextPart

__all__ = ["Row", "StoredRow", "pictures_of", "read_content", "read_memory", "rows_of"]

Row = tuple[str, str, str, str, int | None]
"""user_id, memory_id, content as JSON, when it was written, when it happened (Unix ms)."""
StoredRow = tuple[int, str, str, str, int | None]
"""The same with the row's number instead of the user."""


def rows_of(request: AddRequest) -> list[Row]:
    """Return a row for each message, in order. The same request gives the same memory ids."""
    written_at = datetime.now(UTC).isoformat(timespec="milliseconds")
    rows = []
    for at, message in enumerate(request.messages):
        name = "\0".join((request.user_id, request.request_id, str(at)))
        memory_id = hashlib.sha256(name.encode()).hexdigest()[:20]
        content = msgspec.json.encode(_dated(message)).decode()
        rows.append((request.user_id, memory_id, content, written_at, message.timestamp))
    return rows


def read_memory(row: StoredRow, score: float) -> Memory:
    """Return the memory of a row, as Search gives it back."""
    _, memory_id, content, written_at, happened_ms = row
    created_at = written_at if happened_ms is None else _moment(happened_ms).isoformat()
    return Memory(memory_id, read_content(content), score, created_at)


def read_content(content: str) -> str | tuple[Part, ...]:
    """Return what stands in a row's column `content`."""
    return msgspec.json.decode(content, type=Content)


def pictures_of(content: str | tuple[Part, ...]) -> frozenset[bytes]:
    """Return a digest of each image in `content`, by which the same picture is known again."""
    if isinstance(content, str):
        return frozenset()
    return frozenset(
        hashlib.sha256(part.image_url.url.encode()).digest() for part in content if isinstance(part, ImagePart)
    )


def _dated(message: Message) -> str | tuple[Part, ...]:
    """Return the content with its date before it, so that whoever reads the memory knows when it was said."""
    if message.timestamp is None:
        return message.content
    date = f"[{_moment(message.timestamp):%Y-%m-%d %H:%M}]"
    if isinstance(message.content, str):
        return f"{date} {message.content}"
    return (TextPart(date), *message.content)


def _moment(unix_ms: int) -> datetime:
    return datetime.fromtimestamp(unix_ms / 1000, UTC)
