"""Ranks from scores alone."""

from collections.abc import Sequence
from dataclasses import dataclass

METHOD = "score.v1"


@dataclass(frozen=True, slots=True)
class Standing:
    """`rank` counts from 1; `tied` when another one shares it."""

    rank: int
    tied: bool


def rank_by_score(scores: Sequence[float]) -> list[Standing]:
    """Give each score its standing, in the order of `scores`: 1 + the number of greater scores, so exact ties share."""
    return [Standing(rank=1 + sum(other > score for other in scores), tied=scores.count(score) > 1) for score in scores]
