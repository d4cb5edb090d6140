"""Event ordering: how well a list of events agrees with the right one (`beam.rubric.v1`, ordering questions).

Source: the public description of BEAM; Kendall's tau-b. Public evaluators differ on a list of one item, which here
scores 1 when it is right.
"""

from collections.abc import Hashable, Sequence
from itertools import combinations
from math import sqrt

__all__ = ["ordering_score"]


def ordering_score(gold: Sequence[Hashable], prediction: Sequence[Hashable]) -> float:
    """Return tau_norm × F1, from 0 to 1.

    F1 is over the two sets of items. tau_norm = (tau_b + 1) / 2 over the union of the items, ranked by their place
    in each list; an item that a list lacks has the rank |union| + 1 there. Where tau-b is undefined (one item, or
    every item tied) it is 1 if the lists are equal, else 0.
    """
    if not gold or not prediction:
        return 0.0
    shared = set(gold) & set(prediction)
    if not shared:
        return 0.0
    f1 = 2 * len(shared) / (len(set(gold)) + len(set(prediction)))
    return _tau_norm(gold, prediction) * f1


def _tau_norm(gold: Sequence[Hashable], prediction: Sequence[Hashable]) -> float:
    union = list(dict.fromkeys([*gold, *prediction]))
    absent = len(union) + 1
    first, second = ([_ranks(items).get(item, absent) for item in union] for items in (gold, prediction))
    signs = [(_sign(first[i] - first[j]), _sign(second[i] - second[j])) for i, j in combinations(range(len(union)), 2)]
    untied_first = sum(abs(a) for a, _ in signs)
    untied_second = sum(abs(b) for _, b in signs)
    if not untied_first or not untied_second:
        return float(list(gold) == list(prediction))
    return (sum(a * b for a, b in signs) / sqrt(untied_first * untied_second) + 1) / 2


def _ranks(items: Sequence[Hashable]) -> dict[Hashable, int]:
    ranks: dict[Hashable, int] = {}
    for rank, item in enumerate(items, 1):
        ranks.setdefault(item, rank)
    return ranks


def _sign(value: int) -> int:
    return (value > 0) - (value < 0)
