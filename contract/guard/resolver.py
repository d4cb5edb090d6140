"""Looks host names up, in threads of its own so that slow names of one participant stall nothing else."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

__all__ = ["ResolutionFailed", "Resolver", "system_resolver"]

LOOKUP_SECONDS = 5.0
_THREADS = ThreadPoolExecutor(max_workers=8, thread_name_prefix="dns")


class ResolutionFailed(Exception):
    """The name does not resolve now."""


class Resolver(Protocol):
    """Returns the addresses of a host as text, in order of preference."""

    async def __call__(self, host: str, port: int, *, public: bool = True) -> Sequence[str]: ...


async def system_resolver(host: str, port: int, *, public: bool = True) -> Sequence[str]:
    """Return the addresses that the system's resolver knows, within 5 seconds, or raise `ResolutionFailed`.

    A `public` name is looked up with a dot at its end, so that no search domain is tried; a name on the
    operator's list may stand in the hosts file, which knows no such dot.
    """
    name = f"{host}." if public else host
    loop = asyncio.get_running_loop()
    lookup = loop.run_in_executor(_THREADS, socket.getaddrinfo, name, port, socket.AF_UNSPEC, socket.SOCK_STREAM)
    try:
        async with asyncio.timeout(LOOKUP_SECONDS):
            found = await lookup
    except (TimeoutError, OSError, UnicodeError) as error:
        raise ResolutionFailed(host) from error
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))
