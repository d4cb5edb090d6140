"""What the public may read of a run, taken field by field: a field that is not named here stays private."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from benchmarks.models import Bundle
from evaluation.models import Item, Job, Release, Result
from submissions.models import Division, Version

# The whole public vocabulary of an entry; a test holds `entry_facts` against it.
FACTS = frozenset(
    {
        "team", "system", "version", "division", "track", "cycle", "label", "description", "openness",
        "submitted_at", "finished_at",
        "score", "n", "coverage", "states", "answerable", "categories", "capabilities", "datasets", "efficiency",
        "recall", "attribution", "budget_curve",
        "release", "answer", "judge", "top_k", "bundles", "code", "contract", "result_digest",
    }
)  # fmt: skip
EFFICIENCY = (
    "add_p50_ms",
    "add_p95_ms",
    "search_p50_ms",
    "search_p95_ms",
    "characters_p50",
    "characters_mean",
    "memories_mean",
    "context_tokens_p50",
    "context_tokens_mean",
    "empty_share",
    "same_share",
)
RECALL = ("rule", "n", "at")
ATTRIBUTION = ("rule", "wrong_below", "n", "wrong", "counts", "categories")
BUDGET_CURVE = ("sample", "missing", "points")
SUBMITTED_BY_API = "submitted_by_api"
REFERENCE_ARM = "reference_arm"


def entry_facts(result: Result) -> dict[str, Any]:
    """The public facts of a run as JSON values. Scores are 0 to 1, times ISO 8601 in UTC, latencies milliseconds."""
    job = result.job
    return {**_who(job), **_scores(result, job.release), **_provenance(job), "result_digest": result.digest}


def utc_text(moment: datetime | None) -> str | None:
    """`moment` as ISO 8601 in UTC to the second, like 2026-11-12T08:00:00Z."""
    if moment is None:
        return None
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="seconds") + "Z"


def _who(job: Job) -> dict[str, Any]:
    version = job.version
    return {
        "team": version.system.team.name,
        "system": version.system.name,
        "version": version.label,
        "division": version.system.division,
        "track": job.track,
        "cycle": job.cycle.slug,
        "label": REFERENCE_ARM if job.runner == Job.Runner.PLATFORM else SUBMITTED_BY_API,
        "description": version.public_description,
        "openness": _openness(version),
        "submitted_at": utc_text(job.created_at),
        "finished_at": utc_text(job.ended_at),
    }


def _openness(version: Version) -> dict[str, str]:
    """Where an open-source method can be read; nothing for a product."""
    if version.system.division != Division.OPEN_SOURCE:
        return {}
    return {
        "repository": _web_address(version.repository),
        "commit": version.commit,
        "original_authors": version.original_authors,
        "technical_report": _web_address(version.technical_report),
    }


def _web_address(text: str) -> str:
    """`text` where a page may link to it."""
    return text if text.startswith(("https://", "http://")) else ""


def _scores(result: Result, release: Release) -> dict[str, Any]:
    return {
        "score": result.overall,
        "n": result.n,
        "coverage": result.coverage,
        "states": {state: int(result.states.get(state, 0)) for state in Item.State.values},
        "answerable": _part(result.answerable),
        "categories": _parts(result.categories),
        "capabilities": _parts(result.capabilities),
        "datasets": _datasets(result, release),
        "efficiency": {name: result.efficiency[name] for name in EFFICIENCY if name in result.efficiency},
        "recall": _named(result.recall, RECALL),
        "attribution": _named(result.attribution, ATTRIBUTION),
        "budget_curve": _named(result.budget_curve, BUDGET_CURVE),
    }


def _named(facts: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: facts[name] for name in names if name in facts}


def _datasets(result: Result, release: Release) -> dict[str, Any]:
    metrics = release.baseline.get("metrics", {})
    titles = {bundle.name: bundle for bundle in release.bundles.all()}
    return {
        name: {**part, "metric": metrics.get(name, ""), "title": _title(name, titles.get(name))}
        for name, part in _parts(result.datasets).items()
    }


def _title(name: str, bundle: Bundle | None) -> dict[str, str]:
    if bundle is None:
        return {"en": name, "zh-hans": name}
    return {"en": bundle.title_en, "zh-hans": bundle.title_zh_hans}


def _provenance(job: Job) -> dict[str, Any]:
    baseline = job.release.baseline
    return {
        "release": {"name": job.release.name, "digest": job.baseline_digest},
        "answer": _model(baseline.get("answer", {})),
        "judge": _model(baseline.get("judge", {})),
        "top_k": baseline.get("limits", {}).get("top_k"),
        "bundles": {
            name: {"digest": bundle.get("digest", ""), "counts": _counts(bundle.get("counts", {}))}
            for name, bundle in baseline.get("bundles", {}).items()
        },
        "code": baseline.get("code", ""),
        "contract": baseline.get("contract", ""),
    }


def _model(part: Mapping[str, Any]) -> dict[str, str]:
    return {"backend": str(part.get("backend", "")), "model": str(part.get("model", ""))}


def _counts(counts: Mapping[str, Any]) -> dict[str, int]:
    return {name: count for name, count in counts.items() if isinstance(count, int)}


def _parts(parts: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    return {name: part for name, raw in parts.items() if (part := _part(raw))}


def _part(raw: Mapping[str, Any]) -> dict[str, Any]:
    return {"score": raw["score"], "n": raw["n"]} if raw.get("n") else {}
