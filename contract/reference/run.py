"""Runs the reference server until it is told to stop."""

from __future__ import annotations

import signal
import sys
import threading
from pathlib import Path

import uvicorn

from contract.auth import AuthScheme
from contract.reference.app import create_app
from contract.reference.store import MemoryStore

__all__ = ["run"]


def run(
    host: str = "127.0.0.1",
    port: int = 8801,
    database: str | Path = ":memory:",
    auth: AuthScheme = AuthScheme.NONE,
    key: str = "",
    *,
    deferred_s: float | None = None,
    log_level: str = "warning",
) -> None:
    """Serve on `host` and `port` until SIGINT or SIGTERM. `database` is a file, or ``:memory:``.

    With `deferred_s` Add answers 202 and stores that many seconds later, as a server with slow extraction would.

    Raises `ValueError` when `auth` asks for a key and there is none.
    """
    store = MemoryStore(database)
    try:
        app = create_app(store, auth=auth, key=key, deferred_s=deferred_s)
        _leave_quietly_on_sigterm()
        uvicorn.run(app, host=host, port=port, log_level=log_level, access_log=False, timeout_graceful_shutdown=5)
    except KeyboardInterrupt:  # uvicorn has shut down and passes the signal on
        pass
    finally:
        store.close()


def _leave_quietly_on_sigterm() -> None:
    """Have the signal that uvicorn raises again after its shutdown end the program with 0, the file closed."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
