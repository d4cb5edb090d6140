"""The last stage: a job's items and receipts become its Result."""

from typing import Any

from evaluation.analysing import Analysis
from evaluation.models import Item, Job, Receipt, Result, Retrieval
from evaluation.pipeline.aggregate import ScoredItem, aggregate, efficiency_facts

__all__ = ["make_result"]

_FIELDS = ("question_key", "step", "state", "score", "category", "capability", "scope__bundle", "answerable")


def make_result(job: Job, analysis: Analysis | None = None, budget_curve: dict[str, Any] | None = None) -> Result:
    """Write the job's Result; call it inside the transaction that ends the job."""
    analysis = analysis or Analysis()
    rows = Item.objects.filter(job=job).order_by().values_list(*_FIELDS)
    facts = aggregate(ScoredItem(*row) for row in rows.iterator())
    return Result.objects.create(
        job=job,
        overall=facts.overall,
        n=facts.n,
        coverage=facts.coverage,
        answerable=facts.answerable,
        categories=facts.categories,
        capabilities=facts.capabilities,
        datasets=facts.datasets,
        states=facts.states,
        efficiency=_efficiency(job) | analysis.efficiency,
        recall=analysis.recall,
        attribution=analysis.attribution,
        budget_curve=budget_curve or {},
        digest=facts.digest,
    )


def _efficiency(job: Job) -> dict[str, float]:
    good = Receipt.objects.filter(job=job, verdict="ok").order_by()
    returned = list(Retrieval.objects.filter(item__job=job).values_list("characters", "count"))
    return efficiency_facts(
        add_ms=list(good.filter(kind="add").values_list("latency_ms", flat=True)),
        search_ms=list(good.filter(kind="search").values_list("latency_ms", flat=True)),
        characters=[characters for characters, _ in returned],
        memories=[count for _, count in returned],
    )
