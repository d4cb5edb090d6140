"""What an attempt makes of its event: pure, so that every turn of it can be tried without a server or a clock."""

from dataclasses import replace
from datetime import datetime

from contract.answers import AddOutcome, SearchOutcome
from contract.receipts import CallKind, Receipt
from contract.retry import Decision, Done, TryAgain, decide, is_full_timeout
from contract.verdicts import Verdict
from evaluation.pipeline.plan import Planned, PlannedAdd
from evaluation.pipeline.ports import EventState

__all__ = ["call_kind", "follow"]


def call_kind(event: Planned, state: EventState) -> CallKind:
    """What to call next for `event`: its request, or the status of an Add that was accepted and goes on."""
    if not isinstance(event, PlannedAdd):
        return CallKind.SEARCH
    return CallKind.ADD_STATUS if state.task_id else CallKind.ADD


def follow(
    state: EventState,
    kind: CallKind,
    outcome: AddOutcome | SearchOutcome,
    receipt: Receipt,
    *,
    now: datetime,
    jitter: float,
) -> tuple[EventState, Decision]:
    """Return the event's state behind an attempt of `kind`, and what is to be done."""
    counted = _count(state, kind, outcome, receipt)
    first = counted.first_started_at
    assert first is not None
    decision = decide(
        kind=kind,
        attempt=counted.polls if kind is CallKind.ADD_STATUS else counted.sends,
        first_started_at=first,
        full_timeouts=counted.full_timeouts,
        outcome=outcome,
        now=now,
        jitter=jitter,
        accepted_at=counted.accepted_at,
    )
    if isinstance(decision, TryAgain):
        return _again(counted, decision), decision
    return replace(counted, next_attempt_at=None, done=isinstance(decision, Done)), decision


def _count(state: EventState, kind: CallKind, outcome: AddOutcome | SearchOutcome, receipt: Receipt) -> EventState:
    state = replace(state, attempts=state.attempts + 1, first_started_at=state.first_started_at or receipt.started_at)
    if kind is CallKind.ADD_STATUS:
        return replace(state, polls=state.polls + 1)
    state = replace(state, sends=state.sends + 1, full_timeouts=state.full_timeouts + is_full_timeout(outcome))
    if outcome.verdict is Verdict.PENDING and isinstance(outcome, AddOutcome):
        return replace(state, task_id=outcome.task_id or "", accepted_at=receipt.started_at, polls=0)
    return state


def _again(state: EventState, decision: TryAgain) -> EventState:
    state = replace(state, next_attempt_at=decision.at)
    if state.task_id and decision.kind is CallKind.ADD:
        # the accepted Add never came to an end: that was a time-out of it, and it goes out once more
        return replace(state, task_id="", accepted_at=None, polls=0, full_timeouts=state.full_timeouts + 1)
    return state
