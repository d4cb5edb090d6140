"""Servers that stumble and recover lose nothing; servers that break the contract are told which rule, and where."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evaluation.door import call_budget
from evaluation.models import Event, Item, Job, PublicationReview, QuotaEntry, Receipt, Release, Result, StageProgress
from evaluation.selectors import failure_of
from submissions.models import Version
from tests.engine.conftest import Memory, running_memory
from tests.engine.suite import make_job, make_version, open_test_release
from tests.engine.talks import write_bundle
from tests.engine.test_run import QUESTIONS, run_to_end


def first_time(status: int) -> Callable[[str, dict[str, Any], int], tuple[int, bytes] | None]:
    """Answer each request with `status` when it comes for the first time."""
    return lambda path, request, times: (status, b"{}") if times == 1 else None


@pytest.fixture
def undisturbed(release: Release, settings: Any) -> Result:
    with running_memory() as memory:
        settings.AML_ALLOWED_PRIVATE_TARGETS = [memory.url.removeprefix("http://")]
        return Result.objects.get(job=run_to_end(make_job(release, make_version(memory.url))))


@pytest.mark.parametrize("status", [429, 503])
def test_a_server_that_recovers_keeps_its_exact_score(
    undisturbed: Result, release: Release, memory: Memory, settings: Any, status: int
) -> None:
    settings.AML_ALLOWED_PRIVATE_TARGETS = [memory.url.removeprefix("http://")]
    memory.fault = first_time(status)
    job = run_to_end(make_job(release, make_version(memory.url)))

    assert job.state == "succeeded"
    assert Result.objects.get(job=job).digest == undisturbed.digest
    assert set(memory.seen.values()) == {2}, "each request came twice, byte for byte"
    assert set(Event.objects.filter(scope__job=job).values_list("attempts", flat=True)) == {2}
    assert Receipt.objects.filter(job=job, http_status=status, verdict="retry").count() == 39
    assert dict(StageProgress.objects.filter(job=job).values_list("stage", "retries")) == {
        "ingestion": 9,
        "retrieval": 30,
        "answering": 0,
        "scoring": 0,
        "aggregation": 0,
    }


def test_a_long_retry_after_ends_the_slice_instead_of_holding_the_worker(job: Job, memory: Memory) -> None:
    from evaluation.slices import SliceEnd, work_on

    memory.fault = lambda path, request, times: (500, b"{}") if path == "/add" else None
    ends = []
    while not ends or (ends[-1] is SliceEnd.AGAIN and len(ends) < 4):
        ends.append(work_on(job.pk))
        job.refresh_from_db()
        if job.next_wake_at and (job.next_wake_at - job.heartbeat_at).total_seconds() > 2:
            break

    assert ends[-1] is SliceEnd.AGAIN
    assert (job.state, job.lease_owner, job.lease_until) == ("running", "", None)
    due = Event.objects.filter(scope__job=job).order_by("next_attempt_at").values_list("next_attempt_at", flat=True)[0]
    assert job.next_wake_at == due


def test_a_wrong_echo_ends_the_job_with_its_code_and_spends_the_slot(job: Job, memory: Memory) -> None:
    def wrong_session(path: str, request: dict[str, Any], times: int) -> tuple[int, bytes] | None:
        if path != "/add":
            return None
        echo = {name: request[name] for name in ("request_id", "user_id")}
        return 200, json.dumps({"success": True, **echo, "session_id": "another"}).encode()

    memory.fault = wrong_session
    run_to_end(job)

    assert (job.state, job.blame, job.failure_code) == ("failed", "participant", "echo_mismatch")
    sent = f"eval:{job.pk.hex}:"
    assert job.failure_detail["where"] == "session_id"
    assert job.failure_detail["got"].startswith(f'sent "{sent}')
    assert job.failure_detail["got"].endswith('", came "another"')
    received = Receipt.objects.filter(job=job).exclude(reason_code="").first()  # others may have broken it as well
    assert received.reason_got.startswith(f'session_id: sent "{sent}')
    assert job.failure_detail["http_status"] == 200
    assert job.failure_detail["kind"] == "add"
    assert job.failure_detail["request_id"].startswith(f"eval:{job.pk.hex}:")
    assert not QuotaEntry.objects.filter(job=job, kind="refund").exists()
    assert not PublicationReview.objects.filter(job=job).exists()
    assert len(memory.requests("/search")) == 0


def test_a_broken_search_answer_makes_its_item_the_participants_error(job: Job, memory: Memory) -> None:
    def no_data(path: str, request: dict[str, Any], times: int) -> tuple[int, bytes] | None:
        return (200, b'{"results": []}') if path == "/search" and "number 7 " in request["query"] else None

    memory.fault = no_data
    run_to_end(job)

    assert (job.state, job.blame, job.failure_code) == ("failed", "participant", "data_missing")
    failed = Item.objects.get(job=job, state="participant_error")
    assert (failed.error_code, failed.score) == ("data_missing", 0.0)
    assert Event.objects.get(scope=failed.scope, ordinal=failed.ordinal).state == "failed"
    assert Item.objects.filter(job=job, state="pending").count() == QUESTIONS - 1


def test_a_memory_without_an_id_is_found_by_its_place_its_user_and_its_question(job: Job, memory: Memory) -> None:
    def no_id(path: str, request: dict[str, Any], times: int) -> tuple[int, bytes] | None:
        data = [{"id": "1", "content": "a"}, {"content": "b"}]
        return (200, json.dumps({"data": data}).encode()) if path == "/search" else None

    memory.fault = no_id
    run_to_end(job)

    failure = failure_of(job)
    assert failure is not None
    assert (failure.code, failure.where, failure.got) == ("id_missing", "data[1].id", "object with content")
    assert (failure.kind, failure.request_id) == ("search", "")
    failed = Item.objects.select_related("scope").get(job=job, state="participant_error")
    assert failure.question == f"{failed.scope.ordinal}.{failed.ordinal}"
    assert failure.user_id == failed.scope.user_id


def test_a_wrong_key_is_named_and_shown_nowhere(release: Release, memory: Memory) -> None:
    from submissions.vault import store_memory_system_key

    version = make_version(memory.url)
    store_memory_system_key(version=version, secret="another-secret-that-is-wrong")
    job = run_to_end(make_job(release, version))

    assert (job.state, job.blame, job.failure_code) == ("failed", "participant", "auth_failed")
    assert "another-secret" not in json.dumps(job.failure_detail)


def test_an_address_that_the_guard_refuses_is_never_called(release: Release, memory: Memory, settings: Any) -> None:
    settings.AML_ALLOWED_PRIVATE_TARGETS = []
    job = run_to_end(make_job(release, make_version(memory.url)))

    assert (job.state, job.blame) == ("failed", "participant")
    assert memory.heard == []


def test_a_changed_address_makes_the_secret_unavailable_and_gives_the_slot_back(
    release: Release, memory: Memory
) -> None:
    version = make_version(memory.url)
    version.search_url = "http://127.0.0.1:9/search"
    version.save()
    job = run_to_end(make_job(release, version))

    assert (job.state, job.blame, job.failure_code) == ("failed", "platform", "secret_unavailable")
    assert QuotaEntry.objects.filter(job=job, kind="refund").exists()
    assert memory.heard == []


def test_an_accepted_add_is_polled_until_it_is_done(transactional_db: None, memory: Memory, tmp_path: Path) -> None:
    accepted: dict[str, dict[str, Any]] = {}

    def asynchronous(path: str, request: dict[str, Any], times: int) -> tuple[int, bytes] | None:
        if path != "/add":
            return None
        task = f"task-{len(accepted)}"
        accepted[task] = request
        return 202, json.dumps({"task_id": task}).encode()

    polls: list[str] = []

    def status(path: str) -> tuple[int, bytes]:
        task = path.removeprefix("/status/")
        polls.append(task)
        echo = {name: accepted[task][name] for name in ("request_id", "user_id", "session_id")}
        return (202, b"{}") if polls.count(task) == 1 else (200, json.dumps({"success": True, **echo}).encode())

    memory.fault, memory.status = asynchronous, status
    version = make_version(memory.url, status_url=f"{memory.url}/status/{{task_id}}")
    release = open_test_release(write_bundle(tmp_path / "short", sessions=1))
    job = run_to_end(make_job(release, version), slices=200)

    assert job.state == "succeeded"
    assert len(accepted) == 3
    assert len(polls) == 6
    assert Receipt.objects.filter(job=job, kind="add_status").count() == 6
    assert set(Event.objects.filter(scope__job=job, kind="add").values_list("sends", "polls")) == {(1, 2)}


def test_a_call_gets_no_more_time_than_its_team_declared(release: Release, memory: Memory) -> None:
    slow = 0

    async def sleep_once(path: str) -> None:
        nonlocal slow
        if path == "/search" and not slow:
            slow = 1
            await asyncio.sleep(3)

    memory.before = sleep_once
    version = make_version(memory.url)
    version.call_timeout_s = 1
    version.save()
    job = run_to_end(make_job(release, version))
    assert job.state == "succeeded"
    late = Receipt.objects.get(job=job, verdict="retry")
    assert 1000 <= late.latency_ms < 2500


@pytest.mark.parametrize(("declared", "headers_s"), [(None, 1800), (30, 30), (1800, 1800), (9000, 1800)])
def test_a_declared_time_never_lengthens_the_contracts(declared: int | None, headers_s: float) -> None:
    budget = call_budget(Version(call_timeout_s=declared))
    assert (budget.headers_s, budget.total_s) == (headers_s, headers_s + 30)
