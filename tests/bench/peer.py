"""The server that the clients call, in a process of its own: `python -m tests.bench.peer` prints its port.

It answers as fast as it can, so that the clients' own time is what is measured.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from tests.bench.samples import pictures_answer, text_answer


class Peer(asyncio.Protocol):
    """Reads one request, answers it by its path and closes."""

    answers: dict[bytes, bytes] = {}

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport: asyncio.Transport = transport  # type: ignore[assignment]
        self.heard = bytearray()
        self.expected: int | None = None

    def data_received(self, data: bytes) -> None:
        self.heard += data
        if self.expected is None and (ends := self.heard.find(b"\r\n\r\n")) >= 0:
            head = bytes(self.heard[:ends])
            self.path = head.split(b" ", 2)[1]
            self.expected = ends + 4 + _announced(head)
        if self.expected is not None and len(self.heard) >= self.expected:
            self.transport.write(self.answers[self.path])
            self.transport.close()


def _announced(head: bytes) -> int:
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            return int(line.partition(b":")[2])
    return 0


def _http(body: bytes) -> bytes:
    head = (
        f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + body


async def _serve() -> None:
    stored = b'{"success":true,"request_id":"r","user_id":"u","session_id":"s"}'
    Peer.answers = {
        b"/add": _http(stored),
        b"/search": _http(text_answer()),
        b"/pictures": _http(pictures_answer()),
    }
    server = await asyncio.get_running_loop().create_server(Peer, "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


@contextmanager
def running_peer() -> Iterator[int]:
    """Start the peer and yield its port."""
    process = subprocess.Popen([sys.executable, "-m", "tests.bench.peer"], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield int(process.stdout.readline())
    finally:
        process.terminate()
        process.wait(10)


if __name__ == "__main__":
    asyncio.run(_serve())
