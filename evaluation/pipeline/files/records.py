"""The lines of a run's files."""

import msgspec

from contract.receipts import Receipt
from contract.retry import Decision, GiveUp, TryAgain
from contract.verdicts import Verdict
from evaluation.pipeline.answering.model import Answer
from evaluation.pipeline.files.journal import Span
from evaluation.pipeline.ports import Attempt, EventState, Judgement, LaneChange

__all__ = ["AnswerLine", "JudgementLine", "ReceiptLine", "RetrievalFacts", "is_retry", "receipt_line"]


class RetrievalFacts(msgspec.Struct, frozen=True):
    """What a Search returned: how much of it, where it stands, and the SHA-256 of its JSON in hexadecimal."""

    span: Span
    count: int
    characters: int
    sha256: str


class ReceiptLine(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One attempt on the wire. `decision` is done, again or failed; `state` is the event's behind the attempt.

    Before `next_event` the scope's events are done; `lanes` is how many calls go out at once from here on, where the
    attempt has changed that.
    """

    scope: int
    event: int
    user_id: str
    receipt: Receipt
    decision: str
    is_retry: bool = False
    code: str = ""
    got: str = ""
    where: str = ""
    state: EventState
    next_event: int
    retrieval: RetrievalFacts | None = None
    lanes: LaneChange | None = None


class AnswerLine(msgspec.Struct, frozen=True):
    """An item's answer; `by` is the answerer's id."""

    item: int
    key: str
    by: str
    answer: Answer


class JudgementLine(msgspec.Struct, frozen=True):
    """An item's score; `by` is the id of the judge or metric."""

    item: int
    key: str
    by: str
    judgement: Judgement


def receipt_line(attempt: Attempt, retrieval: RetrievalFacts | None) -> ReceiptLine:
    """Return the line that keeps an attempt."""
    decision = attempt.decision
    reason = decision.reason if isinstance(decision, GiveUp) else attempt.outcome.reason
    return ReceiptLine(
        scope=attempt.scope,
        event=attempt.event.ordinal,
        user_id=attempt.event.request.user_id,
        receipt=attempt.receipt,
        decision=_word(decision),
        is_retry=is_retry(attempt),
        code=reason.code if reason else "",
        got=reason.got if reason else "",
        where=reason.where if reason else "",
        state=attempt.state,
        next_event=attempt.next_event,
        retrieval=retrieval,
        lanes=attempt.lanes,
    )


def is_retry(attempt: Attempt) -> bool:
    """Whether something went wrong that is tried again; asking how an accepted Add goes on is no such thing."""
    return isinstance(attempt.decision, TryAgain) and attempt.outcome.verdict is not Verdict.PENDING


def _word(decision: Decision) -> str:
    if isinstance(decision, TryAgain):
        return "again"
    return "failed" if isinstance(decision, GiveUp) else "done"
