"""A memory server on raw sockets that stumbles by a fixed seed and recovers: the same request, the same fate.

What befalls a request depends on its bytes and on how often they came, so that a repeated request has another fate and
every request gets through in the end.
"""

import asyncio
import random
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from typing import Any

import msgspec

from contract.messages import AddRequest, SearchRequest
from contract.reference import MemoryStore

FATES = {
    "well": 84,
    "busy": 4,  # 429 with Retry-After
    "down": 4,  # 503
    "reset before": 2,  # the connection is reset and nothing was stored
    "reset behind": 2,  # stored, and then the connection is reset
    "cut": 2,  # half of the answer
    "slow": 2,  # stored and answered, but late
}
SLOW_S = 1.5


class StumblingMemory:
    """Hears everything; `heard` counts each path and body, `fates` what befell them."""

    def __init__(self, seed: int, *, latency_s: float, fates: Mapping[str, int]) -> None:
        self._seed = seed
        self._weights = fates
        self._latency_s = latency_s
        self._store = MemoryStore()
        self.heard: Counter[tuple[str, bytes]] = Counter()
        self.fates: Counter[str] = Counter()
        self.port = 0

    @property
    def target(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        return f"http://{self.target}"

    def of_run(self, run: str) -> dict[tuple[str, bytes], int]:
        """What was heard of the run with this hexadecimal id."""
        return {key: times for key, times in list(self.heard.items()) if f'"eval:{run}:'.encode() in key[1]}

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            path = head.split(b" ", 2)[1].decode()
            body = await reader.readexactly(_length(head))
            self.heard[path, body] += 1
            fate = self._fate(path, body)
            self.fates[fate] += 1
            await asyncio.sleep(SLOW_S if fate == "slow" else self._latency_s)
            self._answer(path, body, fate, writer)
            await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the caller was killed
        finally:
            writer.close()

    def _fate(self, path: str, body: bytes) -> str:
        seed = f"{self._seed} {self.heard[path, body]} {path} ".encode() + body
        chosen = random.Random(sha256(seed).digest())
        return chosen.choices(list(self._weights), weights=list(self._weights.values()))[0]

    def _answer(self, path: str, body: bytes, fate: str, writer: asyncio.StreamWriter) -> None:
        if fate == "reset before":
            writer.transport.abort()
        elif fate in {"busy", "down"}:
            writer.write(_http(429 if fate == "busy" else 503, b"{}"))
        else:
            answer = _http(200, msgspec.json.encode(self._obey(path, body)))
            if fate == "reset behind":
                writer.transport.abort()
            else:
                writer.write(answer[: len(answer) - 7] if fate == "cut" else answer)

    def _obey(self, path: str, body: bytes) -> dict[str, Any]:
        if path == "/search":
            return {"data": self._store.search(msgspec.json.decode(body, type=SearchRequest))}
        add = msgspec.json.decode(body, type=AddRequest)
        self._store.add(add)
        return {
            "success": True,
            "request_id": add.request_id,
            "user_id": add.user_id,
            "session_id": add.session_id,
        }


@contextmanager
def stumbling_memory(
    seed: int, *, latency_s: float = 0.1, fates: Mapping[str, int] = FATES
) -> Iterator[StumblingMemory]:
    """Serve in a thread of its own; `fates` weighs what befalls a request."""
    memory = StumblingMemory(seed, latency_s=latency_s, fates=fates)
    loop = asyncio.new_event_loop()
    server = loop.run_until_complete(asyncio.start_server(memory.serve, "127.0.0.1", 0, backlog=512))
    memory.port = server.sockets[0].getsockname()[1]
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield memory
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        server.close()
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.run_until_complete(asyncio.sleep(0.01))
        loop.close()


def _length(head: bytes) -> int:
    lines = head.lower().split(b"\r\n")
    return next((int(line.partition(b":")[2]) for line in lines if line.startswith(b"content-length:")), 0)


def _http(status: int, body: bytes) -> bytes:
    wait = "Retry-After: 0\r\n" if status == 429 else ""
    head = f"HTTP/1.1 {status} Fate\r\nContent-Type: application/json\r\n{wait}Content-Length: {len(body)}\r\n"
    return f"{head}Connection: close\r\n\r\n".encode() + body
