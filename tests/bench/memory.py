"""How much memory a 30 MiB answer takes from socket to verdict: `python -m tests.bench.memory PORT`, by itself.

In a process of its own, because the peak of a process that did other things before says nothing.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from contract.client import AuthScheme, Client, Target
from contract.guard import GuardPolicy
from contract.messages import AddRequest, ImagePart, ImageUrl, Message, encode
from contract.verdicts import Verdict
from tests.bench.figures import Figure
from tests.bench.samples import SEARCH

__all__ = ["memory_figures"]

PICTURES = 30
SECRET = "sk-bench-0123456789abcdef"
PICTURE_URL = "data:image/jpeg;base64," + "A" * (1024 * 1024 // 3 * 4)


def memory_figures(port: int) -> Iterator[Figure]:
    """Yield growth over idle as a multiple of the body's size: reading a 30 MiB answer, building and
    sending a 30 MiB request."""
    read = _growth("read", port)
    yield Figure("memory_to_read_30_mib_of_pictures", read["growth"] / read["size"], "×", 4.0, "hard")
    sent = _growth("send", port)
    yield Figure("memory_to_send_30_mib_of_pictures", sent["growth"] / sent["size"], "×", 2.5, "aim")


def _growth(what: str, port: int) -> dict[str, int]:
    program = [sys.executable, "-m", "tests.bench.memory", what, str(port)]
    done = subprocess.run(program, capture_output=True, text=True, check=True, timeout=120)
    measured: dict[str, int] = json.loads(done.stdout)
    return measured


async def _read(port: int) -> tuple[int, int]:
    """Return bytes of the body, and bytes that the process grew by."""
    client = Client(GuardPolicy(frozenset({("127.0.0.1", port)})))

    async def ask(path: str) -> int:
        target = Target(f"http://127.0.0.1:{port}{path}", AuthScheme.BEARER, lambda: SECRET)
        outcome, _ = await client.search(target, encode(SEARCH), SEARCH, track="multimodal")
        assert outcome.verdict is Verdict.OK
        return len(outcome.raw)

    await ask("/search")  # what is loaded once is not growth
    idle = _resident()
    size = await ask("/pictures")
    return size, _peak() - idle


async def _send(port: int) -> tuple[int, int]:
    """Return bytes of the body of an Add, and bytes that the process grew by, the pictures themselves included."""
    client = Client(GuardPolicy(frozenset({("127.0.0.1", port)})))
    target = Target(f"http://127.0.0.1:{port}/add", AuthScheme.BEARER, lambda: SECRET)

    async def add(pictures: int) -> int:
        urls = [PICTURE_URL + f"{at:04d}" for at in range(pictures)]
        messages = tuple(Message("user", (ImagePart(ImageUrl(url)),)) for url in urls)
        request = AddRequest("r", messages, "u", "s")
        body = encode(request)
        outcome, _ = await client.add(target, body, request, track="multimodal")
        assert outcome.verdict is Verdict.OK
        return len(body)

    await add(1)
    idle = _resident()
    size = await add(PICTURES)
    return size, _peak() - idle


def _resident() -> int:
    return _status("VmRSS")


def _peak() -> int:
    # not getrusage: what it tells begins with the peak of the parent
    return _status("VmHWM")


def _status(name: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    raise RuntimeError(f"no {name} in /proc/self/status: this figure needs Linux")


def _main(what: str, port: str) -> None:
    size, growth = asyncio.run((_read if what == "read" else _send)(int(port)))
    print(json.dumps({"size": size, "growth": growth}))


if __name__ == "__main__":
    _main(*sys.argv[1:])
