"""Sums up evidence recall at k, the cause of each wrong answer, and signs of a search that doesn't search.

Sums only, so that ten times the questions take no more memory.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any, Final

from benchmarks.datasets.model import Question
from benchmarks.scoring.retrieval import ndcg, recall_any
from contract.words import gettext_noop
from evaluation.pipeline.analysis.found import RULE

__all__ = ["ATTRIBUTION_RULE", "CAUSES", "DEPTHS", "WRONG_BELOW", "AnalysisSums", "cause_of"]

DEPTHS: Final = (5, 10, 25, 50, 100)
WRONG_BELOW: Final = 0.5
"""An answer with a lower score counts as wrong."""
ATTRIBUTION_RULE: Final = "attribution.v1"
NEVER_WRITTEN: Final = "never_written"
NOT_RETRIEVED: Final = "not_retrieved"
NOT_USED: Final = "retrieved_not_used"
MODEL_OR_LABEL: Final = "model_or_label"
ANSWERED_ANYWAY: Final = "answered_unanswerable"
CAUSES: Final = {
    NEVER_WRITTEN: gettext_noop("never written"),
    NOT_RETRIEVED: gettext_noop("not retrieved"),
    NOT_USED: gettext_noop("retrieved and not used"),
    MODEL_OR_LABEL: gettext_noop("model or label"),
    ANSWERED_ANYWAY: gettext_noop("answered though it can't be"),
}


def cause_of(question: Question, score: float | None, *, is_written: bool, ranks: Sequence[int | None]) -> str:
    """Return why an answer is wrong, a key of CAUSES; empty for one that isn't.

    `is_written` says whether every evidence turn was in an acknowledged Add before the question was asked, `ranks`
    where each one was found.
    """
    if score is None or score >= WRONG_BELOW:
        return ""
    if not question.answerable:
        return ANSWERED_ANYWAY
    if not question.evidence:
        return MODEL_OR_LABEL
    if not is_written:
        return NEVER_WRITTEN
    return NOT_RETRIEVED if None in ranks else NOT_USED


class AnalysisSums:
    """Takes one question after another; `recall`, `attribution` and `signs` are JSON values, shares 0 to 1."""

    def __init__(self) -> None:
        self._items = self._with_evidence = self._empty = self._same = 0
        self._at: dict[int, defaultdict[str, float]] = {k: defaultdict(float) for k in DEPTHS}
        self._causes: Counter[str] = Counter()
        self._by_category: dict[str, Counter[str]] = defaultdict(Counter)

    def add(self, question: Question, *, ranks: Sequence[int | None], returned: int, is_same: bool, cause: str) -> None:
        """Count a question. `is_same` says that it got the memories of the scope's question before it."""
        self._items += 1
        self._empty += returned == 0
        self._same += is_same
        if cause:
            self._causes[cause] += 1
            self._by_category[question.category][cause] += 1
        if question.evidence and question.answerable:
            self._add_ranks(ranks, returned)

    def _add_ranks(self, ranks: Sequence[int | None], returned: int) -> None:
        self._with_evidence += 1
        found = Counter(rank for rank in ranks if rank is not None)
        relevance = [float(found[place]) for place in range(1, returned + 1)]
        for k, sums in self._at.items():
            within = sum(count for rank, count in found.items() if rank <= k)
            sums["turns"] += within / len(ranks)
            sums["any"] += recall_any(relevance, k)
            sums["all"] += within == len(ranks)
            sums["ndcg"] += ndcg(relevance, k)

    def recall(self) -> dict[str, Any]:
        """Evidence recall: by depth the mean share of turns, any and all of them, and ndcg, over `n` questions."""
        n = self._with_evidence
        at = {str(k): {name: _rounded(sums[name], n) for name in _MEASURES} for k, sums in self._at.items()}
        return {"rule": RULE, "n": n, "at": at if n else {}}

    def attribution(self) -> dict[str, Any]:
        """Wrong answers by cause, and by category and cause."""
        return {
            "rule": ATTRIBUTION_RULE,
            "wrong_below": WRONG_BELOW,
            "n": self._items,
            "wrong": self._causes.total(),
            "counts": {cause: self._causes[cause] for cause in CAUSES},
            "categories": {name: dict(sorted(counts.items())) for name, counts in sorted(self._by_category.items())},
        }

    def signs(self) -> dict[str, float]:
        """The shares of Searches that returned nothing, and that returned what the one before had returned."""
        return {"empty_share": _rounded(self._empty, self._items), "same_share": _rounded(self._same, self._items)}


_MEASURES: Final = ("turns", "any", "all", "ndcg")


def _rounded(total: float, n: int) -> float:
    return round(total / n, 6) if n else 0.0
