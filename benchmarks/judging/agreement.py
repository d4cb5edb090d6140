"""How far votes on the same items agree beyond chance.

Source: K. Krippendorff, Computing Krippendorff's Alpha-Reliability (2011), nominal data.
"""

from collections import Counter
from collections.abc import Hashable, Sequence

__all__ = ["krippendorff_nominal"]


def krippendorff_nominal(units: Sequence[Sequence[Hashable]]) -> float:
    """Return Krippendorff's alpha of nominal votes: 1 is full agreement, 0 is chance, below 0 is worse.

    `units` holds the votes on each item; an item with fewer than two votes is left out. Where all votes are the same
    it is 1. Raises ValueError when no item has two votes.
    """
    counted = [Counter(votes) for votes in units if len(votes) > 1]
    totals: Counter[Hashable] = sum(counted, Counter())
    n = totals.total()
    if n == 0:
        raise ValueError("expected at least one item with two votes")
    by_chance = n * n - sum(count * count for count in totals.values())
    if by_chance == 0:
        return 1.0
    observed = sum(_disagreement(votes) for votes in counted)
    return 1 - (n - 1) * observed / by_chance


def _disagreement(votes: Counter[Hashable]) -> float:
    m = votes.total()
    return (m * m - sum(count * count for count in votes.values())) / (m - 1)
