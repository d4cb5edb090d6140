"""What the platform's own reference arms remember of a conversation: the marks that memory systems stand between.

`no-memory` remembers nothing, `full-context` everything that fits into the release's token budget, `bm25` what plain
word search finds, `oracle` the turns that a question's evidence names. Each one is computed here, without any traffic.
"""

import json
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import accumulate
from typing import Final

from benchmarks.datasets.model import Question, Scope, Turn
from contract.memories import Memory
from contract.reference.index import Bm25Index
from evaluation.pipeline.answering.counting import BYTES, TokenCounter

__all__ = ["ARMS", "BM25", "FULL_CONTEXT", "NO_MEMORY", "ORACLE", "Recall", "Recalled", "context_tokens", "open_arm"]

NO_MEMORY: Final = "no-memory"
FULL_CONTEXT: Final = "full-context"
BM25: Final = "bm25"
ORACLE: Final = "oracle"
ARMS: Final = (NO_MEMORY, FULL_CONTEXT, BM25, ORACLE)

_SHARE: Final = 95
"""Percent of what the answerer leaves of the token budget: what it would cut itself are the most recent turns."""


@dataclass(frozen=True, slots=True)
class Recalled:
    """What an arm remembers for a question, in the order in which the answerer reads it.

    `left_out` older turns would have been remembered too, had the token budget been larger.
    """

    memories: tuple[Memory, ...] = ()
    left_out: int = 0


Recall = Callable[[Question], Recalled]


def open_arm(arm: str, scope: Scope, *, top_k: int, token_budget: int, counter: TokenCounter = BYTES) -> Recall:
    """Return what gives the memories of `arm` in `scope`. Raises KeyError for an arm that isn't one of ARMS.

    `bm25` returns at most `top_k` turns. `full-context` keeps the most recent turns where not all fit into
    `token_budget`, as `counter` counts. `oracle` has nothing for a question that names no evidence.
    """
    return _ARMS[arm](_turns(scope), _Limits(top_k, token_budget, counter))


def context_tokens(memories: Sequence[Memory], counter: TokenCounter = BYTES) -> int:
    """Return the tokens of memories as the answerer reads them."""
    return sum(_tokens(memory, counter) for memory in memories)


@dataclass(frozen=True, slots=True)
class _Limits:
    top_k: int
    token_budget: int
    counter: TokenCounter

    @property
    def context(self) -> int:
        """Tokens that a context of memories may have."""
        return self.token_budget * (100 - self.counter.margin_percent) * _SHARE // 10_000


def _nothing(turns: Sequence[Turn], limits: _Limits) -> Recall:
    return lambda question: Recalled()


def _everything(turns: Sequence[Turn], limits: _Limits) -> Recall:
    memories = [_memory(turn) for turn in turns]
    from_the_end = list(accumulate(_tokens(memory, limits.counter) for memory in reversed(memories)))
    left_out = len(memories) - bisect_right(from_the_end, limits.context)
    kept = Recalled(tuple(memories[left_out:]), left_out)
    return lambda question: kept


def _words(turns: Sequence[Turn], limits: _Limits) -> Recall:
    memories = [_memory(turn) for turn in turns]
    index = Bm25Index()
    for turn in turns:
        index.add(turn.content, turn.timestamp_ms or 0)

    def recall(question: Question) -> Recalled:
        query = " ".join((question.query, *(question.options or ())))
        return Recalled(tuple(memories[number] for number, _ in index.search(query, limits.top_k)))

    return recall


def _evidence(turns: Sequence[Turn], limits: _Limits) -> Recall:
    def recall(question: Question) -> Recalled:
        named = frozenset(question.evidence)
        return Recalled(tuple(_memory(turn) for turn in turns if turn.turn_id in named))

    return recall


_ARMS: Final[dict[str, Callable[[Sequence[Turn], _Limits], Recall]]] = {
    NO_MEMORY: _nothing,
    FULL_CONTEXT: _everything,
    BM25: _words,
    ORACLE: _evidence,
}


def _turns(scope: Scope) -> list[Turn]:
    """The scope's turns in the order of time; one without a time stays behind the turn before it."""
    dated: list[tuple[int, Turn]] = []
    time = 0
    for session in scope.sessions:
        for turn in session.turns:
            time = time if turn.timestamp_ms is None else turn.timestamp_ms
            if turn.content.strip():
                dated.append((time, turn))
    return [turn for _, turn in sorted(dated, key=lambda pair: pair[0])]


def _memory(turn: Turn) -> Memory:
    said = None if turn.timestamp_ms is None else datetime.fromtimestamp(turn.timestamp_ms / 1000, UTC).isoformat()
    return Memory(turn.turn_id, turn.content, created_at=said)


def _tokens(memory: Memory, counter: TokenCounter) -> int:
    """As the chat answerer counts a memory in its prompt."""
    item = {"id": memory.id, "content": memory.content, "created_at": memory.created_at}
    return counter.count(json.dumps(item, ensure_ascii=False))
