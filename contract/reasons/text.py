"""The shape of a reason's sentences."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ReasonText"]


@dataclass(frozen=True, slots=True)
class ReasonText:
    """Sentences about one cause, English literals that a catalogue translates.

    `expected` says what the platform wanted and `advice` what to do next; what came stands in `Reason.got`.
    """

    code: str
    expected: str
    advice: str
