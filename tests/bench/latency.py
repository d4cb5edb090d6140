"""A server with a fixed latency in a process of its own: `python -m tests.bench.latency SECONDS` prints its port.

It answers each request, exactly so long after the last byte of it came, and closes.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from tests.bench.peer import _announced, _http
from tests.bench.samples import text_answer

FOUND = _http(text_answer(5))


class Slow(asyncio.Protocol):
    latency_s = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport: asyncio.Transport = transport  # type: ignore[assignment]
        self.heard = bytearray()
        self.starts, self.expected = 0, -1

    def data_received(self, data: bytes) -> None:
        self.heard += data
        if self.expected < 0 and (ends := self.heard.find(b"\r\n\r\n")) >= 0:
            self.starts = ends + 4
            self.expected = self.starts + _announced(bytes(self.heard[:ends]))
        if 0 <= self.expected <= len(self.heard):
            asyncio.get_running_loop().call_later(self.latency_s, self.answer)

    def answer(self) -> None:
        self.transport.write(FOUND if self.heard.startswith(b"POST /search") else self._stored())
        self.transport.close()

    def _stored(self) -> bytes:
        add = json.loads(self.heard[self.starts :])
        echo = {name: add[name] for name in ("request_id", "user_id", "session_id")}
        return _http(json.dumps({"success": True, **echo}).encode())


async def _serve(latency_s: float) -> None:
    Slow.latency_s = latency_s
    server = await asyncio.get_running_loop().create_server(Slow, "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


@contextmanager
def running_latency(seconds: float) -> Iterator[int]:
    """Start the server and yield its port."""
    program = [sys.executable, "-m", "tests.bench.latency", str(seconds)]
    process = subprocess.Popen(program, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield int(process.stdout.readline())
    finally:
        process.terminate()
        process.wait(10)


if __name__ == "__main__":
    asyncio.run(_serve(float(sys.argv[1])))
