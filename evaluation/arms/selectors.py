"""Reads of reference arms: what boards show of them and compare with."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from evaluation.models import ArmItem, ArmRun, Release

__all__ = ["ArmFacts", "ArmScore", "arms_of", "latest_runs", "scores_of"]


@dataclass(frozen=True, slots=True)
class ArmFacts:
    """What an arm comes to under a release. Scores are 0 to 1; a part is `{"score": mean, "n": questions}` by its
    name; `efficiency` holds characters_p50, characters_mean, memories_mean and context_tokens_mean.

    From `shortened` contexts older turns were left out for want of budget, and `without_evidence` answerable
    questions name no evidence, so that the oracle has nothing for them.
    """

    run: int
    arm: str
    title: str
    overall: float
    n: int
    answerable: Mapping[str, Any]
    categories: Mapping[str, Any]
    capabilities: Mapping[str, Any]
    datasets: Mapping[str, Any]
    efficiency: Mapping[str, float]
    shortened: int
    without_evidence: int
    digest: str
    ended_at: datetime | None


@dataclass(frozen=True, slots=True)
class ArmScore:
    """One question's score, 0 to 1. `cluster` names its scope over all bundles: what is resampled together."""

    question_key: str
    step: int
    cluster: str
    score: float
    category: str
    capability: str
    dataset: str
    answerable: bool
    has_evidence: bool


def latest_runs(release: Release) -> dict[str, ArmRun]:
    """The newest run of each arm that was begun under `release`, done or not, by arm."""
    newest: dict[str, ArmRun] = {}
    for run in ArmRun.objects.filter(release=release).order_by("number"):
        newest[run.arm] = run
    return newest


def arms_of(release: Release) -> list[ArmFacts]:
    """The newest finished run of each arm, in the order no memory, full context, BM25, oracle."""
    done: dict[str, ArmRun] = {}
    for run in ArmRun.objects.filter(release=release, state=ArmRun.State.SUCCEEDED).order_by("number"):
        done[run.arm] = run
    return [_facts(done[arm]) for arm in ArmRun.Arm.values if arm in done]


def scores_of(run: int) -> Iterator[ArmScore]:
    """Every question of the arm's run with that id, in the order of key and step."""
    fields = (
        "question_key",
        "step",
        "bundle",
        "scope_key",
        "score",
        "category",
        "capability",
        "answerable",
        "has_evidence",
    )
    rows = ArmItem.objects.filter(run_id=run).order_by("question_key", "step").values_list(*fields)
    for key, step, bundle, scope, score, category, capability, answerable, has_evidence in rows.iterator():
        yield ArmScore(key, step, f"{bundle}/{scope}", score, category, capability, bundle, answerable, has_evidence)


def _facts(run: ArmRun) -> ArmFacts:
    assert run.overall is not None, "the database holds no finished run without a result"
    facts = run.facts
    return ArmFacts(
        run=run.pk,
        arm=run.arm,
        title=run.get_arm_display(),
        overall=run.overall,
        n=run.n,
        answerable=facts["answerable"],
        categories=facts["categories"],
        capabilities=facts["capabilities"],
        datasets=facts["datasets"],
        efficiency=facts["efficiency"],
        shortened=facts["shortened"],
        without_evidence=facts["without_evidence"],
        digest=run.digest,
        ended_at=run.ended_at,
    )
