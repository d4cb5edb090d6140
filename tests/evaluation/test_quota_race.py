"""Quotas under many submissions at the same moment, each on a connection of its own."""

import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from django.db import connection, transaction
from django.utils import timezone

from evaluation import quotas
from evaluation.models import Job, QuotaEntry
from submissions.refusals import Refusal
from submissions.services import suspend_version
from tests.evaluation import builders

THREADS = 20

pytestmark = pytest.mark.django_db(transaction=True)


def at_once(call: Callable[[int], object]) -> list[str]:
    """Call `call(number)` from many threads at once; what each came to: "done", or the code of its refusal."""
    outcomes: list[str] = []
    barrier = threading.Barrier(THREADS)

    def work(number: int) -> None:
        barrier.wait()
        try:
            call(number)
            outcomes.append("done")
        except Refusal as refusal:
            outcomes.append(refusal.code)
        except Exception as error:
            outcomes.append(repr(error))
        finally:
            connection.close()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return outcomes


def test_of_twenty_parallel_submissions_one_gets_the_slot(tmp_path: Path) -> None:
    builders.make_release(tmp_path / "talks")
    entrant = builders.make_entrant()
    outcomes = at_once(lambda number: builders.start(entrant, "smoke", run_label=f"run-{number}"))
    assert outcomes.count("done") == 1
    assert set(outcomes) <= {"done", "job_active", "quota_not_yet"}
    assert Job.objects.count() == QuotaEntry.objects.count() == 1


def test_smoke_and_full_at_once_start_one_run(tmp_path: Path) -> None:
    builders.make_release(tmp_path / "talks")
    entrant = builders.make_entrant()
    builders.passed_smoke(entrant)
    entrant.cycle.smoke_interval_minutes = 0
    entrant.cycle.save()
    outcomes = at_once(lambda number: builders.start(entrant, "full" if number % 2 else "smoke", run_label=f"{number}"))
    assert outcomes.count("done") == 1
    assert set(outcomes) <= {"done", "job_active"}
    assert Job.objects.active().count() == 1


def test_parallel_charges_stop_at_the_limit(tmp_path: Path) -> None:
    builders.make_release(tmp_path / "talks")
    entrant = builders.make_entrant(builders.make_cycle(smoke_interval_minutes=0, smoke_limit=3))
    template = builders.finish(builders.start(entrant, "smoke"), state="failed", blame="platform", code="reset")
    ended = [_ended_job(template, number) for number in range(THREADS)]
    at = timezone.now()
    outcomes = at_once(lambda number: quotas.charge(key=entrant.key, job=ended[number], at=at))
    assert sorted(outcomes) == ["done"] * 3 + ["quota_used_up"] * (THREADS - 3)


def test_parallel_refunds_give_one_slot_back(tmp_path: Path) -> None:
    builders.make_release(tmp_path / "talks")
    entrant = builders.make_entrant()
    job = builders.passed_smoke(entrant)
    at = timezone.now()
    given: list[bool] = []
    outcomes = at_once(lambda number: given.append(quotas.refund(job=job, reason="reset", at=at)))
    assert outcomes == ["done"] * THREADS
    assert given.count(True) == 1
    assert QuotaEntry.objects.filter(kind="refund").count() == 1


def test_a_version_that_is_suspended_at_the_same_moment_starts_no_run(tmp_path: Path) -> None:
    builders.make_release(tmp_path / "talks")
    entrant = builders.make_entrant()
    is_suspended = threading.Event()

    def suspend_slowly() -> None:
        with transaction.atomic():
            suspend_version(version=entrant.version, actor="organizer:ada", reason="Under question.", at=timezone.now())
            is_suspended.set()
            time.sleep(0.5)
        connection.close()

    suspending = threading.Thread(target=suspend_slowly)
    suspending.start()
    assert is_suspended.wait(10)
    with pytest.raises(Refusal) as refused:
        builders.start(entrant)
    suspending.join()
    assert refused.value.code == "version_not_approved"
    assert not Job.objects.exists()


def _ended_job(template: Job, number: int) -> Job:
    job = Job.objects.get(pk=template.pk)
    job.pk, job.run_label = None, f"ended-{number}"
    job._state.adding = True
    job.id = Job._meta.pk.get_default()
    job.save()
    return job
