"""The pipeline's ledger over the files of a folder."""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import msgspec

from contract.answers import SearchOutcome
from contract.memories import Memory
from contract.messages import content_text
from contract.receipts import CallKind
from evaluation.pipeline.answering.model import Answer
from evaluation.pipeline.files.folder import RECEIPTS
from evaluation.pipeline.files.journal import Frames, Journal, Span
from evaluation.pipeline.files.records import AnswerLine, JudgementLine, ReceiptLine, RetrievalFacts, receipt_line
from evaluation.pipeline.files.stages import Stages
from evaluation.pipeline.ports import Attempt, EventState, Fault, ItemOutcome, ScopeState

__all__ = ["FileLedger"]

Place = tuple[int, int]
"""A scope and the ordinal of one of its events."""
_MEMORIES = msgspec.json.Decoder(tuple[Memory, ...])


class FileLedger:
    """Everything that was kept of a run, by one process that holds the folder's lock.

    Of each question it holds where things stand, never the memories themselves. An event that has failed for good
    starts anew in the next process, since its owner may have mended the server. Raises Damaged.
    """

    def __init__(self, folder: Path, stages: Stages) -> None:
        self.stages = stages
        self.failure: ReceiptLine | None = None
        """The attempt that has ended this process's run."""
        self.failures_before = 0
        """Attempts that have ended the run in earlier processes."""
        self.scores: dict[int, float] = {}
        """The score of each item that has one."""
        self._receipts = Journal(folder / RECEIPTS, ReceiptLine)
        self._retrievals = Frames(folder / "retrievals.jsonl.zst")
        self._answers = Journal(folder / "answers.jsonl", AnswerLine)
        self._judgements = Journal(folder / "judgements.jsonl", JudgementLine)
        self._next_event: dict[int, int] = {}
        self._events: dict[int, dict[int, EventState]] = {}
        self._returned: dict[Place, RetrievalFacts] = {}
        self._answered: dict[int, Span] = {}
        self.add_ms: list[float] = []
        self.search_ms: list[float] = []
        self._load()

    def close(self) -> None:
        for file in (self._receipts, self._retrievals, self._answers, self._judgements):
            file.close()

    async def open_scope(self, scope: int) -> ScopeState:
        return ScopeState(self._next_event.get(scope, 0), dict(self._events.get(scope, {})))

    async def record_attempts(self, attempts: Sequence[Attempt]) -> None:
        # on the disk before the next step is taken; the loop goes on meanwhile
        for line in await asyncio.to_thread(self._keep_attempts, attempts):
            self.stages.begin(_stage(line), time.monotonic())
            self._take(line)
            self.failure = line if line.decision == "failed" else self.failure

    def is_collected(self, scope: int, events: int) -> bool:
        """Whether nothing of a scope is left to send."""
        return self._next_event.get(scope, 0) >= events

    def is_answered(self, item: int) -> bool:
        return item in self._answered

    def memories(self, place: Place) -> tuple[Memory, ...]:
        """The memories that the Search at `place` returned. Raises KeyError when it isn't done."""
        return _MEMORIES.decode(self._retrievals.at(self._returned[place].span))

    def answer(self, item: int) -> str:
        """The answer to an item. Raises KeyError when there is none."""
        return self._answers.at(self._answered[item]).answer.text

    def returned(self) -> list[RetrievalFacts]:
        """What each Search returned."""
        return list(self._returned.values())

    async def record_items(self, outcomes: Sequence[ItemOutcome], key_of: Callable[[int], str]) -> None:
        """Keep answers and scores. What a model has failed on leaves no line: it is tried anew."""
        answers, scores = [], []
        for outcome in outcomes:
            result = outcome.result
            if isinstance(result, Fault):
                continue
            if isinstance(result, Answer):
                answers.append(AnswerLine(outcome.item, key_of(outcome.item), outcome.by, result))
            else:
                scores.append(JudgementLine(outcome.item, key_of(outcome.item), outcome.by, result))
        await asyncio.to_thread(self._keep_items, answers, scores)

    def _keep_attempts(self, attempts: Sequence[Attempt]) -> list[ReceiptLine]:
        """Keep the memories first: a receipt that is there speaks of a frame that is there."""
        found = [a.outcome if a.state.done and isinstance(a.outcome, SearchOutcome) else None for a in attempts]
        texts = [msgspec.json.encode(outcome.memories) + b"\n" for outcome in found if outcome]
        spans = iter(self._retrievals.append(texts) if texts else [])
        hashes = iter([sha256(text[:-1]).hexdigest() for text in texts])
        lines = [
            receipt_line(attempt, _facts(outcome.memories, next(spans), next(hashes)) if outcome else None)
            for attempt, outcome in zip(attempts, found, strict=True)
        ]
        self._receipts.append(lines)
        return lines

    def _keep_items(self, answers: list[AnswerLine], scores: list[JudgementLine]) -> None:
        if answers:
            for line, span in zip(answers, self._answers.append(answers), strict=True):
                self._take_answer(line, span)
        if scores:
            self._judgements.append(scores)
            for score in scores:
                self._take_score(score)

    def _load(self) -> None:
        for _, line in self._receipts.read():
            self._take(line)
            self.failures_before += line.decision == "failed"
        self._retrievals.end_at(max((facts.span.end for facts in self._returned.values()), default=0))
        for span, answer in self._answers.read():
            self._take_answer(answer, span)
        for _, score in self._judgements.read():
            self._take_score(score)

    def _take(self, line: ReceiptLine) -> None:
        """Take in what a line says, as it is written and as it is read again."""
        self._next_event[line.scope] = max(line.next_event, self._next_event.get(line.scope, 0))
        events = self._events.setdefault(line.scope, {})
        events[line.event] = _begun_anew(line.state) if line.decision == "failed" else line.state
        for ordinal in [ordinal for ordinal in events if ordinal < line.next_event]:
            del events[ordinal]
        self.stages.add(_stage(line), done=int(line.state.done), retries=int(line.is_retry))
        if line.lanes is not None:
            self.stages[_stage(line)].lanes = line.lanes.lanes
        if line.retrieval is not None:
            self._returned[line.scope, line.event] = line.retrieval
        if line.receipt.verdict == "ok" and line.receipt.kind in (CallKind.ADD, CallKind.SEARCH):
            (self.add_ms if line.receipt.kind is CallKind.ADD else self.search_ms).append(line.receipt.latency_ms)

    def _take_answer(self, line: AnswerLine, span: Span) -> None:
        self.stages.add("answering", done=int(line.item not in self._answered))
        self._answered[line.item] = span

    def _take_score(self, line: JudgementLine) -> None:
        self.stages.add("scoring", done=int(line.item not in self.scores))
        self.scores[line.item] = line.judgement.score


def _stage(line: ReceiptLine) -> str:
    return "retrieval" if line.receipt.kind is CallKind.SEARCH else "ingestion"


def _facts(memories: Sequence[Memory], span: Span, digest: str) -> RetrievalFacts:
    characters = sum(len(content_text(memory.content)) for memory in memories)
    return RetrievalFacts(span, len(memories), characters, digest)


def _begun_anew(state: EventState) -> EventState:
    """An event whose retries are counted from the start again; its bytes and its number of attempts stay."""
    return replace(EventState(body_sha256=state.body_sha256), attempts=state.attempts)
