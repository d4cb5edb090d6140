"""One thread for all SQL of a slice, so that the event loop never waits for the database."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any, TypeVar

from django.db import connections

__all__ = ["DatabaseThread"]

T = TypeVar("T")


class DatabaseThread:
    """Runs functions one after another on a thread that has a connection of its own, closed at the end."""

    def __enter__(self) -> "DatabaseThread":
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="database")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._executor.submit(connections.close_all)
        self._executor.shutdown()

    async def run(self, function: Callable[..., T], *arguments: Any) -> T:
        """Return what `function(*arguments)` returns on the database thread."""
        return await asyncio.get_running_loop().run_in_executor(self._executor, function, *arguments)
