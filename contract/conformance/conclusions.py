"""What all the answers together show: remarks, second attempts, times."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Sequence

from contract.conformance.findings import Finding, found, passed, skipped
from contract.conformance.probe import Probe
from contract.receipts import CallKind

__all__ = ["latency", "order", "percentile", "steady", "without_flag"]


def without_flag(flag: str) -> Callable[[Probe], Awaitable[Finding]]:
    """Return the rule that no answer of the check carried this remark."""

    async def check(probe: Probe) -> Finding:
        if called := probe.flags.get(flag):
            return found(flag, called.sent, called.came)
        return passed()

    return check


async def order(probe: Probe) -> Finding:
    """Scores fall with the rank, where there are scores."""
    if not probe.scored:
        return skipped("no_scores")
    return await without_flag("score_not_descending")(probe)


async def steady(probe: Probe) -> Finding:
    """No call needed a second attempt."""
    if not probe.retried:
        return passed()
    code, _ = probe.retried.most_common(1)[0]
    came = ", ".join(f"{code} × {count}" for code, count in probe.retried.most_common())
    return found(code, "", came, **dict(probe.retried))


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value that `share` of the `values` do not exceed (the nearest rank); 0 for none."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)] if ordered else 0.0


async def latency(probe: Probe) -> Finding:
    """How long calls took on the wire, in milliseconds; nothing is judged."""
    facts: dict[str, float] = {}
    lines = []
    for kind in (CallKind.ADD, CallKind.SEARCH):
        values = probe.latencies_ms[kind]
        marks = {name: round(percentile(values, share), 1) for name, share in PERCENTILES.items()}
        facts |= {f"{kind}_{name}_ms": value for name, value in marks.items()} | {f"{kind}_count": len(values)}
        lines.append(f"{kind} n={len(values)} " + " ".join(f"{name}={value} ms" for name, value in marks.items()))
    return passed("", "; ".join(lines), **facts)


PERCENTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "max": 1.0}
