"""The retry policy: a table, and a pure function of outcome and clock."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contract.answers import AddOutcome, Outcome, SearchOutcome, read_add, read_search, retry_after_seconds
from contract.messages import AddRequest, Message, SearchRequest
from contract.receipts import CallKind
from contract.retry import Decision, Done, GiveUp, TryAgain, decide
from contract.verdicts import Reason, Verdict

NOW = datetime(2026, 11, 5, 12, 0, tzinfo=UTC)
ADD = AddRequest("r", (Message("user", "x"),), "u", "s")
SEARCH = SearchRequest(query="q", user_id="u", top_k=1)
BUSY = SearchOutcome(verdict=Verdict.RETRY, reason=Reason("http_503"))
ACCEPTED = AddOutcome(verdict=Verdict.PENDING, task_id="t")


def after(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


def ask(outcome: Outcome, kind: CallKind = CallKind.SEARCH, attempt: int = 1, **more: object) -> Decision:
    values = {"first_started_at": NOW, "full_timeouts": 0, "now": NOW, "jitter": 1.0} | more
    return decide(kind=kind, attempt=attempt, outcome=outcome, **values)  # type: ignore[arg-type]


RETRY_BOTH = (408, 425, 429, 500, 502, 503, 504)
CONTRACT = (100, 199, 201, 202, 203, 204, 206, 299, 300, 301, 302, 304, 307, 308, 399, 400, 422)
FAIL_BOTH = (401, 402, 403, 404, 405, 410, 413, 418, 426, 431, 451, 499, 501, 505, 507, 511, 520, 599)


@pytest.mark.parametrize(
    ("status", "add", "search"),
    [
        *((status, "retry", "retry") for status in RETRY_BOTH),
        (524, "retry", "fail"),
        (409, "retry", "fail"),
        *((status, "contract_error", "contract_error") for status in CONTRACT),
        *((status, "fail", "fail") for status in FAIL_BOTH),
    ],
)
def test_each_status_has_its_row_in_the_table(status: int, add: str, search: str) -> None:
    assert read_add(status, {}, b"{}", request=ADD, track="textual").verdict == add
    assert read_search(status, {}, b"{}", request=SEARCH, track="textual").verdict == search


def test_success_is_done_and_a_permanent_answer_ends_with_its_own_reason() -> None:
    assert ask(SearchOutcome(verdict=Verdict.OK)) == Done()
    for verdict in (Verdict.FAIL, Verdict.CONTRACT_ERROR):
        reason = Reason("auth_failed", "HTTP 401")
        assert ask(SearchOutcome(verdict=verdict, reason=reason)) == GiveUp(reason)


def test_waits_double_from_one_second_to_a_minute_with_full_jitter() -> None:
    waits = [ask(BUSY, attempt=n) for n in range(1, 10)]
    assert waits == [TryAgain(after(s), CallKind.SEARCH) for s in (1, 2, 4, 8, 16, 32, 60, 60, 60)]
    assert ask(BUSY, attempt=5, jitter=0.25) == TryAgain(after(4), CallKind.SEARCH)
    assert ask(BUSY, attempt=5, jitter=0.0) == TryAgain(NOW, CallKind.SEARCH)


@pytest.mark.parametrize(("asked", "wait"), [(0, 0), (7, 7), (60, 60), (3600, 60)])
def test_retry_after_is_honoured_up_to_a_minute(asked: float, wait: float) -> None:
    outcome = SearchOutcome(verdict=Verdict.RETRY, reason=Reason("http_429"), retry_after_s=asked)
    assert ask(outcome, attempt=9, jitter=0.0) == TryAgain(after(wait), CallKind.SEARCH)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("2", 2.0),
        (" 120 ", 120.0),
        ("Thu, 05 Nov 2026 12:00:30 GMT", 30.0),
        ("Thu, 05 Nov 2026 11:00:00 GMT", 0.0),
        ("-1", None),
        ("1.5", None),
        ("soon", None),
        ("", None),
        (None, None),
        ("٣", None),
        ("9" * 400, 999999999.0),
    ],
)
def test_retry_after_is_read_as_seconds_or_as_a_date(value: str | None, seconds: float | None) -> None:
    assert retry_after_seconds(value, NOW) == seconds


def test_a_request_ends_after_32_attempts_two_hours_or_three_full_timeouts() -> None:
    assert isinstance(ask(BUSY, attempt=31), TryAgain)
    assert ask(BUSY, attempt=32) == GiveUp(Reason("attempts_exhausted", "http_503"))
    assert isinstance(ask(BUSY, now=after(7198)), TryAgain)
    assert ask(BUSY, now=after(7199.5)) == GiveUp(Reason("wall_time_exhausted", "http_503"))
    slow = SearchOutcome(verdict=Verdict.RETRY, reason=Reason("read_timeout"))
    assert isinstance(ask(slow, attempt=2, full_timeouts=2), TryAgain)
    assert ask(slow, attempt=3, full_timeouts=3) == GiveUp(Reason("timeouts_exhausted", "read_timeout"))


def test_an_accepted_add_is_polled_after_two_seconds_growing_to_thirty() -> None:
    assert ask(ACCEPTED, CallKind.ADD) == TryAgain(after(2), CallKind.ADD_STATUS)
    polls = [ask(AddOutcome(verdict=Verdict.PENDING), CallKind.ADD_STATUS, n) for n in (1, 2, 7, 60)]
    assert polls == [TryAgain(after(s), CallKind.ADD_STATUS) for s in (3, 4.5, 30, 30)]
    asked = AddOutcome(verdict=Verdict.PENDING, retry_after_s=12.0)
    assert ask(asked, CallKind.ADD_STATUS, 1, jitter=0.0) == TryAgain(after(12), CallKind.ADD_STATUS)


def test_a_poll_that_fails_for_now_repeats_the_poll_and_not_the_add() -> None:
    busy = AddOutcome(verdict=Verdict.RETRY, reason=Reason("http_503"))
    assert ask(busy, CallKind.ADD_STATUS, 40, jitter=0.5) == TryAgain(after(30), CallKind.ADD_STATUS)
    gone = AddOutcome(verdict=Verdict.FAIL, reason=Reason("not_found"))
    assert ask(gone, CallKind.ADD_STATUS, 2) == GiveUp(Reason("not_found"))


def test_thirty_minutes_cover_the_whole_wait_of_an_accepted_add_then_the_add_is_sent_again() -> None:
    still = AddOutcome(verdict=Verdict.PENDING)
    late = {"now": after(1799), "accepted_at": NOW}
    assert ask(still, CallKind.ADD_STATUS, 60, **late) == TryAgain(after(1799), CallKind.ADD)
    assert ask(still, CallKind.ADD_STATUS, 60, full_timeouts=2, **late) == GiveUp(
        Reason("timeouts_exhausted", "read_timeout")
    )


@given(
    attempt=st.integers(1, 40),
    jitter=st.floats(0, 1),
    elapsed=st.floats(0, 10_000),
    timeouts=st.integers(0, 5),
    asked=st.none() | st.floats(0, 1e9),
    kind=st.sampled_from([CallKind.ADD, CallKind.SEARCH]),
)
def test_the_next_attempt_is_never_in_the_past_nor_more_than_a_minute_away(
    attempt: int, jitter: float, elapsed: float, timeouts: int, asked: float | None, kind: CallKind
) -> None:
    outcome = SearchOutcome(verdict=Verdict.RETRY, reason=Reason("reset"), retry_after_s=asked)
    now = after(elapsed)
    decision = ask(outcome, kind, attempt, now=now, jitter=jitter, full_timeouts=timeouts)
    if isinstance(decision, TryAgain):
        assert now <= decision.at <= now + timedelta(seconds=60)
        assert decision.kind is kind
        assert attempt < 32
        assert timeouts < 3
        assert decision.at < after(7200)
    else:
        assert isinstance(decision, GiveUp)
