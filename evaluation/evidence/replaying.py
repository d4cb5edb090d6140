"""Computes a run's answers and scores again from its evidence, and compares them byte for byte."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from benchmarks.judging.registry import JUDGES
from benchmarks.judging.rules import RuleJudge
from evaluation.analysing import analyse_run
from evaluation.budgetcurve import curve_again
from evaluation.evidence.reading import Record, check_chain, read_run
from evaluation.evidence.rescoring import answered, in_batches, metrics_of
from evaluation.faults import PlatformFault
from evaluation.itemledger import storable
from evaluation.models import Item, Job, Judgement, Result
from evaluation.pipeline.aggregate import Aggregate, ScoredItem, aggregate
from evaluation.pipeline.answering.offline import OfflineAnswerer

__all__ = ["Replay", "replay_run"]

MAX_DIFFERENCES = 20


@dataclass(slots=True)
class Replay:
    """What a replay found. The two digests are of the scores as JSON: kept, and computed again."""

    questions: int = 0
    answers_again: int = 0
    different: int = 0
    differences: list[str] = field(default_factory=list)
    kept_sha256: str = ""
    again_sha256: str = ""
    left_out: str = ""
    """What could not be compared, and why, as a sentence; empty where everything was."""

    @property
    def is_equal(self) -> bool:
        """Whether everything came out as it was, byte for byte."""
        return not self.different and self.kept_sha256 == self.again_sha256

    def differ(self, text: str) -> None:
        """Count a difference, and keep the first ones' texts."""
        self.different += 1
        if len(self.differences) < MAX_DIFFERENCES:
            self.differences.append(text)


def replay_run(job: Job) -> Replay:
    """Replay a succeeded run; asks neither the participant nor a model.

    Answers are made again where the offline backend made them; a model's answers and votes are taken as they were
    kept. Raises EvidenceMissing, and ValueError for a run without a result.
    """
    result = Result.objects.filter(job=job).first()
    if result is None:
        raise ValueError("only a run that succeeded has scores to replay")
    replay = Replay()
    for problem in check_chain(job):
        replay.differ(problem)
    scored: list[ScoredItem] = []
    for records in in_batches(read_run(job)):
        scored += _replay_batch(job, records, replay)
    replay.questions = len(scored)
    kept, again = _result_json(result), _result_json(aggregate(scored))
    replay.kept_sha256, replay.again_sha256 = sha256(kept).hexdigest(), sha256(again).hexdigest()
    if kept != again:
        _name_parts(json.loads(kept), json.loads(again), replay)
    _replay_analysis(job, result, replay)
    if replay.questions != Item.objects.filter(job=job).count():
        replay.differ(f"the evidence holds {replay.questions} questions, the run has another number")
    return replay


def _replay_analysis(job: Job, result: Result, replay: Replay) -> None:
    """Analyse the run again where its result holds an analysis; earlier ones have none."""
    if not result.attribution:
        return
    try:
        again = analyse_run(job)
    except PlatformFault as fault:
        if fault.code != "dataset_changed":
            replay.differ(f"the analysis can't be made again: {fault}")
        else:  # what was written stands in the dataset's files alone
            replay.left_out = f"Its analysis was not replayed, for want of the dataset's files: {fault}"
        return
    curve = asyncio.run(curve_again(job)) if result.budget_curve.get("points") else result.budget_curve
    parts = (
        ("recall", result.recall, again.recall),
        ("attribution", result.attribution, again.attribution),
        ("efficiency", result.efficiency, result.efficiency | again.efficiency),
        ("budget_curve", result.budget_curve, curve),
    )
    for name, kept, made in parts:
        if kept != made:
            replay.differ(f"result, {name}: was {kept}, is {made}")


def _replay_batch(job: Job, records: Sequence[Record], replay: Replay) -> list[ScoredItem]:
    items = answered(job, records)
    rows = Judgement.objects.filter(item__in=items.values(), column="main")
    judgements = {row.item_id: row for row in rows}
    is_offline = job.release.baseline["answer"]["backend"] == "offline"
    made = asyncio.run(_answers(records)) if is_offline else [None] * len(records)
    scored = []
    for record, text in zip(records, made, strict=True):
        item = items[record.scope, record.ordinal]
        answer = item.answer.text
        if text is not None:
            replay.answers_again += 1
            if text != answer:
                replay.differ(f"{record.key}: the answer was {answer[:80]!r} and is {text[:80]!r}")
            answer = text
        score = _score(job, record, answer, judgements.get(item.pk))
        if repr(score) != repr(item.score):
            replay.differ(f"{record.key}: the score was {item.score!r} and is {score!r}")
        question = record.question
        scored.append(
            ScoredItem(
                record.key,
                record.step,
                item.state,
                score,
                question.category,
                question.capability,
                record.dataset,
                question.answerable,
            )
        )
    return scored


async def _answers(records: Sequence[Record]) -> list[str | None]:
    answerer = OfflineAnswerer()
    return [storable((await answerer.answer(one.question, one.memories or ())).text) for one in records]


def _score(job: Job, record: Record, answer: str, kept: Judgement | None) -> float | None:
    """The score by the rule, or by the votes that were kept."""
    by = metrics_of(job)[record.dataset]
    if job.release.baseline["judge"]["backend"] == "rules" or by not in JUDGES:
        return RuleJudge(by).decide(record.question, answer).score
    ruling = JUDGES[by].ruling(record.question, answer)
    if ruling is not None:
        return ruling.score
    return float(kept.votes[0]["score"]) if kept is not None and kept.votes else None


def _result_json(facts: Result | Aggregate) -> bytes:
    names = ("overall", "n", "coverage", "answerable", "categories", "capabilities", "datasets", "states", "digest")
    return json.dumps({name: getattr(facts, name) for name in names}, sort_keys=True).encode()


def _name_parts(kept: Mapping[str, Any], again: Mapping[str, Any], replay: Replay) -> None:
    for name in kept:
        if kept[name] != again[name]:
            replay.differ(f"result, {name}: was {kept[name]}, is {again[name]}")
