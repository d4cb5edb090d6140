"""A scope of a dataset becomes an ordered list of Adds and Searches, made one after another and never held."""

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256

from benchmarks.datasets.chunking import chunk_session
from benchmarks.datasets.model import Question, Scope, Session, Turn
from contract.messages import AddRequest, Message, SearchRequest, encode
from evaluation.pipeline.ids import RunIds

__all__ = ["Planned", "PlannedAdd", "PlannedSearch", "count_events", "plan_scope", "search_ordinals"]


@dataclass(frozen=True, slots=True)
class PlannedAdd:
    """One Add. `ordinal` counts the scope's events from 0; `body` are the bytes that every attempt sends."""

    ordinal: int
    request: AddRequest
    body: bytes

    @property
    def body_sha256(self) -> str:
        return sha256(self.body).hexdigest()


@dataclass(frozen=True, slots=True)
class PlannedSearch:
    """One Search; the question's `step` tells apart the times at which a plan asks it."""

    ordinal: int
    question: Question
    request: SearchRequest
    body: bytes

    @property
    def body_sha256(self) -> str:
        return sha256(self.body).hexdigest()


Planned = PlannedAdd | PlannedSearch


def plan_scope(scope: Scope, *, dataset: str, ids: RunIds, top_k: int) -> Iterator[Planned]:
    """Yield the scope's events in the order in which they are due.

    Most scopes are written first and asked then; a streaming one is asked in between, about what was written so far.
    The same scope, ids and `top_k` always give the same events, byte for byte.
    """
    user = ids.user_id(dataset, scope.key)
    ordinal = 0
    for due in scope.in_order():
        if isinstance(due, Question):
            search = SearchRequest(query=due.query, options=due.options, user_id=user, top_k=top_k)
            yield PlannedSearch(ordinal, due, search, encode(search))
            ordinal += 1
            continue
        for add in _adds(due, ids.session_id(dataset, scope.key, due.key), user, ids):
            yield PlannedAdd(ordinal, add, encode(add))
            ordinal += 1


def count_events(scope: Scope) -> tuple[int, int]:
    """Return how many Adds and how many Searches `plan_scope` makes of the scope."""
    return sum(len(chunk_session(session)) for session in scope.sessions), len(scope.questions)


def search_ordinals(scope: Scope) -> list[int]:
    """Return the ordinal of each question's Search in `plan_scope`, in the order of the questions."""
    ordinals = []
    ordinal = 0
    for due in scope.in_order():
        if isinstance(due, Question):
            ordinals.append(ordinal)
        ordinal += 1 if isinstance(due, Question) else len(chunk_session(due))
    return ordinals


def _adds(session: Session, session_id: str, user: str, ids: RunIds) -> Iterator[AddRequest]:
    for number, chunk in enumerate(chunk_session(session), start=1):
        yield AddRequest(
            request_id=ids.request_id(session_id, number),
            messages=tuple(_message(turn) for turn in chunk),
            user_id=user,
            session_id=session_id,
        )


def _message(turn: Turn) -> Message:
    return Message(role=turn.role, content=turn.content, timestamp=turn.timestamp_ms)
