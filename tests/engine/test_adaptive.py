"""How many calls go out at once follows what the server bears, and says so."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django_q.models import OrmQ

from contract.answers import SearchOutcome
from contract.receipts import CallKind, Receipt
from contract.verdicts import Reason, Verdict
from evaluation.models import Job, Release, StageProgress
from evaluation.pipeline.adaptive import COOL_DOWN_S, LaneChange, Lanes
from evaluation.progress import MOST_CHANGES, Progress
from evaluation.tasks import run_slice, wake
from tests.engine.conftest import Memory
from tests.engine.suite import make_job, make_version
from tests.engine.test_run import run_to_end

AT = datetime(2026, 11, 1, 12, tzinfo=UTC)


def receipt(status: int | None) -> Receipt:
    return Receipt(
        kind=CallKind.SEARCH,
        request_id="",
        attempt=1,
        started_at=AT,
        ended_at=AT,
        latency_ms=1.0,
        http_status=status,
        bytes_sent=1,
        bytes_received=1,
        verdict=Verdict.OK,
        reason_code="",
        resolved_address="",
    )


class TestLanes:
    def hear(self, lanes: Lanes, status: int, *, s: float = 0.0, retry_after: float | None = None, times: int = 1):
        ok = status == 200
        reason = None if ok else Reason(f"http_{status}")
        outcome = SearchOutcome(verdict=Verdict.OK if ok else Verdict.RETRY, reason=reason, retry_after_s=retry_after)
        changes = [lanes.hear(outcome, receipt(status), AT + timedelta(seconds=s)) for _ in range(times)]
        return [change for change in changes if change]

    def test_all_declared_lanes_are_open_at_first(self) -> None:
        assert Lanes(64).open == 64
        assert Lanes(64, start=20).open == 20
        assert Lanes(8, start=20).open == 8, "no more than were declared this time"

    def test_an_episode_of_429_closes_a_fifth_once(self) -> None:
        lanes = Lanes(100)
        assert self.hear(lanes, 429, times=50) == [LaneChange(AT, 80, "busy")]
        assert self.hear(lanes, 429, s=COOL_DOWN_S - 1) == []
        assert [change.lanes for change in self.hear(lanes, 429, s=COOL_DOWN_S)] == [64]

    def test_one_lane_always_stays(self) -> None:
        lanes = Lanes(2)
        for episode in range(20):
            self.hear(lanes, 429, s=episode * 20)
        assert lanes.open == 1

    def test_growth_waits_for_the_cool_down_and_ends_at_the_cap(self) -> None:
        lanes = Lanes(100)
        self.hear(lanes, 429)
        assert self.hear(lanes, 200, s=14, times=500) == []
        assert self.hear(lanes, 200, s=15, times=80) == [LaneChange(AT + timedelta(seconds=15), 84, "well")]
        self.hear(lanes, 200, s=16, times=2_000)
        assert lanes.open == 100
        assert self.hear(lanes, 200, s=17, times=2_000) == []

    def test_a_small_run_grows_back_as_well(self) -> None:
        lanes = Lanes(4)
        self.hear(lanes, 429)
        assert lanes.open == 3
        self.hear(lanes, 200, s=20, times=60)
        assert lanes.open == 4

    def test_a_5xx_stops_growth_and_closes_nothing(self) -> None:
        lanes = Lanes(100)
        self.hear(lanes, 429)
        assert [(told.lanes, told.cause) for told in self.hear(lanes, 503, s=20, times=9)] == [(80, "failing")]
        assert self.hear(lanes, 200, s=34, times=500) == []
        assert self.hear(lanes, 200, s=35, times=80) != []

    @pytest.mark.parametrize(("asked", "held"), [(30.0, 30.0), (3_600.0, 60.0)])
    def test_retry_after_holds_every_call_back_for_at_most_a_minute(self, asked: float, held: float) -> None:
        lanes = Lanes(10)
        self.hear(lanes, 429, retry_after=asked)
        assert lanes.held_until == AT + timedelta(seconds=held)
        assert self.hear(lanes, 429, s=held - 1) == [], "a long wait is part of its episode"

    def test_no_more_go_in_than_are_open_and_nobody_is_forgotten(self) -> None:
        asyncio.run(self._crowd())

    async def _crowd(self) -> None:
        lanes, inside, most, through = Lanes(5), 0, 0, 0

        async def call(number: int) -> None:
            nonlocal inside, most, through
            async with lanes:
                inside += 1
                most = max(most, inside)
                await asyncio.sleep(0.001 * (number % 3))
                inside -= 1
                through += 1

        calls = [asyncio.create_task(call(number)) for number in range(60)]
        await asyncio.sleep(0)
        for number in range(20, 40):
            calls[number].cancel()
        await asyncio.gather(*calls, return_exceptions=True)
        assert (most, inside, through) == (5, 0, 40)


def test_a_server_that_says_429_gets_fewer_calls_and_the_history_is_kept(release: Release, memory: Memory) -> None:
    heard = 0

    def busy(path: str, request: dict[str, Any], times: int) -> tuple[int, bytes] | None:
        nonlocal heard
        heard += path == "/search"
        return (429, b"{}") if path == "/search" and heard == 5 else None

    memory.fault = busy
    job = run_to_end(make_job(release, make_version(memory.url), lanes=10))

    assert job.state == "succeeded"
    history = StageProgress.objects.get(job=job, stage="retrieval").throttle
    assert [(lanes, cause) for _, lanes, cause in history] == [(8, "busy")]
    assert StageProgress.objects.get(job=job, stage="ingestion").throttle == []
    assert Progress(job.pk).lanes("retrieval") == 8, "the next slice begins there"


def test_a_retry_after_is_honoured_by_every_lane(release: Release, memory: Memory) -> None:
    from evaluation.slices import SliceEnd, work_on

    memory.fault = lambda path, request, times: (429, b"{}") if path == "/search" else None
    memory.retry_after = "30"
    job = make_job(release, make_version(memory.url), lanes=2)

    assert work_on(job.pk) is SliceEnd.AGAIN
    job.refresh_from_db()
    assert len(memory.requests("/search")) <= 2, "those that were under way, and then none"
    assert 25 < (job.next_wake_at - job.heartbeat_at).total_seconds() <= 31


def test_a_long_history_is_thinned_out_from_its_beginning(job: Job) -> None:
    progress = Progress(job.pk)
    for number in range(1_000):
        progress._note("retrieval", LaneChange(AT, number, "well"))
    lanes = [entry[1] for entry in progress._rows["retrieval"].throttle]
    assert len(lanes) <= MOST_CHANGES
    assert lanes == sorted(lanes)
    assert lanes[-1] == 999


def test_the_job_that_waited_longest_is_served_first_whatever_wake_up_comes(
    release: Release, memory: Memory, settings: Any
) -> None:
    settings.AML_SLICE_S = 0.0
    jobs = [make_job(release, make_version(memory.url)) for _ in range(3)]
    for job in jobs:
        wake(job.pk)
    for _ in range(9):
        newest = OrmQ.objects.order_by("-pk")[0]  # the broker knows no order; this is the most unfair one
        job_id = newest.task["args"][0]
        newest.delete()
        run_slice(job_id)

    assert [Job.objects.get(pk=job.pk).slices for job in jobs] == [3, 3, 3]
    assert OrmQ.objects.count() == 3, "each job keeps a wake-up of its own"
