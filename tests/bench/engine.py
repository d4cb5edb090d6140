"""How much of the ideal pace the engine reaches against a server of fixed latency, beside bare clients in the same run.

Efficiency is N x latency / (lanes x wall): 1 when every lane waits for the server and for nothing else. The engine
does its whole work: guard, credential, exchange, validation, receipts and retrievals in a database of its own. The
bare clients send the same bytes and look at nothing. `python -m tests.bench.engine PORT SECONDS LANES CALLS` measures
the engine alone, in a process of its own; with PROFILE=1 it prints where the loop's time goes.

Where the time is spent, on 2 cores that were shared with much other work (load 7): a call costs the loop 0.7 to 0.8 ms
of processor time (about a third of it sockets and selectors, then h11, the credential and validation) and the database
thread 0.55 to 0.6 ms (about a third in SQLite itself, most of the rest in the ORM's bulk_create). The two share one
interpreter lock, so by calculation some 750 calls a second are the end, where 50 ms with 64 lanes and 200 ms with 256
ask for 1,280. Not measured on an idle machine.
"""

from __future__ import annotations

import asyncio
import cProfile
import json
import os
import pstats
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.bench.calls import BODY, Call, bare_clients
from tests.bench.figures import Figure
from tests.bench.latency import running_latency
from tests.bench.real import environment

__all__ = ["engine_figures"]

SETTINGS = ((0.2, 64, 1200, 0.97), (0.05, 64, 4800, 0.90), (0.2, 256, 4800, 0.90))
"""Latency in seconds, lanes, calls, and the absolute aim."""
TO_BEST = 0.95


@asynccontextmanager
async def bare_streams(port: int) -> AsyncIterator[Call]:
    """The standard library's streams with bytes made beforehand: nothing but waiting."""
    head = f"POST /search HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(BODY)}\r\nConnection: close\r\n\r\n"
    request = head.encode() + BODY

    async def call() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(request)
        assert await reader.read()
        writer.close()

    yield call


def engine_figures() -> Iterator[Figure]:
    """Yield the efficiency at each setting, and its ratio to the best bare client's."""
    for latency_s, lanes, calls, aim in SETTINGS:
        with running_latency(latency_s) as port:
            reached = {name: _bare(client, port, lanes, calls) for name, client in _clients().items()}
            reached["engine"], added_ms = _engine(port, latency_s, lanes, calls)
            reached["streams"] = max(reached["streams"], _bare(bare_streams, port, lanes, calls))
        efficiency = {name: rate * latency_s / lanes for name, rate in reached.items()}
        best = max(value for name, value in efficiency.items() if name != "engine")
        print(f"{latency_s * 1000:.0f} ms, {lanes} lanes:", ", ".join(f"{n} {v:.3f}" for n, v in efficiency.items()))
        name = f"efficiency_{latency_s * 1000:.0f}_ms_{lanes}_lanes"
        yield Figure(f"{name}_to_best_bare_client", efficiency["engine"] / best, "×", TO_BEST, "hard", True)
        yield Figure(name, efficiency["engine"], "", aim, "aim", True)
        if (latency_s, lanes) == SETTINGS[0][:2]:
            yield Figure("added_latency_p95_64_lanes", added_ms, "ms", 5.0, "aim")


def _clients() -> dict[str, Callable[[int], Any]]:
    return {"streams": bare_streams} | {name: client for name, client in bare_clients().items() if name != "httpx"}


def _bare(client: Callable[[int], Any], port: int, lanes: int, calls: int) -> float:
    """Return calls a second of a bare client."""

    async def run() -> float:
        async with client(port) as call:
            shares = iter(range(calls))

            async def lane() -> None:
                for _ in shares:
                    await call()

            began = time.perf_counter()
            await asyncio.gather(*(lane() for _ in range(lanes)))
            return calls / (time.perf_counter() - began)

    return asyncio.run(run())


def _engine(port: int, latency_s: float, lanes: int, calls: int) -> tuple[float, float]:
    """Return calls a second of the engine, in a process and on a database of its own, and the 95th percentile of the
    milliseconds that a call's measured time is above the server's."""
    with tempfile.TemporaryDirectory() as folder:
        target = {"AML_ALLOWED_PRIVATE_TARGETS": f"127.0.0.1:{port}", "AML_ALLOW_PRIVATE_IN_PRODUCTION": "on"}
        env = environment(Path(folder), **target)
        program = [sys.executable, "-m", "tests.bench.engine", *map(str, (port, latency_s, lanes, calls))]
        done = subprocess.run(program, env=env, stdout=subprocess.PIPE, text=True, check=True, timeout=300)
    measured = json.loads(done.stdout.splitlines()[-1])
    return float(measured["rate"]), float(measured["p95_ms"]) - latency_s * 1000


def _measure(port: int, lanes: int, calls: int) -> dict[str, float]:
    """Collect a job of `calls` Searches; return how many a second its receipts came at, and their times' p95 in ms."""
    import django

    django.setup()
    from django.conf import settings
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    from evaluation import slices
    from evaluation.lease import acquire, heartbeat
    from evaluation.models import Receipt
    from evaluation.pipeline.control import Control
    from tests.engine.suite import make_job, make_version, open_test_release
    from tests.engine.talks import write_bundle

    folder = write_bundle(Path(settings.VAR_DIR) / "bundle", scopes=1, sessions=1, questions=calls)
    job = make_job(open_test_release(folder), make_version(f"http://127.0.0.1:{port}"), lanes=lanes)
    lease, control = acquire(job.pk, at=slices.timezone.now()), Control(budget_s=600)
    assert lease is not None
    with heartbeat(lease, control):
        collecting = slices._Slice(lease, control, slices.timezone.now, slices.ModelRetry())
        collecting._suite = slices.JobSuite(collecting._job)
        slices.prepare(collecting._job, lease, collecting._suite, at=collecting._clock())
        collecting._progress = slices.Progress(job.pk)
        with slices.DatabaseThread() as collecting._thread:
            _profiled(lambda: asyncio.run(collecting._collect()))
    rows = Receipt.objects.filter(job=job, kind="search").values_list("started_at", "ended_at", "latency_ms")
    started, ended, latencies = zip(*rows, strict=True)
    assert len(latencies) == calls
    wall_s = (max(ended) - min(started)).total_seconds()
    return {"rate": calls / wall_s, "p95_ms": sorted(latencies)[int(calls * 0.95)]}


def _profiled(work: Callable[[], object]) -> None:
    if not os.environ.get("PROFILE"):
        work()
        return
    profile = cProfile.Profile()
    profile.runcall(work)
    pstats.Stats(profile, stream=sys.stderr).sort_stats("tottime").print_stats(35)


if __name__ == "__main__":
    print(json.dumps(_measure(int(sys.argv[1]), int(sys.argv[3]), int(sys.argv[4]))))
