"""The publication gate: each check fails on what it is there for, and on nothing else."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.utils import timezone
from django.utils.translation import override

from evaluation.gate import TITLES, GateCheck, check_publication
from evaluation.models import Answer, Item, Job, Judgement, Release, Result, Retrieval, Scope
from submissions.models import Version
from tests.evaluation import builders
from tests.evaluation.builders import Entrant


@pytest.fixture
def job(entrant: Entrant) -> Job:
    builders.passed_smoke(entrant)
    return builders.finished_full(entrant)


def failed(job: Job) -> set[str]:
    job = Job.objects.get(pk=job.pk)
    return {check.name for check in check_publication(job) if not check.passed}


def test_a_clean_full_evaluation_passes_every_check(job: Job) -> None:
    checks = check_publication(job)
    assert [check.name for check in checks] == list(TITLES)
    assert failed(job) == set()
    assert all(check.observed and check.expected and str(check.title) for check in checks)


def test_a_smoke_test_fails_by_its_mode(job: Job) -> None:
    Job.objects.filter(pk=job.pk).update(mode="smoke")
    assert "mode" in failed(job)


def drop_an_item(job: Job) -> None:
    job.items.first().delete()


def forget_an_answer(job: Job) -> None:
    Answer.objects.filter(item__job=job).first().delete()


def forget_a_retrieval(job: Job) -> None:
    Retrieval.objects.filter(item__job=job).first().delete()


def change_version(**fields: object) -> Callable[[Job], None]:
    return lambda job: Version.objects.filter(pk=job.version_id).update(**fields) and None


SPOILERS: dict[str, tuple[Callable[[Job], object], set[str]]] = {
    "an unscored item": (lambda job: job.items.filter(ordinal=0).update(state=Item.State.UNSCORED), {"tasks"}),
    "an item that the participant spoiled": (
        lambda job: job.items.filter(ordinal=0).update(state=Item.State.PARTICIPANT_ERROR),
        {"tasks"},
    ),
    "a failed run": (lambda job: Job.objects.filter(pk=job.pk).update(state="failed"), {"tasks"}),
    "another answer model": (
        lambda job: Answer.objects.filter(item__job=job, item__ordinal=0).update(model="other"),
        {"answer_model"},
    ),
    "another metric": (lambda job: Judgement.objects.filter(item__job=job).update(metric="other.v1"), {"contract"}),
    "a retired release": (lambda job: Release.objects.update(state="retired"), {"contract"}),
    "other code": (lambda job: Job.objects.filter(pk=job.pk).update(code_sha256="1" * 64), {"code"}),
    "a strange bundle": (lambda job: Scope.objects.filter(job=job).update(bundle="other"), {"bundles", "counts"}),
    "a missing question": (drop_an_item, {"counts", "results"}),
    "a missing answer": (forget_an_answer, {"results"}),
    "a missing retrieval": (forget_a_retrieval, {"results"}),
    "a result over fewer questions": (lambda job: Result.objects.filter(job=job).update(n=5), {"results"}),
    "a suspended version": (change_version(state="suspended"), {"version"}),
}


@pytest.mark.parametrize("name", SPOILERS)
def test_each_flaw_fails_its_own_check(job: Job, name: str) -> None:
    spoil, expected = SPOILERS[name]
    spoil(job)
    assert failed(job) == expected


@pytest.mark.parametrize("minutes", [-1, 1], ids=["during the run", "after it"])
def test_a_secret_that_changed_since_the_run_began_fails(job: Job, minutes: int) -> None:
    assert job.ended_at is not None
    Job.objects.filter(pk=job.pk).update(created_at=job.ended_at - timedelta(hours=1))
    Version.objects.filter(pk=job.version_id).update(endpoint_changed_at=job.ended_at + timedelta(minutes=minutes))
    assert failed(job) == {"version"}


def test_a_secret_that_changed_before_the_run_is_no_flaw(job: Job) -> None:
    Version.objects.filter(pk=job.version_id).update(endpoint_changed_at=job.created_at - timedelta(minutes=1))
    assert failed(job) == set()


NAMES = {
    "gpt-4o": True,
    "gpt-4o-2024-08-06": True,
    "gpt-4o-20240806": True,
    "gpt-4o-mini": False,
    "gpt-4o-mini-2024-07-18": False,
    "gpt-4o-2024": False,
    "gpt-4o-2024-08-06-b": False,
    "gpt-4": False,
    "": False,
}


@pytest.mark.parametrize(("name", "is_same"), NAMES.items())
def test_only_a_date_may_follow_the_name_of_a_model(job: Job, name: str, is_same: bool) -> None:
    job.release.baseline["answer"] |= {"backend": "openai", "model": "gpt-4o"}
    job.release.baseline["judge"] |= {"backend": "openai", "model": "gpt-4o"}
    job.release.save()
    Answer.objects.filter(item__job=job).update(model=name)
    Judgement.objects.filter(item__job=job).update(model=name)
    assert failed(job) == (set() if is_same else {"answer_model", "judge_model"})


def test_a_judgement_of_the_rules_names_no_model(job: Job) -> None:
    Judgement.objects.filter(item__job=job, item__ordinal=0).update(model="gpt-4o")
    assert failed(job) == {"judge_model"}


def test_a_team_hands_in_the_same_result_once(entrant: Entrant, job: Job) -> None:
    again = builders.finished_full(entrant, at=timezone.now() + timedelta(days=31))
    assert failed(again) == {"unique"}


def test_the_same_scores_from_another_team_are_named_but_pass(entrant: Entrant, job: Job) -> None:
    other = builders.make_entrant(entrant.cycle, name="Beta")
    builders.passed_smoke(other)
    same = builders.finished_full(other)
    assert failed(same) == set()
    unique = next(check for check in check_publication(same) if check.name == "unique")
    assert "Acme Memory 1.0" in unique.observed


def test_what_is_said_in_codes_is_put_into_words_and_names_stay() -> None:
    tasks = GateCheck("tasks", False, "succeeded, 2/3 scored; 1 participant_error", "succeeded, 3/3 scored")
    with override("zh-hans"):
        scored, error = Item.State.SCORED.label, Item.State.PARTICIPANT_ERROR.label
        assert tasks.found == f"{Job.State.SUCCEEDED.label}, 2/3 {scored}; 1 {error}"
        assert tasks.wanted == f"{Job.State.SUCCEEDED.label}, 3/3 {scored}"
        assert not tasks.wanted.isascii()
        assert GateCheck("mode", False, "smoke", "full").found == Job.Mode.SMOKE.label
        assert GateCheck("version", True, "approved", "approved").found == Version.State.APPROVED.label
        for name in ("unique", "answer_model", "bundles"):
            assert GateCheck(name, False, "Acme full 1.0 approved", "").found == "Acme full 1.0 approved"
    assert tasks.as_json()["observed"] == "succeeded, 2/3 scored; 1 participant_error"
