"""Lanes that follow what a server bears: as many calls at once as were declared, fewer where it says that it is busy.

A 429 begins an episode: a fifth of the lanes closes, once, whatever else comes within its cool-down. While all is well
the lanes grow again by 5% each time that as many calls as there are lanes have succeeded. A 5xx, and a call without a
whole answer, stop growth for as long as a cool-down; the first of such an episode is told, though no lane closes.
Retry-After holds back every call of the kind, not only the one that was told.
"""

import asyncio
from collections import deque
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import TracebackType

from contract.answers import Outcome
from contract.receipts import Receipt
from contract.retry import LIMITS
from contract.verdicts import Verdict

__all__ = ["LaneChange", "Lanes"]

COOL_DOWN_S = 15.0
SHRINK = 0.8
GROW = 1.05
TOO_MANY = 429


@dataclass(frozen=True, slots=True)
class LaneChange:
    """From `at` on, `lanes` calls go out at once.

    `cause` is busy (429), well, or what keeps the lanes from growing: failing (another status that is tried again),
    silent (no whole answer: a time-out, a reset, a body cut short).
    """

    at: datetime
    lanes: int
    cause: str


class Lanes:
    """Holds at most `open` of `cap` lanes; use it as a context manager around a call. Belongs to one event loop.

    `start` is how many were open when the last slice ended.
    """

    def __init__(self, cap: int, *, start: int | None = None) -> None:
        self._cap = cap
        self._limit = float(min(cap, start or cap))
        self._used = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._well = 0
        self._calm_at: datetime | None = None
        self._episode_ends: datetime | None = None
        self._trouble_ends: dict[str, datetime] = {}
        self.held_until: datetime | None = None

    @property
    def open(self) -> int:
        return max(1, int(self._limit + 1e-9))

    async def __aenter__(self) -> None:
        if self._used < self.open and not self._waiting:
            self._used += 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():  # it came at the same moment: hand it on
                self._leave()
            raise

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._leave()

    def hear(self, outcome: Outcome, receipt: Receipt, now: datetime) -> LaneChange | None:
        """Take in how a call went; return the change that this makes, if it does."""
        before = self.open
        status = receipt.http_status or 0
        if status == TOO_MANY:
            self._shrink(outcome, now)
        elif outcome.verdict is Verdict.RETRY:
            return self._stop_growing("failing" if status >= 400 else "silent", now)
        elif outcome.verdict in (Verdict.OK, Verdict.PENDING):
            self._grow(now)
        if self.open == before:
            return None
        self._let_in()
        return LaneChange(now, self.open, "busy" if self.open < before else "well")

    def _shrink(self, outcome: Outcome, now: datetime) -> None:
        wait = min(LIMITS.longest_retry_after_s, outcome.retry_after_s or 0.0)
        if wait:
            until = now + timedelta(seconds=wait)
            self.held_until = max(self.held_until or until, until)
        ends = now + timedelta(seconds=max(wait, COOL_DOWN_S))
        if self._episode_ends is None or now >= self._episode_ends:
            self._limit = max(1.0, self._limit * SHRINK)
            self._episode_ends = ends
        self._well = 0
        self._calm_at = max(self._calm_at or ends, ends)

    def _stop_growing(self, cause: str, now: datetime) -> LaneChange | None:
        """Return what to tell of the trouble `cause`, where this is the first of its episode."""
        ends = now + timedelta(seconds=COOL_DOWN_S)
        is_first = now >= self._trouble_ends.get(cause, now)
        if is_first:
            self._trouble_ends[cause] = ends
        self._well = 0
        self._calm_at = max(self._calm_at or ends, ends)
        return LaneChange(now, self.open, cause) if is_first else None

    def _grow(self, now: datetime) -> None:
        if self._limit >= self._cap or (self._calm_at is not None and now < self._calm_at):
            return
        self._well += 1
        if self._well >= self.open:
            self._well = 0
            self._limit = min(float(self._cap), self._limit * GROW)

    def _leave(self) -> None:
        self._used -= 1
        self._let_in()

    def _let_in(self) -> None:
        while self._waiting and self._used < self.open:
            turn = self._waiting.popleft()
            if not turn.done():  # else its caller was cancelled
                self._used += 1
                turn.set_result(None)
