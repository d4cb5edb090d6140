"""A run from its first slice to its result, against a real memory server."""

from collections import Counter
from pathlib import Path

import pytest

from evaluation.models import Answer, Event, Item, Job, Judgement, Receipt, Release, Result, Retrieval, StageProgress
from evaluation.slices import SliceEnd, work_on
from tests.engine.conftest import Memory, running_memory
from tests.engine.suite import make_job, make_version, open_test_release
from tests.engine.talks import write_bundle

QUESTIONS = 30
ADDS = 9


def run_to_end(job: Job, *, slices: int = 20) -> Job:
    """Work on `job` slice by slice, as the workers do, until it has ended."""
    for _ in range(slices):
        work_on(job.pk)
        job.refresh_from_db()
        if not job.is_active:
            return job
    raise AssertionError(f"still {job.state} in {job.stage} after {slices} slices")


def test_a_run_ends_with_every_question_asked_answered_and_scored_once(job: Job, memory: Memory) -> None:
    run_to_end(job)

    assert (job.state, job.blame, job.failure_code) == ("succeeded", "", "")
    assert Item.objects.filter(job=job, state="scored").count() == QUESTIONS
    assert [model.objects.count() for model in (Retrieval, Answer, Judgement)] == [QUESTIONS] * 3
    assert Counter(path for path, _ in memory.heard) == {"/add": ADDS, "/search": QUESTIONS}
    assert set(memory.seen.values()) == {1}
    assert Receipt.objects.filter(job=job, verdict="ok").count() == ADDS + QUESTIONS
    result = Result.objects.get(job=job)
    assert (result.n, result.coverage, result.states) == (QUESTIONS, 1.0, {"scored": QUESTIONS})
    assert result.overall > 0
    assert result.categories.keys() == {"4"}
    assert result.efficiency["search_p95_ms"] > 0


def test_every_stage_says_how_much_is_done(job: Job) -> None:
    run_to_end(job)

    rows = {row.stage: (row.done, row.total, row.retries) for row in StageProgress.objects.filter(job=job)}
    assert rows == {
        "ingestion": (ADDS, ADDS, 0),
        "retrieval": (QUESTIONS, QUESTIONS, 0),
        "answering": (QUESTIONS, QUESTIONS, 0),
        "scoring": (QUESTIONS, QUESTIONS, 0),
        "aggregation": (1, 1, 0),
    }
    assert not StageProgress.objects.filter(job=job, ended_at=None).exists()


def test_a_full_run_hides_what_it_asks_and_a_smoke_run_shows_it(release: Release, memory: Memory) -> None:
    full = make_job(release, make_version(memory.url))
    run_to_end(full)
    hidden = {request["user_id"] for request in memory.requests("/search")}
    memory.heard.clear()
    smoke = make_job(release, make_version(memory.url), mode="smoke")
    run_to_end(smoke)
    shown = {request["user_id"] for request in memory.requests("/search")}

    assert smoke.state == "succeeded"
    assert all("talk" not in user_id for user_id in hidden)
    assert shown == {f"eval:{smoke.pk.hex}:talks-3-3-10:talk-0"}
    assert Result.objects.get(job=smoke).n == 10


def test_adds_of_a_scope_go_in_order_and_before_its_searches(job: Job, memory: Memory) -> None:
    run_to_end(job)

    for user_id in {request["user_id"] for request in memory.requests("/add")}:
        sent = [
            (path, request.get("session_id"))
            for (path, _), request in zip(memory.heard, map(_json, memory.heard), strict=True)
            if request["user_id"] == user_id
        ]
        planned = Event.objects.filter(scope__user_id=user_id, kind="add").order_by("ordinal")
        assert [path for path, _ in sent] == ["/add"] * 3 + ["/search"] * 10
        assert [session for path, session in sent if path == "/add"] == [
            event.request_id.rsplit(":", 1)[0] for event in planned
        ]


@pytest.mark.parametrize("lanes", [1, 8, 64])
def test_no_more_calls_go_out_at_once_than_were_declared(release: Release, memory: Memory, lanes: int) -> None:
    job = make_job(release, make_version(memory.url), lanes=lanes)
    run_to_end(job)

    assert memory.most_at_once["/search"] <= lanes
    assert memory.most_at_once["/add"] <= lanes


def test_the_result_is_the_same_with_1_8_and_64_lanes(release: Release, settings) -> None:
    results = []
    for lanes in (1, 8, 64):
        with running_memory() as memory:
            settings.AML_ALLOWED_PRIVATE_TARGETS = [memory.url.removeprefix("http://")]
            job = run_to_end(make_job(release, make_version(memory.url), lanes=lanes))
            results.append(Result.objects.get(job=job))

    assert len({result.digest for result in results}) == 1
    assert len({result.overall for result in results}) == 1


def test_64_lanes_are_used_by_one_long_conversation(transactional_db, memory: Memory, tmp_path: Path) -> None:
    import asyncio

    async def slow(path: str) -> None:
        await asyncio.sleep(0.2)

    memory.before = slow
    release = open_test_release(write_bundle(tmp_path / "long", scopes=1, sessions=1, questions=200))
    run_to_end(make_job(release, make_version(memory.url), lanes=64))

    assert memory.most_at_once["/search"] >= 50


def test_work_on_a_job_that_has_ended_does_nothing(job: Job, memory: Memory) -> None:
    run_to_end(job)
    calls = len(memory.heard)

    assert work_on(job.pk) is SliceEnd.BUSY
    assert len(memory.heard) == calls


def _json(heard: tuple[str, bytes]) -> dict:
    import json

    return json.loads(heard[1])
