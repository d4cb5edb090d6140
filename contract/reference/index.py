"""Ranks one user's turns by BM25, and grows as turns come in.

Source: Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009), with the idf that
never turns negative.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable
from heapq import nsmallest

from contract.reference.tokens import tokenise

__all__ = ["Bm25Index"]

K1 = 1.2
B = 0.75


class Bm25Index:
    """An inverted index over texts, each with the time that breaks a tie: of two equal scores the newer is first."""

    def __init__(self) -> None:
        self._postings: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
        self._lengths: list[int] = []
        self._times: list[float] = []
        self._total = 0

    def __len__(self) -> int:
        return len(self._lengths)

    def add(self, text: str, time: float) -> None:
        """Append a text; its number is the count of texts before it."""
        terms = tokenise(text)
        number = len(self._lengths)
        for term, frequency in Counter(terms).items():
            self._postings[term].append((number, frequency))
        self._lengths.append(len(terms))
        self._times.append(time)
        self._total += len(terms)

    def search(self, query: str, limit: int) -> list[tuple[int, float]]:
        """Return numbers and scores of at most `limit` texts that share a term with `query`, best first."""
        scores = self._scores(set(tokenise(query)))
        ranked = nsmallest(limit, scores, key=lambda number: (-scores[number], -self._times[number], -number))
        return [(number, scores[number]) for number in ranked]

    def _scores(self, terms: Iterable[str]) -> dict[int, float]:
        count = len(self._lengths)
        mean = self._total / count if self._total else 1.0
        scores: defaultdict[int, float] = defaultdict(float)
        for term in sorted(terms):  # a fixed order, so that sums are the same on every run
            postings = self._postings.get(term, ())
            idf = math.log(1 + (count - len(postings) + 0.5) / (len(postings) + 0.5))
            for number, frequency in postings:
                norm = K1 * (1 - B + B * self._lengths[number] / mean)
                scores[number] += idf * frequency * (K1 + 1) / (frequency + norm)
        return {number: round(score, 6) for number, score in scores.items()}
