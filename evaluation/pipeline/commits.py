"""Many small results, few commits: what piles up while one commit runs goes into the next one together."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

__all__ = ["GroupCommit"]

T = TypeVar("T")


class GroupCommit(Generic[T]):
    """Hands results to `commit` in batches of at most `limit`, one batch at a time, in the order of `put`.

    A lone result is committed at once; a commit that follows another begins at the earliest `pace_s` seconds after it
    began, so that many quick results share what a commit costs whatever its size. When a commit fails, everybody whose
    result was in it or waits behind it gets its exception, and later results are refused with the same one.
    """

    def __init__(
        self, commit: Callable[[Sequence[T]], Awaitable[None]], *, limit: int = 64, pace_s: float = 0.0
    ) -> None:
        self._commit = commit
        self._limit = limit
        self._pace_s = pace_s
        self._next_at = 0.0
        self._waiting: list[tuple[T, asyncio.Future[None]]] = []
        self._worker: asyncio.Task[None] | None = None
        self._broken: BaseException | None = None

    async def put(self, result: T) -> None:
        """Return when `result` is kept. A caller that is cancelled meanwhile doesn't take it back."""
        if self._broken is not None:
            raise self._broken
        kept: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((result, kept))
        if self._worker is None or self._worker.done():
            self._worker = asyncio.create_task(self._work())
        await kept

    async def close(self) -> None:
        """Wait until everything that was put is kept or refused; never raises."""
        if self._worker is not None:
            await self._worker

    async def _work(self) -> None:
        loop = asyncio.get_running_loop()
        while self._waiting:
            if (early := self._next_at - loop.time()) > 0 and len(self._waiting) < self._limit:
                await asyncio.sleep(early)
            self._next_at = loop.time() + self._pace_s
            batch, self._waiting = self._waiting[: self._limit], self._waiting[self._limit :]
            try:
                await self._commit([result for result, _ in batch])
            except BaseException as error:  # whatever it is: nobody may wait for ever
                self._broken = error
                _settle(batch + self._waiting, error)
                self._waiting = []
            else:
                _settle(batch, None)


def _settle(batch: Sequence[tuple[object, asyncio.Future[None]]], error: BaseException | None) -> None:
    for _, kept in batch:
        if kept.done():  # its caller was cancelled
            continue
        if error is None:
            kept.set_result(None)
        else:
            kept.set_exception(error)
