"""Scores come again from what was kept, beside the old ones or to compare; evidence goes when its time is over."""

import io
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.core.management import CommandError, call_command

from evaluation.columns import columns_of
from evaluation.evidence import retention
from evaluation.evidence.rescoring import rescore
from evaluation.evidence.sealing import evidence_storage
from evaluation.models import Answer, Item, Job, Judgement, PublicationReview, Receipt, Result, Retrieval, Segment
from leaderboard.models import Board, Entry
from submissions.models import AuditEvent
from tests.engine.conftest import Memory as Server
from tests.engine.conftest import job, memory, release  # noqa: F401
from tests.engine.suite import make_job, make_version
from tests.engine.test_run import run_to_end


@pytest.fixture
def run(job: Job) -> Job:  # noqa: F811
    return run_to_end(job)


def said(*arguments: Any) -> str:
    out = io.StringIO()
    call_command(*arguments, stdout=out)
    return out.getvalue()


def everything(job: Job) -> list[Any]:  # noqa: F811
    return [
        list(Judgement.objects.filter(item__job=job, column="main").order_by("pk").values()),
        list(Item.objects.filter(job=job).order_by("pk").values()),
        list(Answer.objects.filter(item__job=job).order_by("pk").values()),
        list(Result.objects.filter(job=job).values()),
    ]


def test_scoring_again_adds_a_column_and_changes_nothing(run: Job, memory: Server) -> None:  # noqa: F811
    before, calls = everything(run), len(memory.heard)

    text = said("rejudge", str(run.pk))
    assert "30 scores added in column rejudge-1" in text
    assert "0 differ" in text
    text = said("rejudge", str(run.pk), "--metric", "locomo.f1.v1")
    assert "column rejudge-2" in text
    assert set(Judgement.objects.filter(column="rejudge-2").values_list("metric", flat=True)) == {"locomo.f1.v1"}
    assert Judgement.objects.filter(item__job=run).count() == 90
    assert everything(run) == before
    assert len(memory.heard) == calls
    event = AuditEvent.objects.filter(action="job.rejudged").latest("sequence")
    assert (event.after["column"], event.after["metric"], event.after["n"]) == ("rejudge-2", "locomo.f1.v1", 30)


def test_a_call_that_was_cut_off_goes_on_in_its_column(run: Job) -> None:
    said("rejudge", str(run.pk), "--column", "again")
    gone = Judgement.objects.filter(column="again").order_by("pk")[:7]
    Judgement.objects.filter(pk__in=[row.pk for row in gone]).delete()
    kept = list(Judgement.objects.filter(column="again").order_by("pk").values())

    assert "7 scores added" in said("rejudge", str(run.pk), "--column", "again")
    assert list(Judgement.objects.filter(pk__in=[row["id"] for row in kept]).order_by("pk").values()) == kept


@pytest.mark.parametrize(
    ("arguments", "says"),
    [(["--column", "main"], "other than main"), (["--metric", "best.v9"], "known are"), (["--column", "x" * 41], "40")],
)
def test_what_cannot_be_scored_is_refused(run: Job, arguments: list[str], says: str) -> None:
    with pytest.raises(CommandError, match=says):
        said("rejudge", str(run.pk), *arguments)
    assert not Judgement.objects.exclude(column="main").exists()


def test_a_judge_that_fails_leaves_its_questions_for_the_next_call(run: Job, monkeypatch) -> None:
    from benchmarks.judging.faults import ModelFault
    from benchmarks.judging.rules import RuleJudge

    honest = RuleJudge.judge

    async def moody(self: RuleJudge, question: Any, answer: str) -> Any:
        if question.query.endswith("number 3 called?"):
            raise ModelFault("model_timeout", "no answer")
        return await honest(self, question, answer)

    monkeypatch.setattr(RuleJudge, "judge", moody)
    with pytest.raises(CommandError, match=r"failed 3 times\. Do the rest with --column rejudge-1"):
        said("rejudge", str(run.pk))
    monkeypatch.undo()
    assert "3 scores added" in said("rejudge", str(run.pk), "--column", "rejudge-1")


def test_a_replay_gives_the_same_bytes_and_asks_nobody(run: Job, memory: Server, monkeypatch) -> None:  # noqa: F811
    before, calls = everything(run), len(memory.heard)
    for bundle in run.release.bundles.all():  # the evidence is enough: the dataset's files may be gone
        Path(bundle.folder).rename(f"{bundle.folder}-away")

    text = said("replay", str(run.pk))
    assert "30 questions, 30 answers made again." in text
    assert "Its analysis was not replayed, for want of the dataset's files: " in text
    assert "Byte-equal." in text
    kept, again = (line.split()[-1] for line in text.splitlines() if "SHA-256" in line)
    assert kept == again
    assert everything(run) == before
    assert len(memory.heard) == calls


def test_a_replay_with_the_dataset_s_files_leaves_nothing_out(run: Job) -> None:
    text = said("replay", str(run.pk))
    assert "not replayed" not in text
    assert "Byte-equal." in text


def tamper_score(run: Job) -> None:
    Item.objects.filter(pk=Item.objects.filter(job=run)[4].pk).update(score=0.123)


def tamper_answer(run: Job) -> None:
    Answer.objects.filter(pk=Answer.objects.filter(item__job=run)[4].pk).update(text="somebody's own")


def tamper_result(run: Job) -> None:
    Result.objects.filter(job=run).update(overall=0.999)


def tamper_file(run: Job) -> None:
    path = Path(evidence_storage().path(Segment.objects.filter(job=run)[0].file))
    path.write_bytes(path.read_bytes() + b"\0")


@pytest.mark.parametrize(
    ("tamper", "says"),
    [
        (tamper_score, "the score was 0.123 and is"),
        (tamper_answer, "the answer was"),
        (tamper_result, "result, overall: was 0.999"),
        (tamper_file, "expected SHA-256"),
    ],
)
def test_a_replay_names_what_differs(run: Job, tamper: Any, says: str) -> None:
    tamper(run)
    out = io.StringIO()
    with pytest.raises(CommandError, match="differences"):
        call_command("replay", str(run.pk), stdout=out)
    assert says in out.getvalue()
    assert "Byte-equal" not in out.getvalue()


def test_votes_of_a_model_are_replayed_as_they_were_kept(run: Job) -> None:
    run.release.baseline["judge"] = {**run.release.baseline["judge"], "backend": "openai"}
    run.release.save()
    for row in Judgement.objects.filter(item__job=run):
        row.votes = [{"score": row.score, "verdict": "graded", "reason": "", "model": "m"}]
        row.save()
    assert "Byte-equal." in said("replay", str(run.pk))


def age(job: Job, days: int) -> None:  # noqa: F811
    Job.objects.filter(pk=job.pk).update(ended_at=job.ended_at - timedelta(days=days))
    job.refresh_from_db()


def test_purging_is_a_rehearsal_until_it_is_told_otherwise(run: Job, settings: Any) -> None:
    settings.AML_EVIDENCE_DAYS = 30
    PublicationReview.objects.filter(job=run).update(state="disqualified")
    files = [Path(evidence_storage().path(segment.file)) for segment in Segment.objects.filter(job=run)]
    assert "0 runs" in said("purge", "--apply")
    age(run, 31)

    assert "1 runs, 3 files" in said("purge")
    assert all(file.exists() for file in files)
    before = everything(run)
    assert str(run.pk) in said("purge", "--apply")
    assert not any(file.exists() for file in files)
    assert not Segment.objects.filter(job=run, purged_at=None).exists()
    assert (everything(run), Receipt.objects.filter(job=run).count()) == (before, 39)
    event = AuditEvent.objects.get(action="evidence.purged")
    assert (event.subject_id, event.after["segments"]) == (str(run.pk), 3)
    assert "0 runs" in said("purge", "--apply")
    with pytest.raises(CommandError, match="was removed on"):
        said("replay", str(run.pk))


@pytest.mark.parametrize("state", ["pending", "returned", "approved"])
def test_nothing_goes_that_a_review_rests_on(run: Job, settings: Any, state: str) -> None:
    settings.AML_EVIDENCE_DAYS = 30
    age(run, 5000)
    PublicationReview.objects.filter(job=run).update(state=state)
    assert "1 runs past their time are held" in said("purge", "--apply")
    assert "Byte-equal." in said("replay", str(run.pk))


def test_nothing_goes_that_an_entry_rests_on_whatever_its_review_says(run: Job, settings: Any) -> None:
    settings.AML_EVIDENCE_DAYS = 30
    age(run, 5000)
    PublicationReview.objects.filter(job=run).update(state="disqualified")
    board = Board.objects.create(cycle=run.cycle, track="textual", division="open_source")
    Entry.objects.create(board=board, job=run, score=0.5, n=30, published_at=run.ended_at)
    assert "held by a review or an entry" in said("purge", "--apply")
    assert "Byte-equal." in said("replay", str(run.pk))


def test_a_release_may_set_its_own_days_and_a_run_that_goes_on_keeps_all(run: Job, settings: Any) -> None:
    settings.AML_EVIDENCE_DAYS = 30
    PublicationReview.objects.filter(job=run).update(state="disqualified")
    run.release.baseline["limits"]["evidence_days"] = 1000
    run.release.save()
    age(run, 900)
    assert "0 runs" in said("purge", "--apply")
    age(run, 101)
    Job.objects.filter(pk=run.pk).update(state="running")
    assert "0 runs" in said("purge", "--apply")
    Job.objects.filter(pk=run.pk).update(state="succeeded")
    assert "1 runs" in said("purge", "--apply")


def test_memories_in_the_rows_of_a_failed_run_go_too(release, memory: Server, settings: Any) -> None:  # noqa: F811
    settings.AML_EVIDENCE_DAYS = 30
    memory.fault = lambda path, request, seen: (200, b'{"data": 1}') if "number 9" in request.get("query", "") else None
    failed = run_to_end(make_job(release, make_version(memory.url)))
    assert failed.state == "failed"
    age(failed, 31)
    said("purge", "--apply")
    assert {bytes(row.memories) for row in Retrieval.objects.filter(item__job=failed)} <= {b""}


def test_files_of_nobody_go_after_a_day(run: Job, monkeypatch) -> None:
    evidence_storage().save("ab/000000-x.jsonl.zst", ContentFile(b"left over"))
    assert "0 files without" in said("purge", "--apply")
    monkeypatch.setattr(retention, "ORPHAN_AGE", timedelta(seconds=-5))
    assert " 0 runs past" in said("purge", "--apply")
    assert not evidence_storage().exists("ab/000000-x.jsonl.zst")
    assert "Byte-equal." in said("replay", str(run.pk))


def test_a_column_named_main_can_never_be_written(run: Job) -> None:
    with pytest.raises(ValueError, match="other than main"):
        rescore(job=run, column="main", actor="platform", at=run.ended_at)


def test_the_end_of_a_run_keeps_the_head_of_its_evidence_for_good(run: Job) -> None:
    said("rejudge", str(run.pk))

    last = Segment.objects.filter(job=run).latest("number")
    after = AuditEvent.objects.get(action="job.ended", subject_id=str(run.pk)).after
    assert (after["segments"], after["evidence_digest"]) == (3, last.digest)
    assert [row.column for row in columns_of(run)] == ["main", "rejudge-1"]
