"""What a run's items come to: means with their n, coverage, efficiency, and a digest that two equal runs share."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from math import ceil, fsum
from typing import Any

__all__ = ["Aggregate", "ScoredItem", "aggregate", "digest_of", "efficiency_facts", "percentile"]


@dataclass(frozen=True, slots=True)
class ScoredItem:
    """One item at the end of a run. `score` is 0 to 1, None where the platform owes one."""

    question_key: str
    step: int
    state: str
    score: float | None
    category: str
    capability: str
    dataset: str
    answerable: bool


@dataclass(frozen=True, slots=True)
class Aggregate:
    """Scores are 0 to 1. A part is `{"score": mean, "n": items}` by its name; `coverage` is scored items by all."""

    overall: float
    n: int
    coverage: float
    answerable: Mapping[str, Any]
    categories: Mapping[str, Any]
    capabilities: Mapping[str, Any]
    datasets: Mapping[str, Any]
    states: Mapping[str, int]
    digest: str


def aggregate(items: Iterable[ScoredItem]) -> Aggregate:
    """Return the unweighted means over `items`, whatever their order. An item without a score counts in no mean."""
    kept = sorted(items, key=lambda item: (item.question_key, item.step))
    scored = [item for item in kept if item.score is not None]
    return Aggregate(
        overall=_part(scored)["score"],
        n=len(scored),
        coverage=len(scored) / len(kept) if kept else 0.0,
        answerable=_part([item for item in scored if item.answerable]),
        categories=_parts(scored, "category"),
        capabilities=_parts(scored, "capability"),
        datasets=_parts(scored, "dataset"),
        states=dict(sorted(Counter(item.state for item in kept).items())),
        digest=digest_of(kept),
    )


def digest_of(items: Iterable[ScoredItem]) -> str:
    """SHA-256, in hexadecimal, over every item's key, step, state and score, in the order of key and step."""
    digest = sha256()
    for item in sorted(items, key=lambda item: (item.question_key, item.step)):
        digest.update(f"{item.question_key}\x1f{item.step}\x1f{item.state}\x1f{item.score!r}\n".encode())
    return digest.hexdigest()


def efficiency_facts(
    *, add_ms: Sequence[float], search_ms: Sequence[float], characters: Sequence[int], memories: Sequence[int]
) -> dict[str, float]:
    """Latencies on the wire of the calls that succeeded, and what the Searches returned; nothing for what is empty."""
    facts: dict[str, float] = {}
    for name, values in (("add", add_ms), ("search", search_ms)):
        if values:
            ordered = sorted(values)
            facts |= {f"{name}_p50_ms": percentile(ordered, 50), f"{name}_p95_ms": percentile(ordered, 95)}
    if characters:
        facts["characters_p50"] = percentile(sorted(characters), 50)
        facts["characters_mean"] = round(fsum(characters) / len(characters), 3)
    if memories:
        facts["memories_mean"] = round(fsum(memories) / len(memories), 3)
    return facts


def percentile(ordered: Sequence[float], percent: float) -> float:
    """The nearest-rank percentile of ascending values, rounded to three decimals."""
    rank = max(1, ceil(percent / 100 * len(ordered)))
    return round(ordered[rank - 1], 3)


def _parts(items: Sequence[ScoredItem], field: str) -> dict[str, Any]:
    groups: dict[str, list[ScoredItem]] = defaultdict(list)
    for item in items:
        groups[getattr(item, field)].append(item)
    return {name: _part(groups[name]) for name in sorted(groups)}


def _part(items: Sequence[ScoredItem]) -> dict[str, Any]:
    scores = [item.score for item in items if item.score is not None]
    return {"score": fsum(scores) / len(scores) if scores else 0.0, "n": len(scores)}
