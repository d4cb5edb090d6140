"""Runs whose answers and scores come from a model: what is stored, and what its faults lead to."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evaluation.failures import failure_text
from evaluation.models import Answer, BudgetScore, Item, Job, Judgement, QuotaEntry, Result, StageProgress
from evaluation.pipeline.items import MODEL_LANES, ModelRetry
from evaluation.slices import work_on
from tests.engine.conftest import Memory
from tests.engine.suite import make_job, make_version, open_test_release
from tests.engine.talks import write_bundle
from tests.engine.test_run import QUESTIONS
from tests.loopback_model import MODEL_NAME, LoopbackModel, loopback_model

QUICK = ModelRetry(attempts=2, first_s=0.1, longest_s=0.2)


@pytest.fixture
def answerer(settings: Any) -> Iterator[LoopbackModel]:
    with loopback_model() as server:
        settings.AML_ANSWER_BASE_URL, settings.AML_ANSWER_MODEL = server.base_url, MODEL_NAME
        yield server


@pytest.fixture
def judge(settings: Any) -> Iterator[LoopbackModel]:
    with loopback_model() as server:
        settings.AML_JUDGE_BASE_URL, settings.AML_JUDGE_MODEL = server.base_url, MODEL_NAME
        yield server


@pytest.fixture
def model_job(transactional_db: None, answerer: LoopbackModel, judge: LoopbackModel, memory: Memory, tmp_path: Path):
    release = open_test_release(write_bundle(tmp_path / "talks"))
    assert (answerer.calls, judge.calls) == (1, 1), "the checklist asks each of them before the release opens"
    answerer.requests.clear()
    judge.requests.clear()
    return make_job(release, make_version(memory.url))


def run(job: Job, *, slices: int = 40) -> Job:
    for _ in range(slices):
        work_on(job.pk, retry=QUICK)
        job.refresh_from_db()
        if not job.is_active:
            return job
    raise AssertionError(f"still {job.state} in {job.stage}")


def test_answers_votes_tokens_and_model_names_are_stored(
    model_job: Job, answerer: LoopbackModel, judge: LoopbackModel
) -> None:
    run(model_job)

    assert model_job.state == "succeeded"
    # the budget curve asks again where its depth is less than what came back, which is between 5 and 10 memories
    asked_again = BudgetScore.objects.filter(item__job=model_job, memories=5).count()
    assert answerer.calls == judge.calls == QUESTIONS + asked_again
    answer = Answer.objects.filter(item__job=model_job).first()
    assert (answer.model, len(answer.prompt_sha256), answer.memories_cut) == (MODEL_NAME, 64, 0)
    assert answer.prompt_tokens > 0
    assert answer.completion_tokens > 0
    judgement = Judgement.objects.filter(item__job=model_job).first()
    assert (judgement.metric, judgement.model) == ("yesno.judge.v1", MODEL_NAME)
    assert judgement.votes[0]["reason"] == "by the words that both share"
    assert judgement.prompt_sha256 == judgement.votes[0]["prompt_sha256"]
    assert Result.objects.get(job=model_job).n == QUESTIONS


def test_a_replay_of_the_same_run_builds_the_same_prompts(model_job: Job) -> None:
    run(model_job)
    before = dict(Answer.objects.filter(item__job=model_job).values_list("item_id", "prompt_sha256"))
    Answer.objects.filter(item__job=model_job).delete()
    Judgement.objects.all().delete()
    Result.objects.all().delete()
    Item.objects.filter(job=model_job).update(state="pending", score=None)
    StageProgress.objects.filter(job=model_job, stage__in=["answering", "scoring", "aggregation"]).update(done=0)
    Job.objects.filter(pk=model_job.pk).update(state="running", ended_at=None)
    run(model_job)

    assert dict(Answer.objects.filter(item__job=model_job).values_list("item_id", "prompt_sha256")) == before


@pytest.mark.parametrize("mode", ["http_500", "malformed", "not_completion", "empty", "prose"])
def test_an_answer_model_that_fails_costs_the_participant_nothing(
    model_job: Job, answerer: LoopbackModel, memory: Memory, mode: str
) -> None:
    answerer.mode = mode
    run(model_job)

    assert (model_job.state, model_job.blame, model_job.failure_code) == ("failed", "platform", "answers_incomplete")
    states = set(Item.objects.filter(job=model_job).values_list("state", "score"))
    assert states == {("platform_error", None)}
    assert set(Item.objects.filter(job=model_job).values_list("attempts", flat=True)) == {2}
    assert QuotaEntry.objects.filter(job=model_job, kind="refund").exists()
    assert not Result.objects.filter(job=model_job).exists()
    assert set(memory.seen.values()) == {1}, "the participant was not asked again"


@pytest.mark.parametrize("mode", ["http_500", "malformed", "prose"])
def test_a_judge_that_fails_leaves_items_unscored_and_never_at_0(
    model_job: Job, judge: LoopbackModel, mode: str
) -> None:
    judge.mode = mode
    run(model_job)

    assert (model_job.state, model_job.blame, model_job.failure_code) == ("failed", "platform", "scores_incomplete")
    assert set(Item.objects.filter(job=model_job).values_list("state", "score")) == {("unscored", None)}
    assert Answer.objects.filter(item__job=model_job).count() == QUESTIONS
    assert not Judgement.objects.filter(item__job=model_job).exists()
    assert QuotaEntry.objects.filter(job=model_job, kind="refund").exists()


@pytest.mark.parametrize("refuses", ["answerer", "judge"])
def test_a_model_that_refuses_the_key_ends_the_run_at_once(
    model_job: Job, refuses: str, request: pytest.FixtureRequest, memory: Memory
) -> None:
    server: LoopbackModel = request.getfixturevalue(refuses)
    server.mode = "http_401"
    for _ in range(40):
        work_on(model_job.pk, retry=ModelRetry(attempts=5, first_s=60))
        model_job.refresh_from_db()
        if not model_job.is_active:
            break

    assert (model_job.state, model_job.blame, model_job.failure_code) == ("failed", "platform", "model_status")
    assert QuotaEntry.objects.filter(job=model_job, kind="refund").exists()
    assert server.calls <= MODEL_LANES, "no question was asked twice"
    assert "platform is wrong" in str(failure_text("model_status", platform=True).title)


def test_a_model_that_hangs_is_a_fault_and_not_a_wait_for_ever(
    model_job: Job, answerer: LoopbackModel, settings: Any
) -> None:
    settings.AML_MODEL_TIMEOUT_S = 0.3
    answerer.mode = "hang"
    run(model_job)

    assert model_job.failure_code == "answers_incomplete"
    assert model_job.failure_detail["got"] == f"{QUESTIONS} of {QUESTIONS} questions: model_timeout"


def test_a_model_that_recovers_completes_the_run(model_job: Job, answerer: LoopbackModel) -> None:
    answerer.mode = "http_500"
    for _ in range(20):
        work_on(model_job.pk, retry=ModelRetry(attempts=5, first_s=0.1))
        if Item.objects.filter(job=model_job, attempts__gt=0).exists():
            break
    assert Item.objects.filter(job=model_job, error_code="model_status").exists()
    answerer.mode = "ok"
    run(model_job)

    assert model_job.state == "succeeded"
    assert not Item.objects.filter(job=model_job).exclude(error_code="").exists()
    assert StageProgress.objects.get(job=model_job, stage="answering").retries > 0


def test_a_model_other_than_the_releases_is_not_used(model_job: Job, answerer: LoopbackModel, settings: Any) -> None:
    settings.AML_ANSWER_MODEL = "another-model"
    run(model_job)

    assert (model_job.blame, model_job.failure_code) == ("platform", "plan_changed")
    assert "another-model" in model_job.failure_detail["got"]
    assert answerer.calls == 0
