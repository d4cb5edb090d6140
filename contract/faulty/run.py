"""Runs the misbehaving server until it is told to stop."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from contextlib import suppress

from contract.faulty.server import FaultyServer

__all__ = ["run"]


def run(server: FaultyServer, *, started: Callable[[FaultyServer], None]) -> None:
    """Serve until SIGINT or SIGTERM; `started` is told once the port is taken. Raises `OSError` when it is not free."""
    with suppress(KeyboardInterrupt):
        asyncio.run(_serve(server, started))


async def _serve(server: FaultyServer, started: Callable[[FaultyServer], None]) -> None:
    ended = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
    async with server:
        started(server)
        await ended.wait()
