"""Runs a release's reference arms under the very release, some questions at a time; what is kept is not done again.

Nothing goes over the wire: an arm reads the dataset, and only the answerer and the judge may ask a model.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import sha256
from itertools import groupby, islice
from math import fsum
from typing import Any, Final

from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from benchmarks.datasets.model import Question
from benchmarks.models import Bundle
from benchmarks.selectors import BundleError, scopes_of
from contract.memories import Memory
from contract.messages import content_text
from evaluation.backends import answerer_for, counter_of, judges_for
from evaluation.faults import PlatformFault
from evaluation.itemledger import storable
from evaluation.models import ArmItem, ArmRun, Release
from evaluation.pipeline.aggregate import ScoredItem, aggregate, efficiency_facts
from evaluation.pipeline.answering.counting import TokenCounter
from evaluation.pipeline.arms import Recalled, context_tokens, open_arm
from evaluation.pipeline.baseline import arms_code_hash, pipeline_code_hash
from evaluation.pipeline.control import Control
from evaluation.pipeline.items import (
    MODEL_LANES,
    OFFLINE_LANES,
    Attempt,
    ModelRetry,
    Workbench,
    answer_with,
    by_asking,
    item_key,
    score_with,
)
from evaluation.pipeline.ports import Answer, Clock, Fault, ItemOutcome, Judgement, PendingItem
from submissions.audit import append_event
from submissions.refusals import Refusal

__all__ = ["AT_ONCE", "Watch", "run_arm"]

AT_ONCE: Final = 64
"""Questions that are answered, scored and kept together."""

Watch = Callable[[int, int], None]
"""Told how many questions are done, and of how many."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """A question with what the arm remembers for it."""

    bundle: str
    scope: str
    question: Question
    recalled: Recalled

    @property
    def key(self) -> str:
        return item_key(self.bundle, self.question)


def run_arm(
    *,
    release: Release,
    arm: str,
    actor: str,
    again: bool = False,
    clock: Clock = timezone.now,
    watch: Watch = lambda done, total: None,
    retry: ModelRetry | None = None,
) -> ArmRun:
    """Run one arm under `release`, or go on where an earlier call was cut off, and return it with its result.

    An arm that is done stays as it is; with `again` it is run once more, beside the run that is there. Raises Refusal
    when the release never opened, when this installation isn't what it froze, and when another process works on the
    arm; PlatformFault when a model has failed for good or a file has changed, which leaves the run to be gone on with.
    """
    _check_release(release)
    run = _take_up(release, arm, again, clock())
    if run.state == ArmRun.State.SUCCEEDED:
        return run
    try:
        _work(run, watch, _Models(run, clock, retry or ModelRetry()))
    except IntegrityError as error:
        raise Refusal("arm_runs_already", _("Another process runs this arm. Wait for its end.")) from error
    except BundleError as error:
        raise _failed(run, PlatformFault(error.code, str(error)), actor, clock()) from error
    except PlatformFault as fault:
        raise _failed(run, fault, actor, clock()) from fault
    return _finish(run, actor, clock())


def _check_release(release: Release) -> None:
    if release.state == Release.State.DRAFT:
        raise Refusal("release_not_open", _("The release has not been opened yet. Open it, then run its arms."))
    if release.baseline["code"] != pipeline_code_hash():
        message = _("The pipeline's code is not what the release froze. Open a new release and run its arms.")
        raise Refusal("release_drifted", message, details={"differs": ["code"]})


@transaction.atomic
def _take_up(release: Release, arm: str, again: bool, at: datetime) -> ArmRun:
    """The run that is to be worked on: the last one, unless it is done and `again` is asked, or of other code."""
    Release.objects.select_for_update().get(pk=release.pk)
    last = ArmRun.objects.filter(release=release, arm=arm).order_by("-number").first()
    code = arms_code_hash()
    if last is not None and last.state == ArmRun.State.SUCCEEDED and not again:
        return last
    if last is not None and last.state != ArmRun.State.SUCCEEDED and last.code_sha256 == code:
        last.state, last.failure_code = ArmRun.State.RUNNING, ""
        last.save(update_fields=["state", "failure_code"])
        return last
    return ArmRun.objects.create(
        release=release,
        arm=arm,
        number=last.number + 1 if last else 1,
        baseline_digest=release.digest,
        code_sha256=code,
        started_at=at,
    )


def _work(run: ArmRun, watch: Watch, models: "_Models") -> None:
    total = sum(int(facts["counts"]["questions"]) for facts in run.release.baseline["bundles"].values())
    done = run.items.count()
    watch(done, total)
    waiting = _waiting(run, models.counter)
    while batch := list(islice(waiting, AT_ONCE)):
        rows = asyncio.run(models.work(batch))
        with transaction.atomic():
            ArmItem.objects.bulk_create(rows)
        done += len(rows)
        watch(done, total)


def _waiting(run: ArmRun, counter: TokenCounter) -> Iterator[_Asked]:
    """The questions without a row, with their memories, reading a scope at a time."""
    limits, answer = run.release.baseline["limits"], run.release.baseline["answer"]
    for bundle in _bundles(run.release):
        for scope in scopes_of(bundle):
            kept = set(
                run.items.filter(bundle=bundle.name, scope_key=scope.key).order_by().values_list("question_key", "step")
            )
            asked = by_asking(bundle.name, scope.questions)
            todo = [question for asking, question in asked.items() if asking not in kept]
            # an arm remembers what a participant has been sent by then, which grows while a streaming scope is asked
            for sessions, questions in groupby(todo, scope.written_before):
                recall = open_arm(
                    run.arm,
                    replace(scope, sessions=sessions),
                    top_k=int(limits["top_k"]),
                    token_budget=int(answer["token_budget"]),
                    counter=counter,
                )
                for question in questions:
                    yield _Asked(bundle.name, scope.key, question, recall(question))


def _bundles(release: Release) -> list[Bundle]:
    frozen = {name: facts["digest"] for name, facts in release.baseline["bundles"].items()}
    bundles = sorted(release.bundles.all(), key=lambda bundle: bundle.name)
    if {bundle.name: bundle.digest for bundle in bundles} != frozen:
        raise PlatformFault("plan_changed", "the release holds other bundles than it was opened with")
    return bundles


class _Models:
    """The release's answerer and judges, asked until each question of a batch has its answer and score."""

    def __init__(self, run: ArmRun, clock: Clock, retry: ModelRetry) -> None:
        self._run = run
        self._baseline: Mapping[str, Any] = run.release.baseline
        self._clock = clock
        self._retry = retry
        self.counter = counter_of(self._baseline)
        # The same prompts in every run of the arm, so that equal models give equal digests.
        self._fence_key = sha256(f"{run.baseline_digest} {run.arm}".encode()).digest()

    async def work(self, batch: Sequence[_Asked]) -> list[ArmItem]:
        """Answer and score `batch`; return its rows, not kept yet. Raises PlatformFault."""
        asked = dict(enumerate(batch))
        async with answerer_for(self._baseline, fence_key=self._fence_key) as answerer:
            items = [
                PendingItem(number, one.bundle, one.question, 0, memories=one.recalled.memories)
                for number, one in asked.items()
            ]
            answers: dict[int, Answer] = await self._all("answer", answer_with(answerer), items)
        metrics = self._baseline["metrics"]
        async with judges_for(self._baseline, metrics=metrics, fence_key=self._fence_key) as judges:
            items = [replace(item, memories=(), answer=answers[item.id].text) for item in items]
            scores: dict[int, Judgement] = await self._all("judge", score_with(judges), items)
        return [self._row(one, answers[number], scores[number]) for number, one in asked.items()]

    async def _all(self, part: str, attempt: Attempt, items: Sequence[PendingItem]) -> dict[int, Any]:
        """What `attempt` makes of every item; one that a model fails on is tried again when it is due."""
        tray = _Tray(items)
        lanes = MODEL_LANES if self._baseline[part]["backend"] == "openai" else OFFLINE_LANES
        while tray.left:
            bench = Workbench(
                attempt,
                record=tray.record,
                control=Control(budget_s=float("inf")),
                clock=self._clock,
                retry=self._retry,
                lanes=lanes,
            )
            await bench.run(tray.items())
            if tray.due:
                await asyncio.sleep(max(0.0, (min(tray.due) - self._clock()).total_seconds()))
        return tray.done

    def _row(self, one: _Asked, answer: Answer, score: Judgement) -> ArmItem:
        used = one.recalled.memories[: answer.memories_used]
        return ArmItem(
            run=self._run,
            bundle=one.bundle,
            scope_key=one.scope,
            question_key=one.key,
            step=one.question.step,
            category=one.question.category,
            capability=one.question.capability,
            answerable=one.question.answerable,
            has_evidence=bool(one.question.evidence),
            score=score.score,
            answer=storable(answer.text),
            model=answer.model[:120],
            memories=len(one.recalled.memories),
            characters=_characters(one.recalled.memories),
            context_tokens=context_tokens(used, self.counter),
            left_out=one.recalled.left_out + answer.memories_cut,
        )


def _characters(memories: Sequence[Memory]) -> int:
    return sum(len(content_text(memory.content)) for memory in memories)


class _Tray:
    """Items on their way through one step, and what came of those that are through."""

    def __init__(self, items: Sequence[PendingItem]) -> None:
        self.left = {item.id: item for item in items}
        self.done: dict[int, Any] = {}
        self.due: list[datetime] = []
        """When those that failed in the last round are due."""

    async def items(self) -> AsyncIterator[PendingItem]:
        """Yield what is left."""
        self.due = []
        for item in list(self.left.values()):
            yield item

    async def record(self, outcomes: Sequence[ItemOutcome]) -> None:
        """Take in what items came to. Raises PlatformFault where a model has failed on one for good."""
        for outcome in outcomes:
            if not isinstance(outcome.result, Fault):
                self.done[outcome.item] = outcome.result
                del self.left[outcome.item]
            elif outcome.result.next_attempt_at is None:
                raise PlatformFault(outcome.result.code)
            else:
                self.left[outcome.item] = replace(self.left[outcome.item], attempts=outcome.attempts)
                self.due.append(outcome.result.next_attempt_at)


@transaction.atomic
def _finish(run: ArmRun, actor: str, at: datetime) -> ArmRun:
    fields = ("question_key", "step", "score", "category", "capability", "bundle", "answerable")
    rows = run.items.order_by().values_list(*fields)
    facts = aggregate(
        ScoredItem(key, step, "scored", score, category, capability, dataset, answerable)
        for key, step, score, category, capability, dataset, answerable in rows.iterator()
    )
    expected = sum(int(part["counts"]["questions"]) for part in run.release.baseline["bundles"].values())
    if facts.n != expected:
        raise PlatformFault("internal_error", f"{facts.n} questions of {expected}")
    run.state, run.ended_at, run.failure_code = ArmRun.State.SUCCEEDED, at, ""
    run.overall, run.n, run.digest = facts.overall, facts.n, facts.digest
    run.facts = {
        "answerable": facts.answerable,
        "categories": facts.categories,
        "capabilities": facts.capabilities,
        "datasets": facts.datasets,
        "efficiency": _efficiency(run),
        "without_evidence": run.items.filter(answerable=True, has_evidence=False).count(),
        "shortened": run.items.filter(left_out__gt=0).count(),
    }
    run.save()
    after = {"arm": run.arm, "number": run.number, "n": run.n, "overall": repr(run.overall), "digest": run.digest}
    append_event(actor=actor, action="arm.succeeded", subject=run, after={**after, "release": run.release.name}, at=at)
    return run


def _efficiency(run: ArmRun) -> dict[str, float]:
    rows = list(run.items.order_by().values_list("characters", "memories", "context_tokens"))
    facts = efficiency_facts(
        add_ms=[], search_ms=[], characters=[row[0] for row in rows], memories=[row[1] for row in rows]
    )
    if rows:
        facts["context_tokens_mean"] = round(fsum(row[2] for row in rows) / len(rows), 3)
    return facts


def _failed(run: ArmRun, fault: PlatformFault, actor: str, at: datetime) -> PlatformFault:
    """Keep why the run stopped; what it has done stays, and the next call goes on from there."""
    with transaction.atomic():
        ArmRun.objects.filter(pk=run.pk).update(state=ArmRun.State.FAILED, failure_code=fault.code[:60])
        after = {"arm": run.arm, "number": run.number, "code": fault.code, "release": run.release.name}
        append_event(actor=actor, action="arm.failed", subject=run, after=after, at=at)
    return fault
