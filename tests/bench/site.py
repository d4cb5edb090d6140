"""A board of 200 entries over real HTTP: out of memory, made anew, and nginx with a file of the same size beside them.

`python -m tests.bench.site` fills the database that the settings name. The load is wrk's for the limits, and requests
at a fixed pace for how long one takes.
"""

from __future__ import annotations

import asyncio
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from tests.bench.figures import Figure
from tests.bench.real import environment

__all__ = ["site_figures"]

BOARD = "/en/leaderboard/cycle-2/textual/open_source/"
ENTRIES = 200
SECONDS = 5
CONNECTIONS = 16
PACE = 100
"""Requests a second while their times are taken."""


def site_figures() -> Iterator[Figure]:
    """Yield requests a second of the board, cached and not, the cached one's ratio to nginx, and its p99 at a pace."""
    with tempfile.TemporaryDirectory() as folder:
        env = environment(Path(folder))
        subprocess.run([sys.executable, "-m", "tests.bench.site"], env=env, check=True, timeout=300)
        with _portal(env) as site:
            page = httpx.get(site + BOARD).content
            cached = _rate(site + BOARD)
            p99 = asyncio.run(_p99_ms(site + BOARD))
        with _portal({**env, "CACHE_URL": "dummycache://"}) as site:
            uncached = _rate(site + BOARD, "Cookie: made=anew")
        with _nginx(Path(folder), page) as site:
            limit = _rate(site + "/board.html")
    print(f"board of {ENTRIES} entries, {len(page):,} bytes: nginx {limit:,.0f} requests/s")
    yield Figure("cached_board_to_nginx", cached / limit, "×", 1 / 20, "hard", True)
    yield Figure("cached_board_requests_a_second", cached, "/s", 4000, "aim", True)
    yield Figure("uncached_board_requests_a_second", uncached, "/s", 150, "aim", True)
    yield Figure("board_p99_at_100_requests_a_second", p99, "ms", 50, "aim")


@contextmanager
def _portal(env: dict[str, str]) -> Iterator[str]:
    port = _free_port()
    program = [sys.executable, "manage.py", "serve", "--port", str(port)]
    process = subprocess.Popen(program, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield _reachable(f"http://127.0.0.1:{port}", "/healthz")
    finally:
        process.terminate()
        process.wait(30)


@contextmanager
def _nginx(folder: Path, page: bytes) -> Iterator[str]:
    port = _free_port()
    (folder / "board.html").write_bytes(page)
    configuration = folder / "nginx.conf"
    configuration.write_text(
        f"daemon off; pid {folder}/nginx.pid; error_log {folder}/nginx.log; worker_processes auto;\n"
        f"user {_owner()};\n"
        "events { worker_connections 512; }\n"
        f"http {{ access_log off; client_body_temp_path {folder}/b; proxy_temp_path {folder}/p;\n"
        f"fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;\n"
        f"server {{ listen 127.0.0.1:{port}; root {folder}; }} }}\n"
    )
    process = subprocess.Popen(["nginx", "-c", str(configuration)], stderr=subprocess.DEVNULL)
    try:
        yield _reachable(f"http://127.0.0.1:{port}", "/board.html")
    finally:
        process.terminate()
        process.wait(10)


def _owner() -> str:
    import pwd

    return pwd.getpwuid(os.getuid()).pw_name


def _reachable(site: str, path: str) -> str:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            if httpx.get(site + path).status_code == 200:
                return site
        except httpx.HTTPError:
            pass
        time.sleep(0.1)
    raise RuntimeError(f"{site}{path} did not answer within a minute")


def _rate(url: str, *headers: str) -> float:
    """Requests a second by wrk, which fails when not every answer is a 200."""
    more = [part for header in headers for part in ("--header", header)]
    program = ["wrk", "--threads", "1", "--connections", str(CONNECTIONS), "--duration", f"{SECONDS}s", *more, url]
    subprocess.run([*program[:5], "--duration", "1s", *more, url], check=True, stdout=subprocess.DEVNULL, timeout=30)
    done = subprocess.run(program, check=True, capture_output=True, text=True, timeout=60)
    if "Non-2xx" in done.stdout or not (found := re.search(r"Requests/sec:\s+([0-9.]+)", done.stdout)):
        raise RuntimeError(done.stdout)
    return float(found[1])


async def _p99_ms(url: str) -> float:
    """The 99th percentile of a request's time, begun at an even pace whatever the earlier ones do."""
    times: list[float] = []

    async def ask(client: httpx.AsyncClient) -> None:
        began = time.perf_counter()
        assert (await client.get(url)).status_code == 200
        times.append((time.perf_counter() - began) * 1000)

    async with httpx.AsyncClient(timeout=30) as client, asyncio.TaskGroup() as group:
        await client.get(url)
        began = time.perf_counter()
        for number in range(PACE * SECONDS):
            await asyncio.sleep(max(0.0, began + number / PACE - time.perf_counter()))
            group.create_task(ask(client))
    return sorted(times)[int(len(times) * 0.99)]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _fill() -> None:
    import django

    django.setup()
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    from leaderboard.services import publish_board
    from tests.leaderboard.builders import AT, make_approved_run, make_board

    for number in range(ENTRIES):
        make_approved_run(0.3 + number / 1000, system=f"System {number}", team=f"Team {number}")
    publish_board(board=make_board(), actor="organizer:bench", reason="Measured.", at=AT)


if __name__ == "__main__":
    _fill()
