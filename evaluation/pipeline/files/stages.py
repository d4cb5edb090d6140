"""How far each stage of a run is, for whoever watches."""

from dataclasses import dataclass
from typing import Final

__all__ = ["STAGES", "StageCount", "Stages"]

STAGES: Final = ("ingestion", "retrieval", "answering", "scoring")


@dataclass(slots=True)
class StageCount:
    """`done` of `total`, and how often something was tried again. `found` was done before this process began.

    `began_at` is when this process first had work of the stage, in seconds of any clock that only runs forward.
    `lanes` is how many calls go out at once after the last change that the server made necessary.
    """

    stage: str
    total: int
    done: int = 0
    retries: int = 0
    found: int = 0
    began_at: float | None = None
    lanes: int | None = None

    @property
    def is_done(self) -> bool:
        return self.done >= self.total

    def rate(self, now: float) -> float | None:
        """Units a second in this process; None while that can't be told."""
        if self.began_at is None or self.done == self.found or now <= self.began_at:
            return None
        return (self.done - self.found) / (now - self.began_at)

    def left_s(self, now: float) -> float | None:
        """Seconds to the stage's end at this rate; None while that can't be told."""
        rate = self.rate(now)
        return (self.total - self.done) / rate if rate else None


class Stages:
    """The counts of a run's stages."""

    def __init__(self, *, adds: int, searches: int) -> None:
        totals = {"ingestion": adds, "retrieval": searches, "answering": searches, "scoring": searches}
        self._counts = {stage: StageCount(stage, totals[stage]) for stage in STAGES}

    def __getitem__(self, stage: str) -> StageCount:
        return self._counts[stage]

    def all(self) -> list[StageCount]:
        """Every stage, in order."""
        return list(self._counts.values())

    def begin(self, stage: str, now: float) -> None:
        """Say that this process works on a stage from now on."""
        count = self._counts[stage]
        if count.began_at is None:
            count.began_at, count.found = now, count.done

    def add(self, stage: str, *, done: int = 0, retries: int = 0) -> None:
        count = self._counts[stage]
        count.done += done
        count.retries += retries
