"""What may stop a slice of work, and when: read by the work, written from threads and signal handlers."""

import time
from enum import StrEnum

__all__ = ["Control", "Halt"]


class Halt(StrEnum):
    """Why everything stops at once, calls in flight included."""

    LOST = "lost"
    CANCELLED = "cancelled"
    DRAINED = "drained"


class Control:
    """A slice's brakes. `closing` lets what is in flight end and starts nothing new; `halted` ends that too."""

    def __init__(self, *, budget_s: float) -> None:
        self._ends = time.monotonic() + budget_s
        self._halt: Halt | None = None

    def halt(self, why: Halt) -> None:
        """Stop at once. The first reason stays, but a lost lease outranks every other: nothing may be kept then."""
        if self._halt is None or why is Halt.LOST:
            self._halt = why

    @property
    def halted(self) -> Halt | None:
        return self._halt

    @property
    def closing(self) -> bool:
        return self._halt is not None or time.monotonic() >= self._ends
