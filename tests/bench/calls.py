"""Processor time of a whole guarded call beside that of bare clients, each with a new connection for every call."""

from __future__ import annotations

import asyncio
import importlib.util
import statistics
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager

import httpcore
import httpx

from contract.client import AuthScheme, Client, Target
from contract.guard import GuardPolicy
from contract.messages import encode
from contract.verdicts import Verdict
from tests.bench.figures import Figure
from tests.bench.samples import SEARCH

__all__ = ["call_figures"]

ROUNDS = 7
CALLS = 320
LANES = 16
SECRET = "sk-bench-0123456789abcdefghijklmnopqrstuv"
BODY = encode(SEARCH)

Call = Callable[[], Awaitable[None]]


@asynccontextmanager
async def guarded(port: int) -> AsyncIterator[Call]:
    """The whole of what the platform does: guard, credential, exchange, redaction, validation, receipt."""
    client = Client(GuardPolicy(frozenset({("127.0.0.1", port)})))
    target = Target(f"http://127.0.0.1:{port}/search", AuthScheme.BEARER, lambda: SECRET)

    async def call() -> None:
        outcome, receipt = await client.search(target, BODY, SEARCH, track="textual")
        assert outcome.verdict is Verdict.OK
        assert receipt.http_status == 200

    yield call


def _headers() -> dict[str, str]:
    return {"authorization": f"Bearer {SECRET}", "content-type": "application/json", "connection": "close"}


@asynccontextmanager
async def bare_httpx(port: int) -> AsyncIterator[Call]:
    url, headers = f"http://127.0.0.1:{port}/search", _headers()
    limits = httpx.Limits(max_connections=LANES, max_keepalive_connections=0)
    async with httpx.AsyncClient(trust_env=False, limits=limits, timeout=30) as client:

        async def call() -> None:
            assert (await client.post(url, content=BODY, headers=headers)).content

        yield call


@asynccontextmanager
async def bare_httpcore(port: int) -> AsyncIterator[Call]:
    origin = httpcore.Origin(b"http", b"127.0.0.1", port)
    headers = {**_headers(), "host": "127.0.0.1", "content-length": str(len(BODY))}
    fields = [(name.encode(), value.encode()) for name, value in headers.items()]

    async def call() -> None:
        async with httpcore.AsyncHTTPConnection(origin) as connection:
            url = httpcore.URL(scheme=b"http", host=b"127.0.0.1", port=port, target=b"/search")
            response = await connection.request("POST", url, headers=fields, content=BODY)
            assert response.content

    yield call


@asynccontextmanager
async def bare_aiohttp(port: int) -> AsyncIterator[Call]:
    import aiohttp  # not among the project's packages: measured where it is installed

    url, headers = f"http://127.0.0.1:{port}/search", _headers()
    connector = aiohttp.TCPConnector(force_close=True, limit=LANES)
    async with aiohttp.ClientSession(connector=connector, auto_decompress=False, trust_env=False) as session:

        async def call() -> None:
            async with session.post(url, data=BODY, headers=headers) as response:
                assert await response.read()

        yield call


def bare_clients() -> dict[str, Callable[[int], object]]:
    """Return the bare clients that are installed, by name."""
    clients = {"httpx": bare_httpx, "httpcore": bare_httpcore}
    if importlib.util.find_spec("aiohttp"):
        clients["aiohttp"] = bare_aiohttp
    return clients


async def _round(call: Call, calls: int) -> float:
    """Return microseconds of processor time a call, over `LANES` lanes at once."""
    shares = iter(range(calls))

    async def lane() -> None:
        for _ in shares:
            await call()

    began = time.process_time()
    await asyncio.gather(*(lane() for _ in range(LANES)))
    return (time.process_time() - began) / calls * 1e6


async def _measure(port: int) -> dict[str, list[float]]:
    """Measure every client in turn, round after round, so that a slow moment of the machine meets all."""
    clients = {"guarded": guarded, **bare_clients()}
    times: dict[str, list[float]] = {name: [] for name in clients}
    for number in range(ROUNDS + 1):
        for name, client in clients.items():
            async with client(port) as call:
                spent = await _round(call, CALLS)
            if number:  # the first round warms up
                times[name].append(spent)
    return times


def call_figures(port: int) -> Iterator[Figure]:
    """Yield the figures of a whole call: microseconds, and its ratio to a bare httpx call and to the best bare one."""
    times = asyncio.run(_measure(port))
    middle = {name: statistics.median(spent) for name, spent in times.items()}
    best = min((name for name in middle if name != "guarded"), key=middle.__getitem__)
    print(", ".join(f"{name} {spent:.0f} µs" for name, spent in middle.items()), f"a call; best bare client {best}")

    def ratio(other: str) -> float:
        return statistics.median(ours / theirs for ours, theirs in zip(times["guarded"], times[other], strict=True))

    yield Figure("call_to_bare_httpx", ratio("httpx"), "×", 1.0, "hard")
    yield Figure("call_to_best_bare_client", ratio(best), "×", 2.0, "aim")
