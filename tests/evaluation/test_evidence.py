"""A run's evidence: sealed when a scope is done, chained, and opened question by question."""

import json
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from django.core.files.storage import FileSystemStorage

from contract.memories import Memory
from evaluation.evidence import sealing
from evaluation.evidence.reading import EvidenceMissing, check_chain, open_item, read_run
from evaluation.evidence.sealing import evidence_storage, seal_scopes
from evaluation.evidence.segments import hash_file
from evaluation.lease import acquire
from evaluation.ledger import pack_memories
from evaluation.models import Answer, Item, Job, Receipt, ResponseBody, Result, Retrieval, Scope, Segment
from evaluation.suites import JobSuite
from tests.engine.conftest import Memory as Server
from tests.engine.conftest import job, memory, release  # noqa: F401
from tests.engine.suite import SECRET, make_job, make_version
from tests.engine.test_run import run_to_end


def path_of(segment: Segment) -> Path:
    return Path(evidence_storage().path(segment.file))


def test_a_finished_run_has_one_segment_a_scope_and_no_memories_in_its_rows(job: Job) -> None:  # noqa: F811
    run_to_end(job)

    segments = list(Segment.objects.filter(job=job))
    assert [segment.number for segment in segments] == [1, 2, 3]
    assert {segment.scope.ordinal for segment in segments} == {0, 1, 2}
    assert {segment.questions for segment in segments} == {10}
    assert {bytes(row.memories) for row in Retrieval.objects.filter(item__job=job)} == {b""}
    for segment in segments:
        with closing(evidence_storage().open(segment.file)) as file:
            assert hash_file(file) == segment.sha256
        assert path_of(segment).stat().st_size == segment.size
    assert check_chain(job) == []


def test_the_memories_of_each_question_are_those_that_the_server_returned(job: Job, memory: Server) -> None:  # noqa: F811
    run_to_end(job)

    asked = {request["query"] for request in memory.requests("/search")}
    records = list(read_run(job))
    assert {record.question.query for record in records} == asked
    for item in Item.objects.filter(job=job).select_related("scope"):
        found = open_item(item)
        assert (found.is_intact, found.problem) == (True, "")
        assert found.question is not None
        assert found.question.gold
        kept = next(record for record in records if record.key == item.question_key)
        assert found.memories == kept.memories
        assert len(found.memories) == item.retrieval.count


def test_scopes_that_are_done_are_sealed_while_another_one_still_waits(job: Job, memory: Server) -> None:  # noqa: F811
    from evaluation.slices import SliceEnd, work_on

    held = "number 9 called?"

    def fault(path: str, request: dict[str, Any], seen: int) -> tuple[int, bytes] | None:
        is_held = path == "/search" and held in request["query"] and request["user_id"] == memory_of_first[0]
        return (500, b"busy") if is_held else None

    memory_of_first = [JobSuite(job).user_id(next(JobSuite(job).scopes()))]
    memory.fault = fault
    assert work_on(job.pk) is SliceEnd.AGAIN
    job.refresh_from_db()
    assert job.stage == "retrieval"
    assert set(Segment.objects.values_list("scope__ordinal", flat=True)) == {1, 2}
    assert all(bytes(row.memories) for row in Retrieval.objects.filter(item__scope__ordinal=0))


def test_bodies_of_refused_answers_are_kept_without_the_credential(job: Job, memory: Server) -> None:  # noqa: F811
    def fault(path: str, request: dict[str, Any], seen: int) -> tuple[int, bytes] | None:
        return (503, f"busy, {SECRET}".encode()) if path == "/search" and seen == 1 else None

    memory.fault = fault
    run_to_end(job)

    assert job.state == "succeeded"
    assert not ResponseBody.objects.exists()
    for item in Item.objects.filter(job=job).select_related("scope"):
        (body,) = open_item(item).bodies
        assert (body.attempt, body.data) == (1, b"busy, ***")
    everything = b"".join(path_of(segment).read_bytes() for segment in Segment.objects.all())
    assert SECRET.encode() not in everything


def test_a_run_that_fails_keeps_its_memories_and_the_last_body_in_rows(job: Job, memory: Server) -> None:  # noqa: F811
    memory.fault = lambda path, request, seen: (
        (200, b'{"data": "no"}') if "number 9" in request.get("query", "") else None
    )
    run_to_end(job)

    assert (job.state, job.blame) == ("failed", "participant")
    failed = Item.objects.filter(job=job, state="participant_error").select_related("scope")[0]
    found = open_item(failed)
    assert [body.data for body in found.bodies] == [b'{"data": "no"}']
    other = Item.objects.filter(job=job, retrieval__isnull=False, scope__segment=None).first()
    assert other is None or open_item(other).memories


def test_a_file_that_was_changed_is_noticed(job: Job) -> None:  # noqa: F811
    run_to_end(job)
    segment = Segment.objects.filter(job=job)[1]
    whole = path_of(segment).read_bytes()
    path_of(segment).write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))

    (problem,) = check_chain(job)
    assert "segment 2" in problem
    assert "expected SHA-256" in problem
    path_of(segment).unlink()
    assert "not in the storage" in check_chain(job)[0]
    item = Item.objects.filter(scope=segment.scope)[0]
    assert open_item(item).problem == "file_missing"


@pytest.mark.parametrize("change", ["sha256", "order", "gap"])
def test_a_row_that_was_changed_moved_or_taken_away_breaks_the_chain(job: Job, change: str) -> None:  # noqa: F811
    run_to_end(job)
    rows = Segment.objects.filter(job=job)
    if change == "sha256":
        rows.filter(number=2).update(sha256="0" * 64)
    elif change == "order":
        rows.filter(number=1).update(number=9)
        rows.filter(number=2).update(number=1)
        rows.filter(number=9).update(number=2)
    else:
        rows.filter(number=2).delete()

    assert any("chain" in problem for problem in check_chain(job))


def collected(job: Job) -> Any:  # noqa: F811
    """A job whose first scope has all its memories in rows; returns the lease of who works on it."""
    from evaluation.models import StageProgress
    from evaluation.preparing import prepare

    lease = acquire(job.pk, at=job.created_at)
    assert lease is not None
    prepare(job, lease, JobSuite(job), at=datetime.now(UTC))
    scope = Scope.objects.get(job=job, ordinal=0)
    for item in Item.objects.filter(scope=scope):
        packed, digest = pack_memories([Memory(f"m{item.ordinal}", "text")])
        Retrieval.objects.create(item=item, count=1, characters=4, latency_ms=1, memories=packed, sha256=digest)
    Scope.objects.filter(pk=scope.pk).update(state=Scope.State.DONE)
    assert StageProgress.objects.filter(job=job).exists()
    return lease


def test_a_worker_that_died_between_file_and_row_leaves_nothing_double(job: Job) -> None:  # noqa: F811
    lease = collected(job)
    seal_scopes(lease, JobSuite(job))
    first = Segment.objects.get(job=job)
    items = list(Item.objects.filter(scope=first.scope).select_related("scope"))
    memories = {item.pk: open_item(item).memories for item in items}
    for item in items:  # back to before the row: the file is there, the memories are still in the rows
        packed, _ = pack_memories(memories[item.pk] or ())
        Retrieval.objects.filter(item=item).update(memories=packed)
    Segment.objects.all().delete()

    assert seal_scopes(lease, JobSuite(job)) == 1
    assert Segment.objects.get(job=job).file == first.file
    assert len(list(path_of(first).parent.iterdir())) == 1


def test_a_torn_file_of_an_earlier_try_is_not_trusted(job: Job) -> None:  # noqa: F811
    lease = collected(job)
    seal_scopes(lease, JobSuite(job))
    first = Segment.objects.get(job=job)
    for item in Item.objects.filter(scope=first.scope).select_related("scope"):
        packed, _ = pack_memories(open_item(item).memories or ())
        Retrieval.objects.filter(item=item).update(memories=packed)
    path_of(first).write_bytes(b"torn")
    Segment.objects.all().delete()

    seal_scopes(lease, JobSuite(job))
    assert Segment.objects.get(job=job).file != first.file
    assert check_chain(job) == []


def test_who_lost_the_lease_seals_nothing(job: Job) -> None:  # noqa: F811
    from evaluation.pipeline.ports import LeaseLost

    lease = collected(job)
    Job.objects.filter(pk=job.pk).update(lease_token=lease.token + 1)
    with pytest.raises(LeaseLost):
        seal_scopes(lease, JobSuite(job))
    assert not Segment.objects.exists()
    assert all(bytes(row.memories) for row in Retrieval.objects.all())


def test_memories_stay_in_the_rows_while_the_storage_does_not_keep_them(job: Job, monkeypatch) -> None:  # noqa: F811
    class Lossy(FileSystemStorage):
        def _save(self, name: str, content: Any) -> str:
            saved = super()._save(name, content)
            Path(self.path(saved)).write_bytes(b"")
            return saved

    lossy = Lossy(location=evidence_storage().location)
    monkeypatch.setattr(sealing, "evidence_storage", lambda: lossy)
    lease = collected(job)
    with pytest.raises(OSError, match="did not keep"):
        seal_scopes(lease, JobSuite(job))
    assert not Segment.objects.exists()
    assert all(bytes(row.memories) for row in Retrieval.objects.all())


def test_memories_that_are_not_what_was_kept_are_not_sealed(job: Job) -> None:  # noqa: F811
    lease = collected(job)
    packed, _ = pack_memories([Memory("m", "other")])
    Retrieval.objects.filter(pk=Retrieval.objects.values_list("pk", flat=True)[0]).update(memories=packed)
    with pytest.raises(OSError, match="not what was kept"):
        seal_scopes(lease, JobSuite(job))


def test_the_result_is_the_same_as_without_segments(release, memory: Server, monkeypatch) -> None:  # noqa: F811
    first = run_to_end(make_job(release, make_version(memory.url)))
    monkeypatch.setattr("evaluation.slices.seal_scopes", lambda lease, suite: 0)
    second = run_to_end(make_job(release, make_version(memory.url)))

    assert Segment.objects.filter(job=first).count() == 3
    assert not Segment.objects.filter(job=second).exists()
    assert len(set(Result.objects.values_list("digest", flat=True))) == 1
    texts = [list(Answer.objects.filter(item__job=run).order_by("item").values_list("text")) for run in (first, second)]
    assert texts[0] == texts[1]


def test_removed_evidence_is_named_as_such(job: Job) -> None:  # noqa: F811
    run_to_end(job)
    Segment.objects.filter(job=job).update(purged_at=job.ended_at)
    with pytest.raises(EvidenceMissing, match="was removed on"):
        list(read_run(job))
    assert open_item(Item.objects.filter(job=job)[0]).problem == "purged"


def test_every_line_names_what_it_belongs_to(job: Job) -> None:  # noqa: F811
    import io

    import zstandard

    run_to_end(job)
    segment = Segment.objects.filter(job=job)[0]
    reader = zstandard.ZstdDecompressor().stream_reader(
        io.BytesIO(path_of(segment).read_bytes()), read_across_frames=True
    )
    head, *rows = [json.loads(row) for row in reader.read().splitlines()]
    assert (head["job"], head["scope"], head["user_id"]) == (job.pk.hex, segment.scope.ordinal, segment.scope.user_id)
    assert {row["line"] for row in rows} == {"question"}
    assert Receipt.objects.filter(event__scope=segment.scope).count() == segment.scope.events
