"""The budget curve: what a run would score with only the first memories of each Search, on a fixed sample."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from math import fsum
from typing import Any, Final

from evaluation.pipeline.analysis.facts import DEPTHS

__all__ = ["SAMPLE", "curve_facts", "sample_keys"]

SAMPLE: Final = 100
"""At most so many questions are answered again at each depth."""


def sample_keys(items: Iterable[tuple[str, int, str]], *, seed: str, size: int = SAMPLE) -> frozenset[tuple[str, int]]:
    """Return the key and step of the sampled questions among `items` (key, step, category), whatever their order.

    The categories take turns, so that each has its part; within one the order is that of a hash with `seed`.
    """
    groups: dict[str, list[tuple[bytes, str, int]]] = defaultdict(list)
    for key, step, category in items:
        place = sha256(f"{seed}\x1f{key}\x1f{step}".encode()).digest()
        groups[category].append((place, key, step))
    turns = sorted(
        (number, category, key, step)
        for category, group in groups.items()
        for number, (_, key, step) in enumerate(sorted(group))
    )
    return frozenset((key, step) for _, _, key, step in turns[:size])


def curve_facts(scores: Mapping[int, Sequence[float]], *, seed: str, missing: str = "") -> dict[str, Any]:
    """Return the curve as a JSON value: the mean score, 0 to 1, by number of memories. `missing` is a fault's code."""
    points = [
        {"memories": k, "score": round(fsum(scores[k]) / len(scores[k]), 6), "n": len(scores[k])}
        for k in DEPTHS
        if not missing and scores.get(k)
    ]
    sample = max((point["n"] for point in points), default=0)
    return {"sample": sample, "seed": seed[:16], "missing": missing, "points": points}
