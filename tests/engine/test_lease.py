"""One worker at a time; whoever lost the lease keeps nothing."""

import threading
import time
from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection, transaction

from evaluation.lease import acquire, fence, heartbeat, release, renew
from evaluation.models import Item, Job, Receipt, Retrieval
from evaluation.pipeline.control import Control, Halt
from evaluation.pipeline.ports import LeaseLost
from evaluation.services import cancel_job
from evaluation.slices import SliceEnd, work_on
from evaluation.tasks import reap, run_slice, send_letters
from submissions.models import OutboxMail
from tests.engine.conftest import Memory
from tests.engine.test_run import QUESTIONS, run_to_end


def now() -> datetime:
    return datetime.now(UTC)


def test_only_one_worker_gets_the_lease(job: Job) -> None:
    first, second = acquire(job.pk, at=now()), acquire(job.pk, at=now())

    assert first is not None
    assert second is None


def test_a_lease_that_ran_out_goes_to_another_with_a_higher_token(job: Job) -> None:
    first = acquire(job.pk, at=now() - timedelta(minutes=5))
    second = acquire(job.pk, at=now())

    assert first is not None
    assert second is not None
    assert second.token == first.token + 1
    assert not renew(first, at=now())
    assert renew(second, at=now())
    assert not release(first, wake_at=now())
    with pytest.raises(LeaseLost), transaction.atomic():
        fence(first)


def test_a_fence_outside_a_transaction_is_refused(job: Job) -> None:
    lease = acquire(job.pk, at=now())
    assert lease is not None
    with pytest.raises(RuntimeError):
        fence(lease)


def test_the_heartbeat_notices_a_lost_lease_within_a_second(job: Job) -> None:
    lease, control = acquire(job.pk, at=now()), Control(budget_s=60)
    assert lease is not None
    with heartbeat(lease, control):
        Job.objects.filter(pk=job.pk).update(lease_token=lease.token + 1)
        wait_until(lambda: control.halted is Halt.LOST)


def test_the_heartbeat_renews_the_lease(job: Job, settings) -> None:
    settings.AML_HEARTBEAT_S = 0.5
    lease, control = acquire(job.pk, at=now() - timedelta(seconds=50)), Control(budget_s=60)
    assert lease is not None
    with heartbeat(lease, control):
        wait_until(lambda: Job.objects.get(pk=job.pk).lease_until > now() + timedelta(seconds=50))


def test_a_worker_that_lost_its_lease_in_the_middle_keeps_nothing_more(job: Job, memory: Memory) -> None:
    """Another worker takes over while calls are in flight; both go on, and every question is kept once."""
    taken = threading.Event()

    async def take_over(path: str) -> None:
        if path == "/search" and not taken.is_set():
            taken.set()
            await in_thread(lambda: Job.objects.filter(pk=job.pk).update(lease_token=100, lease_until=None))

    memory.before = take_over
    assert work_on(job.pk) is SliceEnd.LOST
    kept = Retrieval.objects.filter(item__job=job).count()
    run_to_end(job)

    assert kept < QUESTIONS
    assert job.state == "succeeded"
    assert Item.objects.filter(job=job, state="scored").count() == QUESTIONS
    assert Retrieval.objects.filter(item__job=job).count() == QUESTIONS
    repeated = sum(times - 1 for times in memory.seen.values())
    assert repeated <= 16, "no more than there are lanes: 8 for Adds, 8 for Searches"


def test_two_deliveries_of_one_wake_up_do_the_work_once(job: Job, memory: Memory) -> None:
    ends: list[SliceEnd] = []

    def deliver() -> None:
        try:
            ends.append(work_on(job.pk))
        finally:
            connection.close()

    threads = [threading.Thread(target=deliver) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert Counter(ends) == {SliceEnd.ENDED: 1, SliceEnd.BUSY: 3}
    assert set(memory.seen.values()) == {1}


def test_a_cancelled_job_stops_within_two_seconds_and_keeps_its_receipts(job: Job, memory: Memory) -> None:
    asked_at: list[float] = []

    async def ask(path: str) -> None:
        import asyncio

        if path == "/search":
            if not asked_at:
                asked_at.append(time.monotonic())
                await in_thread(lambda: cancel_job(job=Job.objects.get(pk=job.pk), actor="key:test", at=now()))
            await asyncio.sleep(3)

    memory.before = ask
    assert work_on(job.pk) is SliceEnd.ENDED
    took = time.monotonic() - asked_at[0]
    job.refresh_from_db()

    assert job.state == "cancelled"
    assert took < 2
    assert Receipt.objects.filter(job=job, kind="add").count() == 9


def test_a_slice_that_is_told_to_drain_gives_the_job_back_at_once(
    job: Job, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    import os
    import signal

    told: list[str] = []

    async def terminate(path: str) -> None:
        import asyncio

        if path == "/search":
            if not told:  # a second one, heard when the slice has ended, would end the tests
                told.append(path)
                os.kill(os.getpid(), signal.SIGTERM)
            await asyncio.sleep(3)

    memory.before = terminate
    began = time.monotonic()
    with pytest.raises(SystemExit) as left:
        run_slice(str(job.pk))
    job.refresh_from_db()

    assert left.value.code == 0, "the worker takes nothing new"
    assert time.monotonic() - began < 5
    assert (job.state, job.lease_owner, job.lease_until) == ("running", "", None)
    memory.before = None
    run_to_end(job)
    assert job.state == "succeeded"


def test_the_end_of_a_slice_queues_the_next_one(job: Job, memory: Memory, settings) -> None:
    from django_q.models import OrmQ

    settings.AML_SLICE_S = 0.0
    assert work_on(job.pk) is SliceEnd.AGAIN
    assert OrmQ.objects.count() == 1
    job.refresh_from_db()
    assert job.next_wake_at > now()


def test_the_reaper_wakes_what_nobody_works_on_once_in_a_while(job: Job, settings) -> None:
    from django_q.models import OrmQ

    at = now()
    assert reap(at) == 1
    assert reap(at + timedelta(seconds=1)) == 0, "its wake-up is on its way"
    assert reap(at + timedelta(seconds=settings.AML_REAPER_S + 1)) == 1
    acquire(job.pk, at=at)
    assert reap(at + timedelta(seconds=1)) == 0
    assert reap(at + timedelta(seconds=settings.AML_LEASE_S + 1)) == 1, "the lease ran out"
    assert OrmQ.objects.count() == 3


def test_the_reaper_has_waiting_letters_sent(transactional_db: None, mailoutbox: list) -> None:
    from django_q.models import OrmQ

    at = now()
    letter = {"event": "smoke_finished", "language": "en", "subject": "Done", "text": "Done", "html": "<p>Done</p>"}
    OutboxMail.objects.create(to="team@example.com", next_attempt_at=at, **letter)
    reap(at - timedelta(seconds=1))
    assert not OrmQ.objects.exists()
    reap(at)
    for _ in range(5):
        reap(at)  # all workers are busy
    assert [row.func() for row in OrmQ.objects.all()] == ["evaluation.tasks.send_letters"]
    reap(at + timedelta(seconds=30))
    assert OrmQ.objects.count() == 2, "the first one must be lost"
    assert send_letters() == 1
    assert [mail.to for mail in mailoutbox] == [["team@example.com"]]
    OutboxMail.objects.create(to="team@example.com", next_attempt_at=at, **letter)
    reap(at)
    assert OrmQ.objects.count() == 3, "what was asked for has run"


async def in_thread(work) -> None:
    """Run SQL from the memory server's loop, on a thread that closes its connection."""
    import asyncio

    def run() -> None:
        try:
            work()
        finally:
            connection.close()

    await asyncio.to_thread(run)


def wait_until(holds, seconds: float = 2.0) -> None:
    ends = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < ends, "it did not come to pass in time"
        time.sleep(0.02)
