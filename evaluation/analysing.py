"""Reads a run's evidence once more, scope by scope, and says where its wrong answers come from."""

from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import groupby
from math import fsum
from operator import attrgetter
from typing import Any

from django.db import transaction

from benchmarks.datasets.model import Question, Scope
from contract.memories import Memory
from evaluation.backends import counter_of
from evaluation.evidence.reading import Record, read_run
from evaluation.faults import PlatformFault
from evaluation.lease import Lease, fence
from evaluation.models import Item, Job
from evaluation.pipeline.aggregate import percentile
from evaluation.pipeline.analysis.facts import AnalysisSums, cause_of
from evaluation.pipeline.analysis.found import evidence_ranks
from evaluation.pipeline.answering.counting import TokenCounter
from evaluation.pipeline.arms import context_tokens
from evaluation.suites import JobSuite

__all__ = ["Analysis", "analyse_run", "keep_causes"]

Keep = Callable[[dict[int, str]], None]
"""Takes the causes of one scope's items, by primary key."""


@dataclass(frozen=True, slots=True)
class Analysis:
    """Parts of a Result as JSON values; empty where the evidence can't be read. `efficiency` adds to what is there."""

    recall: dict[str, Any] = field(default_factory=dict)
    attribution: dict[str, Any] = field(default_factory=dict)
    efficiency: dict[str, float] = field(default_factory=dict)


def analyse_run(job: Job, suite: JobSuite | None = None, *, keep: Keep | None = None) -> Analysis:
    """Analyse a run whose items are scored. Raises EvidenceMissing, OSError and PlatformFault."""
    sums, tokens = AnalysisSums(), array("Q")
    counter = counter_of(job.release.baseline)
    for scope, records in _by_scope(job, suite or JobSuite(job)):
        causes = _Scope(scope, sums, tokens, counter).take(job, records)
        if keep is not None:
            keep(causes)
    return Analysis(sums.recall(), sums.attribution(), sums.signs() | _context(tokens))


def keep_causes(lease: Lease) -> Keep:
    """Return what keeps a scope's causes with its items, under the lease."""

    def keep(causes: dict[int, str]) -> None:
        with transaction.atomic():
            fence(lease)
            for cause in sorted(set(causes.values())):
                found = [pk for pk, each in causes.items() if each == cause]
                Item.objects.filter(job_id=lease.job_id, pk__in=found).exclude(attribution=cause).update(
                    attribution=cause
                )

    return keep


class _Scope:
    """One scope's questions, one after another."""

    def __init__(self, scope: Scope, sums: AnalysisSums, tokens: "array[int]", counter: TokenCounter) -> None:
        self._scope = scope
        self._sums = sums
        self._tokens = tokens
        self._counter = counter
        self._turns = {turn.turn_id: turn.content for session in scope.sessions for turn in session.turns}
        self._costs: dict[Memory, int] = {}
        self._before = b""

    def take(self, job: Job, records: Iterator[Record]) -> dict[int, str]:
        """Count the records and return the causes by item, "" where the answer isn't wrong."""
        causes: dict[int, str] = {}
        items: dict[tuple[str, int], Item] = {}
        for number, record in enumerate(records):
            if number == 0:
                rows = Item.objects.filter(job=job, scope__ordinal=record.scope).select_related("answer")
                items = {(item.question_key, item.step): item for item in rows}
            item = items[record.key, record.step]
            causes[item.pk] = self._take_one(record, item)
        return causes

    def _take_one(self, record: Record, item: Item) -> str:
        question, memories = record.question, record.memories or ()
        ranks = evidence_ranks(question, self._turns, memories) if question.evidence else ()
        cause = cause_of(question, item.score, is_written=self._is_written(question), ranks=ranks)
        mark = sha256("\x1f".join(sorted(repr(memory) for memory in memories)).encode()).digest()
        is_same = bool(memories) and mark == self._before
        self._before = mark
        self._sums.add(question, ranks=ranks, returned=len(memories), is_same=is_same, cause=cause)
        self._tokens.append(sum(map(self._cost, memories[: item.answer.memories_used])))
        return cause

    def _is_written(self, question: Question) -> bool:
        """Whether the evidence was in Adds before the question; in a scope that is done each one is acknowledged."""
        written = {
            turn.turn_id
            for session in self._scope.written_before(question)
            for turn in session.turns
            if turn.content.strip()
        }
        return written.issuperset(question.evidence)

    def _cost(self, memory: Memory) -> int:
        if memory not in self._costs:
            self._costs[memory] = context_tokens((memory,), self._counter)
        return self._costs[memory]


def _by_scope(job: Job, suite: JobSuite) -> Iterator[tuple[Scope, Iterator[Record]]]:
    scopes = suite.scopes()
    for ordinal, records in groupby(read_run(job), attrgetter("scope")):
        found = next((one for one in scopes if one.ordinal == ordinal), None)
        if found is None:
            raise PlatformFault("internal_error", f"scope {ordinal} of the evidence is not in its order")
        yield found.scope, records


def _context(tokens: "array[int]") -> dict[str, float]:
    if not tokens:
        return {}
    mean = round(fsum(tokens) / len(tokens), 3)
    return {"context_tokens_p50": percentile(sorted(tokens), 50), "context_tokens_mean": mean}
