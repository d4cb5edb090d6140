"""How much of the wanted evidence a ranked list holds.

Source: the public description of LongMemEval's retrieval measures.
"""

from collections.abc import Sequence
from math import log2

__all__ = ["ndcg", "recall_all", "recall_any"]


def recall_any(relevance: Sequence[float], k: int) -> float:
    """Return 1 if any of the first `k` items is relevant, else 0."""
    return float(any(value > 0 for value in relevance[:k]))


def recall_all(relevance: Sequence[float], wanted: int, k: int) -> float:
    """Return 1 if the first `k` items hold all `wanted` relevant ones, else 0."""
    return float(sum(value > 0 for value in relevance[:k]) >= wanted)


def ndcg(relevance: Sequence[float], k: int) -> float:
    """Return the DCG of the first `k` items over the best that the same relevances allow; 0 if none is relevant.

    DCG = rel_1 + the sum over i from 2 of rel_i / log2(i), so that the first two places weigh the same.
    """
    best = _dcg(sorted(relevance, reverse=True), k)
    return _dcg(relevance, k) / best if best > 0 else 0.0


def _dcg(relevance: Sequence[float], k: int) -> float:
    return sum(value / (log2(place) if place > 1 else 1.0) for place, value in enumerate(relevance[:k], 1))
