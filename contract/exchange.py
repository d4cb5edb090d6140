"""One bounded HTTP/1.1 exchange on one connection: a request out, a response in, under caps and deadlines.

h11 does the framing over an asyncio stream. What this layer lacks cannot be switched on by mistake: no redirects,
no cookies, no proxies, no decoding of compressed bodies, no second use of a connection.
Measured beside other clients in `contract.client`.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from io import BytesIO

import h11

from contract.guard import Connection

__all__ = ["CallBudget", "Fault", "Meter", "Response", "exchange"]

READ_SIZE = 65_536
WRITE_SIZE = 262_144
MAX_HEADER_BYTES = 64 * 1024
MAX_HEADER_FIELDS = 200
MIN_CHUNK_BYTES = 32
CHUNKS_BEFORE_MEAN = 20_000
FREE_INFORMATIONAL = 100
ERROR_BODY_BYTES = 64 * 1024
"""What is read of a body whose status alone decides."""
ERROR_BODY_SECONDS = 5.0
ANSWERING = (200, 202)


@dataclass(frozen=True, slots=True)
class CallBudget:
    """Deadlines of one call, in seconds. Source: the wire contract (30 minutes a request)."""

    connect_s: float = 10.0
    write_s: float = 60.0
    headers_s: float = 1800.0
    body_s: float = 120.0
    total_s: float = 1830.0


@dataclass(slots=True)
class Meter:
    """What passed over the wire so far; filled while a call runs, so that a failed one is measured too."""

    sent: int = 0
    received: int = 0
    first_sent: float = 0.0
    last_received: float = 0.0
    status: int | None = None
    began: bytes = b""

    @property
    def latency_ms(self) -> float:
        """Milliseconds from the first byte sent to the last byte received, or to now when none came."""
        if not self.first_sent:
            return 0.0
        return ((self.last_received or time.perf_counter()) - self.first_sent) * 1000


class Fault(Exception):
    """The exchange failed; `code` is a reason code, `flags` remarks beside it."""

    def __init__(self, code: str, got: str = "", flags: tuple[str, ...] = ()) -> None:
        super().__init__(code)
        self.code = code
        self.got = got
        self.flags = flags


@dataclass(frozen=True, slots=True)
class Response:
    """A response as it came: names of headers in lower case, repeated ones joined by a comma."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class _Head:
    """Status and header fields of a response; h11 makes fields anew each time that it is asked for them."""

    status: int
    fields: Sequence[tuple[bytes, bytes]]

    def check(self) -> None:
        """Raise `Fault` when there is more of it than anyone needs."""
        size = sum(len(name) + len(value) for name, value in self.fields)
        if size > MAX_HEADER_BYTES or len(self.fields) > MAX_HEADER_FIELDS:
            raise Fault("headers_too_large", f"{len(self.fields)} fields, {size} bytes")

    def check_announced(self, max_body: int) -> None:
        """Raise `Fault` when the body is said to be larger than `max_body` bytes."""
        for name, value in self.fields:
            if name == b"content-length" and int(value) > max_body:
                raise Fault("body_too_large", f"{value.decode()} bytes announced")

    def joined(self) -> dict[str, str]:
        headers: dict[str, str] = {}
        for name, value in self.fields:
            key, text = name.decode("ascii", "replace"), value.decode("latin-1")
            headers[key] = f"{headers[key]}, {text}" if key in headers else text
        return headers


@dataclass(slots=True)
class _Exchange:
    connection: Connection
    budget: CallBudget
    max_body: int
    meter: Meter
    http: h11.Connection = field(
        default_factory=lambda: h11.Connection(h11.CLIENT, max_incomplete_event_size=MAX_HEADER_BYTES)
    )

    async def send(self, method: str, target: str, headers: Sequence[tuple[str, str]], body: bytes) -> None:
        """Send the request. A peer that closes early may have answered already, so that is not yet an error."""
        request = h11.Request(method=method, target=target, headers=list(headers))
        head = self.http.send(request) or b""
        whole = memoryview(body)
        try:
            # head and first piece in one write: a packet and a system call less for nearly every request
            await self._write(head + self._framed(whole[:WRITE_SIZE]))
            for start in range(WRITE_SIZE, len(body), WRITE_SIZE):
                await self._write(self._framed(whole[start : start + WRITE_SIZE]))
            self.http.send(h11.EndOfMessage())
        except ConnectionError:
            pass
        except TimeoutError:
            raise Fault("read_timeout", "the request was not taken") from None

    def _framed(self, piece: memoryview) -> bytes:
        # h11 counts and joins any buffer, although it is annotated for bytes
        return (self.http.send(h11.Data(data=piece)) or b"") if piece else b""  # type: ignore[arg-type]

    async def _write(self, data: bytes) -> None:
        self.meter.first_sent = self.meter.first_sent or time.perf_counter()
        self.connection.writer.write(data)
        self.meter.sent += len(data)
        if self.connection.writer.transport.get_write_buffer_size():
            async with asyncio.timeout(self.budget.write_s):
                await self.connection.writer.drain()

    async def receive_head(self) -> _Head:
        """Wait for the response's status and headers, past any informational responses."""
        informational = 0
        while True:
            event = await self._next_event()
            if isinstance(event, h11.Response):
                head = _Head(event.status_code, list(event.headers))
                head.check()
                self.meter.status = head.status
                return head
            if not isinstance(event, h11.InformationalResponse) or event.status_code == 101:
                raise Fault("invalid_http", "HTTP 101" if isinstance(event, h11.InformationalResponse) else "")
            informational += 1
            if informational > FREE_INFORMATIONAL:  # a flood is read slowly, until the deadline ends it
                await asyncio.sleep(0.01)

    async def receive_body(self) -> bytes:
        """Read the body of an answer, whole."""
        received = BytesIO()  # hands its bytes over without a copy, where joining pieces would hold the body twice
        size = chunks = 0
        while True:
            event = await self._next_event()
            if not isinstance(event, h11.Data):
                return received.getvalue()
            received.write(event.data)
            size += len(event.data)
            chunks += event.chunk_start
            if size > self.max_body:
                raise Fault("body_too_large", f"over {self.max_body} bytes")
            if chunks > CHUNKS_BEFORE_MEAN and size < chunks * MIN_CHUNK_BYTES:
                raise Fault("chunks_too_small", f"{size} bytes in {chunks} chunks")
            if chunks % 1000 == 999:  # thousands of small chunks in one read must not hold the loop
                await asyncio.sleep(0)

    async def receive_beginning(self) -> bytes:
        """Read what comes at once of a body that decides nothing, as evidence."""
        body = b""
        try:
            async with asyncio.timeout(ERROR_BODY_SECONDS):
                while len(body) < ERROR_BODY_BYTES:
                    event = await self._next_event()
                    if not isinstance(event, h11.Data):
                        break
                    body += bytes(event.data)
        except (TimeoutError, Fault):
            pass
        return body[:ERROR_BODY_BYTES]

    async def _next_event(self) -> object:
        try:
            while (event := self.http.next_event()) is h11.NEED_DATA:
                await self._read()
        except h11.RemoteProtocolError as error:
            raise self._protocol_fault(error) from None
        return event

    async def _read(self) -> None:
        try:
            data = await self.connection.reader.read(READ_SIZE)
        except (ConnectionError, OSError) as error:
            if isinstance(error, TimeoutError):
                raise
            raise Fault("reset" if self.meter.status is None else "truncated_body") from None
        if data:
            self.meter.received += len(data)
            self.meter.last_received = time.perf_counter()
            self.meter.began = self.meter.began or data[:5]
        elif self.meter.status is None and (
            not self.meter.began or self.meter.began == b"HTTP/"[: len(self.meter.began)]
        ):
            raise Fault("reset", "the connection was closed before an answer")
        self.http.receive_data(data)

    def _protocol_fault(self, error: h11.RemoteProtocolError) -> Fault:
        if error.error_status_hint == 431:
            return Fault("headers_too_large")
        if self.meter.status is not None and self.http.trailing_data[1]:
            return Fault("truncated_body", str(error))
        return Fault("invalid_http", str(error))


async def exchange(
    connection: Connection,
    method: str,
    target: str,
    headers: Sequence[tuple[str, str]],
    body: bytes,
    *,
    budget: CallBudget,
    max_body: int,
    meter: Meter,
) -> Response:
    """Send one request and return its response; `meter` holds the measures, also when this raises.

    Raises `Fault` with reset, truncated_body, read_timeout, invalid_http, headers_too_large, body_too_large or
    chunks_too_small. The caller drops the connection afterwards, whatever happened.
    """
    run = _Exchange(connection, budget, max_body, meter)
    await run.send(method, target, headers, body)
    try:
        async with asyncio.timeout(budget.headers_s):
            head = await run.receive_head()
    except TimeoutError:
        raise Fault("read_timeout") from None
    if head.status not in ANSWERING:
        return Response(head.status, head.joined(), await run.receive_beginning())
    head.check_announced(max_body)
    try:
        async with asyncio.timeout(budget.body_s):
            received = await run.receive_body()
    except TimeoutError:
        raise Fault("read_timeout", f"{meter.received} bytes in time", ("body_too_slow",)) from None
    return Response(head.status, head.joined(), received)
