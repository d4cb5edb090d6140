"""One request to the misbehaving server, and the answer that becomes of it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus

import msgspec

from contract.messages import AddRequest, SearchRequest

__all__ = ["JSON_TYPE", "Answer", "Request", "Visit", "body_of", "read_request", "refusal", "serialise"]

JSON_TYPE = ("Content-Type", "application/json")
MAX_BODY = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Request:
    """A request as it came; `headers` by their names in lower case."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes = b""

    @property
    def endpoint(self) -> str:
        """`add`, `search`, `health` or `add-status`, wherever below the address they stand; else empty."""
        parts = self.path.partition("?")[0].strip("/").split("/")
        if "add-status" in parts[-2:-1]:
            return "add-status"
        return parts[-1] if parts[-1] in ("add", "search", "health") else ""


@dataclass(frozen=True, slots=True)
class Answer:
    """A response in the making; `document` becomes its JSON body."""

    status: int
    document: object
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(slots=True)
class Visit:
    """One request on its way through the faults.

    `message` is what the memory gets to see, which a fault may change, and `sent` what was sent; both are None while
    the body is no valid request. `write` is set by a fault that chooses another one to write the response. `state`
    and `adds`, the accepted ones by task_id, are kept for the life of the server; `store` puts an Add away, and
    `background` takes what goes on after the answer.
    """

    request: Request
    authorized: bool
    state: dict[str, dict[str, int]]
    background: Callable[[Awaitable[None]], None]
    store: Callable[[AddRequest], None]
    adds: dict[str, AddRequest]
    sent: AddRequest | SearchRequest | None = None
    message: AddRequest | SearchRequest | None = None
    write: str = ""

    def count(self, what: str, key: str = "", by: int = 1) -> int:
        """Add `by` to a counter of the server's and return what it then is."""
        counters = self.state.setdefault(what, {})
        counters[key] = counters.get(key, 0) + by
        return counters[key]


def refusal(status: int, reason: str, message: str) -> Answer:
    """Return an error in the form that people and programs can read."""
    return Answer(status, {"detail": {"reason": reason, "message": message}})


def serialise(status: int, body: bytes = b"", *headers: tuple[str, str], length: int | None = None) -> bytes:
    """Return an HTTP/1.1 response; `length` is what Content-Length claims when it is not the truth."""
    try:
        phrase = HTTPStatus(status).phrase
    except ValueError:
        phrase = "Unknown"
    fields = [*headers, ("Content-Length", str(len(body) if length is None else length))]
    head = f"HTTP/1.1 {status} {phrase}\r\n" + "".join(f"{name}: {value}\r\n" for name, value in fields)
    return head.encode("latin-1", "replace") + b"\r\n" + body


def body_of(answer: Answer) -> bytes:
    """Return the JSON body of `answer`."""
    return msgspec.json.encode(answer.document)


async def read_request(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Request | None:
    """Return the next request of a connection, None when there is none or it is no HTTP that this server reads."""
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        line, *fields = head.split("\r\n")
        method, path, _ = line.split(" ", 2)
        headers = {name.strip().lower(): value.strip() for name, _, value in (field.partition(":") for field in fields)}
        size = int(headers.get("content-length", "0"))
        if headers.get("expect", "").lower() == "100-continue":
            writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        body = await reader.readexactly(size) if 0 <= size <= MAX_BODY else b""
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError, ValueError):
        return None
    return Request(method, path, headers, body)
