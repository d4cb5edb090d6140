"""When to try again, as a pure function of what happened and the clock. Nothing here waits.

Source: the wire contract, retry table and its bounds.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from contract.answers import Outcome
from contract.receipts import CallKind
from contract.verdicts import Reason, Verdict

__all__ = ["LIMITS", "Decision", "Done", "GiveUp", "RetryLimits", "TryAgain", "decide", "is_full_timeout"]


@dataclass(frozen=True, slots=True)
class RetryLimits:
    """The bounds of one logical request; times in seconds."""

    attempts: int = 32
    wall_s: float = 7200.0
    full_timeouts: int = 3
    first_wait_s: float = 1.0
    longest_wait_s: float = 60.0
    longest_retry_after_s: float = 60.0
    first_poll_s: float = 2.0
    poll_growth: float = 1.5
    longest_poll_s: float = 30.0
    accepted_wait_s: float = 1800.0


LIMITS = RetryLimits()


@dataclass(frozen=True, slots=True)
class Done:
    """The call succeeded."""


@dataclass(frozen=True, slots=True)
class TryAgain:
    """Make the call `kind` at `at`, not before: the same request again, or a poll of an accepted Add."""

    at: datetime
    kind: CallKind


@dataclass(frozen=True, slots=True)
class GiveUp:
    """Stop; `reason` is the answer's own, or says which bound was reached, with the last code in `got`."""

    reason: Reason


Decision = Done | TryAgain | GiveUp


def is_full_timeout(outcome: Outcome) -> bool:
    """Tell whether `outcome` counts as one of the full time-outs of its request."""
    return outcome.reason is not None and outcome.reason.code == "read_timeout"


def decide(
    *,
    kind: CallKind,
    attempt: int,
    first_started_at: datetime,
    full_timeouts: int,
    outcome: Outcome,
    now: datetime,
    jitter: float,
    accepted_at: datetime | None = None,
    limits: RetryLimits = LIMITS,
) -> Decision:
    """Say what follows on `outcome`.

    `attempt` counts the calls of this `kind` made so far, this one included; for `add_status` the polls since the
    Add was accepted. `first_started_at` is when the first attempt of the logical request started, `full_timeouts`
    how many of its attempts timed out, this one included. `jitter` is a fresh random number from 0 to 1.
    `accepted_at` is when the Add that was answered 202 started; the 30 minutes of a request run from there, by
    default from `first_started_at`. A wait that outlasts them is a time-out of that Add, which is sent again.
    """
    if outcome.verdict is Verdict.OK:
        return Done()
    if outcome.verdict in (Verdict.FAIL, Verdict.CONTRACT_ERROR):
        return GiveUp(outcome.reason or Reason("unexpected_status"))
    if outcome.verdict is Verdict.PENDING or kind is CallKind.ADD_STATUS:
        polls = attempt if kind is CallKind.ADD_STATUS else 0
        wait = _wait(outcome, polls, jitter, limits, poll=outcome.verdict is Verdict.PENDING)
        at = now + timedelta(seconds=wait)
        ends = (accepted_at or first_started_at) + timedelta(seconds=limits.accepted_wait_s)
        if at <= ends:
            return TryAgain(at, CallKind.ADD_STATUS)
        return _resend(CallKind.ADD, 1, first_started_at, full_timeouts + 1, now, 0.0, Reason("read_timeout"), limits)
    wait = _wait(outcome, attempt, jitter, limits, poll=False)
    reason = outcome.reason or Reason("reset")
    return _resend(kind, attempt, first_started_at, full_timeouts, now, wait, reason, limits)


def _wait(outcome: Outcome, attempt: int, jitter: float, limits: RetryLimits, *, poll: bool) -> float:
    """Return seconds to wait: what the server asked for, up to a minute, else by the schedule."""
    if outcome.retry_after_s is not None:
        return min(limits.longest_retry_after_s, outcome.retry_after_s + jitter)
    if poll:
        return min(limits.longest_poll_s, limits.first_poll_s * limits.poll_growth ** min(attempt, 64))
    return jitter * min(limits.longest_wait_s, limits.first_wait_s * 2.0 ** min(attempt - 1, 64))


def _resend(
    kind: CallKind,
    attempt: int,
    first_started_at: datetime,
    full_timeouts: int,
    now: datetime,
    wait: float,
    last: Reason,
    limits: RetryLimits,
) -> Decision:
    """Return the next attempt of the same request, unless a bound is reached."""
    at = now + timedelta(seconds=wait)
    if full_timeouts >= limits.full_timeouts:
        return GiveUp(Reason("timeouts_exhausted", last.code, last.where))
    if attempt >= limits.attempts:
        return GiveUp(Reason("attempts_exhausted", last.code, last.where))
    if at >= first_started_at + timedelta(seconds=limits.wall_s):
        return GiveUp(Reason("wall_time_exhausted", last.code, last.where))
    return TryAgain(at, kind)
