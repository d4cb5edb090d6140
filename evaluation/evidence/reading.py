"""Opens evidence: one question, a scope from some question on, or a whole run."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from hashlib import sha256
from typing import IO

import zstandard

from benchmarks.datasets.model import Question
from contract.memories import Memory
from evaluation.evidence.sealing import evidence_storage
from evaluation.evidence.segments import (
    BodyLine,
    QuestionLine,
    decode_memories,
    hash_file,
    iterate_lines,
    link,
    read_lines,
)
from evaluation.ledger import unpack_memories
from evaluation.models import Item, Job, ResponseBody, Retrieval, Scope, Segment
from evaluation.pipeline.items import by_asking
from evaluation.suites import JobSuite

__all__ = ["EvidenceMissing", "ItemEvidence", "MemoryReader", "Record", "check_chain", "open_item", "read_run"]


class EvidenceMissing(Exception):
    """The evidence was removed when its time was over, or was never there; the text says which."""


@dataclass(frozen=True, slots=True)
class Record:
    """A question of a run with what was returned for it. `memories` are None where none were kept."""

    scope: int
    dataset: str
    ordinal: int
    key: str
    step: int
    question: Question
    memories: tuple[Memory, ...] | None


@dataclass(frozen=True, slots=True)
class ItemEvidence:
    """What is kept of one question, with the file that it comes from; `problem` says why something is missing."""

    question: Question | None = None
    memories: tuple[Memory, ...] | None = None
    bodies: tuple[BodyLine, ...] = ()
    segment: Segment | None = None
    is_intact: bool = False
    problem: str = ""


def open_item(item: Item) -> ItemEvidence:
    """Open one question without reading the others. Never raises for what is missing or broken: it says so."""
    segment = _segment_of(item.scope)
    if segment is None:
        return _from_rows(item)
    if segment.purged_at is not None:
        return ItemEvidence(segment=segment, problem="purged")
    try:
        with closing(_open(segment)) as file:
            lines = read_lines(file, segment.index, item.ordinal)
    except EvidenceMissing:
        return ItemEvidence(segment=segment, problem="file_missing")
    except (OSError, ValueError, zstandard.ZstdError):
        return ItemEvidence(segment=segment, problem="file_damaged")
    found = next((line for line in lines if isinstance(line, QuestionLine)), None)
    if found is None:
        return ItemEvidence(segment=segment, problem="file_damaged")
    kept = item.retrieval.sha256
    return ItemEvidence(
        question=found.question,
        memories=decode_memories(found),
        bodies=tuple(line for line in lines if isinstance(line, BodyLine)),
        segment=segment,
        is_intact=sha256(bytes(found.memories)).hexdigest() == kept,
    )


class MemoryReader:
    """The memories of one run's questions, for who asks in the order of scopes and ordinals."""

    def __init__(self) -> None:
        self._scope: int | None = None
        self._lines: Iterator[tuple[int, tuple[Memory, ...]]] = iter(())

    def of(self, item: Item) -> tuple[Memory, ...]:
        """Return what the Search of `item` returned. Raises EvidenceMissing where that is not kept."""
        kept = _row_memories(item)
        if kept is not None:
            return kept
        if self._scope != item.scope_id:
            self._scope, self._lines = item.scope_id, _memories(item.scope, item.ordinal - 1)
        for ordinal, memories in self._lines:
            if ordinal == item.ordinal:
                return memories
        raise EvidenceMissing(f"{item.question_key} is not in the segment of its scope")


def _memories(scope: Scope, after: int) -> Iterator[tuple[int, tuple[Memory, ...]]]:
    segment = _segment_of(scope)
    if segment is None or segment.purged_at is not None:
        raise EvidenceMissing(f"scope {scope.ordinal} has no segment")
    with closing(_open(segment)) as file:
        for line in iterate_lines(file, segment.index, after):
            if isinstance(line, QuestionLine):
                yield line.ordinal, decode_memories(line)


def read_run(job: Job) -> Iterator[Record]:
    """Yield every question of a run, from its segments; of a scope that was never sealed, from rows and dataset.

    Raises EvidenceMissing when a segment was removed or its file is gone.
    """
    segments = {segment.scope_id: segment for segment in Segment.objects.filter(job=job)}
    scopes = list(Scope.objects.filter(job=job).order_by("ordinal"))
    unsealed = {scope.ordinal: scope for scope in scopes if scope.pk not in segments}
    for scope in scopes:
        if scope.pk in segments:
            yield from _sealed(scope, segments[scope.pk])
    if unsealed:
        for part in JobSuite(job).scopes():
            if part.ordinal in unsealed:
                yield from _unsealed(unsealed[part.ordinal], part.scope.questions)


def check_chain(job: Job) -> list[str]:
    """What is wrong with a run's segments: files that are gone or other than written, and links that don't hold."""
    problems, previous = [], ""
    for number, segment in enumerate(Segment.objects.filter(job=job).select_related("scope").order_by("number"), 1):
        expected = link(
            previous,
            number=number,
            scope=segment.scope.ordinal,
            size=segment.size,
            file_sha256=segment.sha256,
        )
        if (segment.number, segment.previous_digest, segment.digest) != (number, previous, expected):
            problems.append(f"segment {segment.number}: the chain does not hold here")
        previous = segment.digest
        if segment.purged_at is None and (problem := _file_problem(segment)):
            problems.append(f"segment {segment.number}: {problem}")
    return problems


def _file_problem(segment: Segment) -> str:
    try:
        with closing(_open(segment)) as file:
            found = hash_file(file)
    except EvidenceMissing as error:
        return str(error)
    except OSError as error:
        return f"{segment.file}: {error.strerror or type(error).__name__}"
    return "" if found == segment.sha256 else f"{segment.file}: expected SHA-256 {segment.sha256}, got {found}"


def _sealed(scope: Scope, segment: Segment) -> Iterator[Record]:
    if segment.purged_at is not None:
        raise EvidenceMissing(f"the evidence of scope {scope.ordinal} was removed on {segment.purged_at:%Y-%m-%d}")
    with closing(_open(segment)) as file:
        for line in iterate_lines(file, segment.index):
            if isinstance(line, QuestionLine):
                memories = decode_memories(line)
                yield Record(scope.ordinal, scope.bundle, line.ordinal, line.key, line.step, line.question, memories)


def _unsealed(scope: Scope, questions: tuple[Question, ...]) -> Iterator[Record]:
    asked = by_asking(scope.bundle, questions)
    for item in Item.objects.filter(scope=scope).select_related("retrieval").order_by("ordinal").iterator(200):
        question = asked[item.question_key, item.step]
        yield Record(
            scope.ordinal, scope.bundle, item.ordinal, item.question_key, item.step, question, _row_memories(item)
        )


def _from_rows(item: Item) -> ItemEvidence:
    """A question of a scope that was never sealed: a run that goes on, or that ended early."""
    bodies = ResponseBody.objects.filter(receipt__event__scope=item.scope_id, receipt__event__ordinal=item.ordinal)
    lines = [
        BodyLine(item.ordinal, body.receipt.attempt, body.size, body.sha256, zstandard.decompress(bytes(body.data)))
        for body in bodies.select_related("receipt").order_by("receipt__attempt")
    ]
    memories = _row_memories(item)
    problem = "" if memories is not None else "not_kept"
    return ItemEvidence(memories=memories, bodies=tuple(lines), is_intact=memories is not None, problem=problem)


def _row_memories(item: Item) -> tuple[Memory, ...] | None:
    retrieval: Retrieval | None = getattr(item, "retrieval", None)
    packed = bytes(retrieval.memories) if retrieval else b""
    return unpack_memories(packed) if packed else None


def _segment_of(scope: Scope) -> Segment | None:
    return getattr(scope, "segment", None)


def _open(segment: Segment) -> IO[bytes]:
    try:
        return evidence_storage().open(segment.file, "rb")
    except FileNotFoundError as error:
        raise EvidenceMissing(f"{segment.file} is not in the storage") from error
