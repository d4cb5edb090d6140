"""Servers on loopback for the client's tests: raw bytes out of a script, and a thread that runs uvicorn."""

from __future__ import annotations

import asyncio
import ssl
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field

import uvicorn
from starlette.types import ASGIApp

Script = Callable[["Heard", asyncio.StreamWriter], Awaitable[None]]


@dataclass
class Heard:
    """One request as it came over the wire."""

    head: bytes
    body: bytes = b""
    sni: str | None = None

    @property
    def headers(self) -> dict[str, str]:
        lines = self.head.decode("latin-1").split("\r\n")[1:]
        return {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines if line)}

    @property
    def request_line(self) -> str:
        return self.head.decode("latin-1").split("\r\n")[0]


@dataclass
class Peer:
    port: int
    heard: list[Heard] = field(default_factory=list)
    connections: int = 0

    def url(self, path: str = "/", *, scheme: str = "http", host: str = "127.0.0.1") -> str:
        return f"{scheme}://{host}:{self.port}{path}"


def http(status: str, body: bytes = b"", *headers: tuple[str, str], length: int | None = None) -> bytes:
    fields = [*headers, ("Content-Length", str(len(body) if length is None else length))]
    return f"HTTP/1.1 {status}\r\n".encode() + b"".join(f"{n}: {v}\r\n".encode() for n, v in fields) + b"\r\n" + body


def replies(data: bytes) -> Script:
    """Answer every request with `data`."""

    async def script(heard: Heard, writer: asyncio.StreamWriter) -> None:
        writer.write(data)

    return script


def endless(head: bytes, piece: bytes, pause: float = 0.0) -> Script:
    """Write `head`, then `piece` for ever."""

    async def script(heard: Heard, writer: asyncio.StreamWriter) -> None:
        writer.write(head)
        while True:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(pause)

    return script


async def silence(heard: Heard, writer: asyncio.StreamWriter) -> None:
    await asyncio.sleep(3600)


async def reset(heard: Heard, writer: asyncio.StreamWriter) -> None:
    writer.transport.abort()


@asynccontextmanager
async def raw_peer(script: Script, *, tls: ssl.SSLContext | None = None) -> AsyncIterator[Peer]:
    peer = Peer(0)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        peer.connections += 1
        try:
            while True:
                heard = await _hear(reader, writer)
                peer.heard.append(heard)
                await script(heard, writer)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError, ssl.SSLError):
            pass
        finally:
            with suppress(Exception):
                writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls, limit=1 << 26)
    peer.port = server.sockets[0].getsockname()[1]
    tasks_before = asyncio.all_tasks()
    try:
        yield peer
    finally:
        server.close()
        for task in asyncio.all_tasks() - tasks_before - {asyncio.current_task()}:
            task.cancel()
        await asyncio.sleep(0)


async def _hear(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Heard:
    heard = Heard(await reader.readuntil(b"\r\n\r\n"))
    heard.body = await reader.readexactly(int(heard.headers.get("content-length", 0)))
    tls = writer.get_extra_info("ssl_object")
    heard.sni = getattr(tls, "asked_name", None) if tls else None
    return heard


@contextmanager
def running(app: ASGIApp) -> Iterator[str]:
    """Run an ASGI application in a thread and yield its base URL."""
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=0, log_level="error", access_log=False))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    deadline = time.monotonic() + 10
    while not server.started:
        assert time.monotonic() < deadline, "the server did not start"
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(10)
