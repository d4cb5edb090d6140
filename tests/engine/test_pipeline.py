"""The pure parts of the engine: ids, plans, what an attempt leads to, group commits, aggregation."""

import asyncio
import random
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.datasets.model import Question, Scope, Session, Turn
from contract.answers import AddOutcome, SearchOutcome
from contract.receipts import CallKind, Receipt
from contract.retry import Done, GiveUp, TryAgain
from contract.verdicts import Reason, Verdict
from evaluation.pipeline.aggregate import ScoredItem, aggregate, efficiency_facts, percentile
from evaluation.pipeline.attempts import call_kind, follow
from evaluation.pipeline.commits import GroupCommit
from evaluation.pipeline.control import Control, Halt
from evaluation.pipeline.ids import RunIds
from evaluation.pipeline.items import ModelRetry
from evaluation.pipeline.plan import PlannedAdd, PlannedSearch, count_events, plan_scope
from evaluation.pipeline.ports import EventState

AT = datetime(2026, 11, 1, 12, tzinfo=UTC)
KEY = bytes(range(32))


def turn(session: int, number: int) -> Turn:
    return Turn("user", f"turn {number} of {session}", 1_000 * number, f"D{session}:{number}")


def scope(*, sessions: int = 2, turns: int = 25, questions: int = 3) -> Scope:
    return Scope(
        "conv-1",
        tuple(
            Session(
                f"session_{s}", tuple(Turn("user", f"turn {t} of {s}", 1_000 * t, f"D{s}:{t}") for t in range(turns))
            )
            for s in range(sessions)
        ),
        tuple(Question(f"q{n}", f"what is {n}?", None, "gold", "4", "A", ()) for n in range(questions)),
    )


class TestIds:
    def test_without_a_key_they_can_be_read(self) -> None:
        ids = RunIds("run1")
        session = ids.session_id("hearth", "hearth-en-1", "session_2")

        assert session == "eval:run1:hearth:hearth-en-1:session_2"
        assert ids.request_id(session, 3) == "eval:run1:hearth:hearth-en-1:session_2:chunk-3"

    def test_with_a_key_no_name_of_the_dataset_is_left(self) -> None:
        session = RunIds("run1", KEY).session_id("hearth", "hearth-en-1", "session_2")

        assert session.startswith("eval:run1:")
        assert not any(name in session for name in ("hearth", "en-1", "session"))
        assert len(session.split(":")) == 5

    def test_the_same_run_gives_the_same_ids_and_another_key_others(self) -> None:
        assert RunIds("r", KEY).user_id("d", "s") == RunIds("r", KEY).user_id("d", "s")
        assert RunIds("r", KEY).user_id("d", "s") != RunIds("r", KEY[::-1]).user_id("d", "s")

    def test_one_session_name_in_two_scopes_gives_two_tokens(self) -> None:
        ids = RunIds("r", KEY)
        tokens = {ids.session_id("d", scope_key, "session_1").rsplit(":", 1)[1] for scope_key in ("a", "b")}
        assert len(tokens) == 2

    @given(st.text(min_size=1), st.text(min_size=1), st.booleans())
    def test_any_names_give_plain_distinct_parts(self, one: str, other: str, opaque: bool) -> None:
        ids = RunIds("r", KEY if opaque else None)
        first, second = ids.user_id("d", one), ids.user_id("d", other)

        assert (first == second) == (one == other)
        assert first.isascii()
        assert len(first) <= 300
        assert first.count(":") == 3


class TestPlan:
    def plan(self, ids: RunIds | None = None) -> list[PlannedAdd | PlannedSearch]:
        return list(plan_scope(scope(), dataset="d", ids=ids or RunIds("r"), top_k=100))

    def test_all_adds_come_before_all_searches_and_are_numbered(self) -> None:
        plan = self.plan()

        assert [type(event) for event in plan] == [PlannedAdd] * 4 + [PlannedSearch] * 3
        assert [event.ordinal for event in plan] == list(range(7))
        assert count_events(scope()) == (4, 3)

    def test_a_session_of_25_messages_becomes_two_adds_of_one_session(self) -> None:
        first, second = self.plan()[:2]

        assert isinstance(first, PlannedAdd)
        assert isinstance(second, PlannedAdd)
        assert (len(first.request.messages), len(second.request.messages)) == (20, 5)
        assert first.request.session_id == second.request.session_id
        assert [event.request.request_id[-7:] for event in (first, second)] == ["chunk-1", "chunk-2"]

    def test_the_same_run_gives_the_same_bytes(self) -> None:
        ids = RunIds("r", KEY)
        assert [event.body for event in self.plan(ids)] == [event.body for event in self.plan(RunIds("r", KEY))]

    def test_no_gold_and_no_category_is_sent(self) -> None:
        assert all(b"gold" not in event.body and b"category" not in event.body for event in self.plan())

    def test_events_are_made_one_at_a_time(self) -> None:
        plan = plan_scope(scope(sessions=1_000), dataset="d", ids=RunIds("r"), top_k=100)
        assert next(plan).ordinal == 0


def receipt(kind: CallKind, at: datetime = AT) -> Receipt:
    return Receipt(
        kind=kind,
        request_id="",
        attempt=1,
        started_at=at,
        ended_at=at,
        latency_ms=1.0,
        http_status=200,
        bytes_sent=1,
        bytes_received=1,
        verdict=Verdict.OK,
        reason_code="",
        resolved_address="",
    )


class TestAttempts:
    def take(self, state: EventState, kind: CallKind, outcome: AddOutcome | SearchOutcome, at: datetime = AT):
        return follow(state, kind, outcome, receipt(kind, at), now=at, jitter=0.5)

    def test_a_good_answer_is_done(self) -> None:
        state, decision = self.take(EventState(body_sha256="x"), CallKind.SEARCH, SearchOutcome(verdict=Verdict.OK))

        assert isinstance(decision, Done)
        assert (state.done, state.attempts, state.sends, state.next_attempt_at) == (True, 1, 1, None)

    def test_a_busy_server_is_tried_again_later(self) -> None:
        outcome = SearchOutcome(verdict=Verdict.RETRY, reason=Reason("http_503"), retry_after_s=7)
        state, decision = self.take(EventState(body_sha256="x"), CallKind.SEARCH, outcome)

        assert isinstance(decision, TryAgain)
        assert state.next_attempt_at == AT + timedelta(seconds=7.5)
        assert not state.done

    def test_an_accepted_add_is_polled_and_then_done(self) -> None:
        event = PlannedAdd(0, None, b"")  # type: ignore[arg-type]  # only its kind is looked at
        accepted, _ = self.take(
            EventState(body_sha256="x"), CallKind.ADD, AddOutcome(verdict=Verdict.PENDING, task_id="t1")
        )
        assert (accepted.task_id, accepted.accepted_at, accepted.sends, accepted.polls) == ("t1", AT, 1, 0)
        assert call_kind(event, accepted) is CallKind.ADD_STATUS

        working, _ = self.take(accepted, CallKind.ADD_STATUS, AddOutcome(verdict=Verdict.PENDING))
        assert (working.attempts, working.sends, working.polls, working.task_id) == (2, 1, 1, "t1")
        done, _ = self.take(working, CallKind.ADD_STATUS, AddOutcome(verdict=Verdict.OK))
        assert done.done

    def test_an_accepted_add_that_never_ends_is_sent_again_as_a_time_out(self) -> None:
        accepted, _ = self.take(
            EventState(body_sha256="x"), CallKind.ADD, AddOutcome(verdict=Verdict.PENDING, task_id="t1")
        )
        late, decision = self.take(
            accepted, CallKind.ADD_STATUS, AddOutcome(verdict=Verdict.PENDING), AT + timedelta(minutes=30)
        )

        assert decision == TryAgain(AT + timedelta(minutes=30), CallKind.ADD)
        assert (late.task_id, late.accepted_at, late.polls, late.full_timeouts) == ("", None, 0, 1)

    def test_three_full_time_outs_end_the_request(self) -> None:
        state = EventState(body_sha256="x")
        decision: object = None
        for _ in range(3):
            outcome = SearchOutcome(verdict=Verdict.RETRY, reason=Reason("read_timeout"))
            state, decision = self.take(state, CallKind.SEARCH, outcome)

        assert isinstance(decision, GiveUp)
        assert decision.reason.code == "timeouts_exhausted"


class TestGroupCommit:
    def test_what_piles_up_during_a_commit_goes_into_the_next_one(self) -> None:
        batches: list[list[int]] = []

        async def commit(batch: Sequence[int]) -> None:
            await asyncio.sleep(0.01)
            batches.append(list(batch))

        async def main() -> None:
            commits = GroupCommit(commit, limit=8)
            await asyncio.gather(*(commits.put(n) for n in range(20)))

        asyncio.run(main())
        assert batches == [list(range(8)), list(range(8, 16)), list(range(16, 20))]

    def test_a_failed_commit_refuses_everything_behind_it(self) -> None:
        async def commit(batch: Sequence[int]) -> None:
            raise ValueError("no")

        async def main() -> list[object]:
            commits = GroupCommit(commit, limit=2)
            first = await asyncio.gather(*(commits.put(n) for n in range(5)), return_exceptions=True)
            await commits.close()
            return [*first, *await asyncio.gather(commits.put(6), return_exceptions=True)]

        assert [str(error) for error in asyncio.run(main())] == ["no"] * 6

    def test_a_caller_that_is_cancelled_does_not_take_its_result_back(self) -> None:
        kept: list[int] = []

        async def commit(batch: Sequence[int]) -> None:
            await asyncio.sleep(0.01)
            kept.extend(batch)

        async def main() -> None:
            commits = GroupCommit(commit)
            caller = asyncio.create_task(commits.put(1))
            await asyncio.sleep(0)
            caller.cancel()
            await commits.close()

        asyncio.run(main())
        assert kept == [1]


class TestAggregate:
    def items(self) -> list[ScoredItem]:
        return [
            ScoredItem(f"d/q{n}", 0, "scored", n / 10, str(n % 2 + 1), "AB"[n % 2], "d", n % 5 != 0) for n in range(10)
        ]

    def test_overall_is_the_unweighted_mean_and_parts_have_their_n(self) -> None:
        facts = aggregate(self.items())

        assert facts.overall == pytest.approx(0.45)
        assert (facts.n, facts.coverage, facts.states) == (10, 1.0, {"scored": 10})
        assert facts.categories == {"1": {"score": 0.4, "n": 5}, "2": {"score": 0.5, "n": 5}}
        assert facts.capabilities.keys() == {"A", "B"}
        assert facts.answerable["n"] == 8
        assert facts.datasets == {"d": {"score": 0.45, "n": 10}}

    @given(st.lists(st.floats(0, 1), min_size=1, max_size=60), st.randoms(use_true_random=False))
    def test_the_order_of_items_changes_no_bit(self, scores: list[float], order: random.Random) -> None:
        items = [ScoredItem(f"q{n}", 0, "scored", score, "1", "A", "d", True) for n, score in enumerate(scores)]
        shuffled = items[:]
        order.shuffle(shuffled)

        assert aggregate(items) == aggregate(shuffled)

    def test_an_item_without_a_score_lowers_coverage_and_no_mean(self) -> None:
        items = [*self.items(), ScoredItem("d/q99", 0, "unscored", None, "1", "A", "d", True)]
        facts = aggregate(items)

        assert facts.overall == pytest.approx(0.45)
        assert facts.coverage == pytest.approx(10 / 11)

    def test_the_digest_sees_key_step_state_and_score(self) -> None:
        base = ScoredItem("q", 0, "scored", 0.5, "1", "A", "d", True)
        others = [
            ScoredItem("p", 0, "scored", 0.5, "1", "A", "d", True),
            ScoredItem("q", 1, "scored", 0.5, "1", "A", "d", True),
            ScoredItem("q", 0, "participant_error", 0.5, "1", "A", "d", True),
            ScoredItem("q", 0, "scored", 0.5000001, "1", "A", "d", True),
        ]
        assert len({aggregate([item]).digest for item in (base, *others)}) == 5

    def test_nothing_gives_nothing(self) -> None:
        facts = aggregate([])
        assert (facts.overall, facts.n, facts.coverage) == (0.0, 0, 0.0)
        assert efficiency_facts(add_ms=[], search_ms=[], characters=[], memories=[]) == {}

    def test_percentiles_are_values_that_were_measured(self) -> None:
        assert percentile([1.0, 2.0, 3.0, 4.0], 50) == 2.0
        assert percentile([float(n) for n in range(1, 101)], 95) == 95.0
        assert percentile([7.0], 95) == 7.0


def test_a_lost_lease_outranks_every_other_reason_to_stop() -> None:
    control = Control(budget_s=60)
    control.halt(Halt.DRAINED)
    control.halt(Halt.CANCELLED)
    assert control.halted is Halt.DRAINED
    control.halt(Halt.LOST)
    assert control.halted is Halt.LOST
    assert control.closing


def test_a_models_back_off_doubles_and_ends() -> None:
    retry = ModelRetry(attempts=4, first_s=2, longest_s=5)
    waits = [retry.after(failures, AT) for failures in range(1, 5)]
    assert waits == [AT + timedelta(seconds=s) for s in (2, 4, 5)] + [None]
