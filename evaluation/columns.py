"""The score columns of a run side by side: the one that counts, and those that scoring again has added."""

from dataclasses import dataclass

from django.db.models import Avg, Count

from evaluation.models import Job, Judgement, Segment

__all__ = ["MAIN", "ScoreColumn", "columns_of", "evidence_head"]

MAIN = "main"


@dataclass(frozen=True, slots=True)
class ScoreColumn:
    """What a column comes to under a metric: the mean, 0 to 1, of its `n` scored questions."""

    column: str
    metric: str
    mean: float
    n: int

    @property
    def is_main(self) -> bool:
        return self.column == MAIN


def columns_of(job: Job) -> list[ScoreColumn]:
    """Every column of `job` by metric, the main one first; empty while there is no second one."""
    rows = (
        Judgement.objects.filter(item__job=job)
        .order_by()
        .values_list("column", "metric")
        .annotate(mean=Avg("score"), n=Count("pk"))
    )
    columns = sorted((ScoreColumn(*row) for row in rows), key=lambda row: (not row.is_main, row.column, row.metric))
    return columns if any(not row.is_main for row in columns) else []


def evidence_head(job: Job) -> dict[str, str | int]:
    """How many segments a run has sealed, and the digest of the last, which covers all before it; empty for none."""
    last = Segment.objects.filter(job=job).order_by("-number").first()
    return {"segments": last.number, "evidence_digest": last.digest} if last else {}
