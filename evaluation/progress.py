"""How far each stage of a job is, counted by the one worker that holds its lease."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from django.utils import timezone

from contract.retry import TryAgain
from contract.verdicts import Verdict
from evaluation.models import Job, StageProgress
from evaluation.pipeline.plan import PlannedAdd
from evaluation.pipeline.ports import Attempt, Clock, LaneChange

__all__ = ["Progress"]

MOST_CHANGES = 200
"""Changes of concurrency that a stage keeps."""


class Progress:
    """A job's stages, read once at the start of a slice and written in the transactions that do the work.

    After a transaction that was rolled back this must not be used again.
    """

    def __init__(self, job_id: UUID, *, clock: Clock = timezone.now) -> None:
        self._clock = clock
        self._rows = {row.stage: row for row in StageProgress.objects.filter(job_id=job_id)}
        self._changed: set[str] = set()

    def is_done(self, stage: str) -> bool:
        """Whether nothing of the stage is left."""
        row = self._rows[stage]
        return row.done >= row.total

    def count(self, attempts: Sequence[Attempt]) -> str:
        """Count attempts on the wire; return the stage that the job is in with them."""
        for attempt in attempts:
            stage = Job.Stage.INGESTION if isinstance(attempt.event, PlannedAdd) else Job.Stage.RETRIEVAL
            again = isinstance(attempt.decision, TryAgain) and attempt.outcome.verdict is not Verdict.PENDING
            self.add(stage, done=int(attempt.state.done), retries=int(again))
            if attempt.lanes is not None:
                self._note(stage, attempt.lanes)
        return Job.Stage.RETRIEVAL if self.is_done(Job.Stage.INGESTION) else Job.Stage.INGESTION

    def lanes(self, stage: str) -> int | None:
        """How many calls of the stage went out at once last; None when that was never changed."""
        history = self._rows[stage].throttle
        return int(history[-1][1]) if history else None

    def _note(self, stage: str, change: LaneChange) -> None:
        """Keep a change of concurrency. A long history loses every other one of its older entries."""
        history = self._rows[stage].throttle
        history.append([change.at.isoformat(), change.lanes, change.cause])
        if len(history) > MOST_CHANGES:
            half = MOST_CHANGES // 2
            self._rows[stage].throttle = history[:half:2] + history[half:]

    def add(self, stage: str, *, done: int = 0, retries: int = 0) -> None:
        """Count work of a stage; `save` writes it."""
        row, at = self._rows[stage], self._clock()
        row.done += done
        row.retries += retries
        row.started_at = row.started_at or at
        row.ended_at = at if self.is_done(stage) else None
        self._changed.add(stage)

    def close(self, stage: str, at: datetime) -> None:
        """Say that a stage is over, also when there was nothing to do in it."""
        row = self._rows[stage]
        row.started_at, row.ended_at = row.started_at or at, row.ended_at or at
        self._changed.add(stage)

    def save(self) -> None:
        """Write what changed."""
        for stage in sorted(self._changed):
            self._rows[stage].save(update_fields=["done", "retries", "throttle", "started_at", "ended_at"])
        self._changed.clear()
