"""The REST API of the evaluation room: start, watch, read, cancel; errors in one shape."""

import base64
from datetime import timedelta
from typing import Any
from urllib.parse import quote

import pytest
from django.test import Client
from django.utils import timezone

from evaluation import serializers
from evaluation.models import Job
from submissions.models import LeaderboardKey
from tests.evaluation import builders
from tests.evaluation.builders import Entrant

ROOT = "/api/v1"


class Api:
    """A program that holds a key."""

    def __init__(self, text: str) -> None:
        self.client = Client(headers={"Authorization": f"Bearer {text}", "Accept-Language": "en"})

    def get(self, path: str) -> Any:
        return self.client.get(f"{ROOT}/{path}")

    def post(self, path: str, body: Any = None) -> Any:
        return self.client.post(f"{ROOT}/{path}", body or {}, content_type="application/json")


@pytest.fixture
def api(entrant: Entrant) -> Api:
    return Api(entrant.text)


def body_of(entrant: Entrant, **fields: Any) -> dict[str, Any]:
    return {"version": str(entrant.version.pk), "track": "textual", "run_label": "first", **fields}


def reason(response: Any) -> str:
    return str(response.json()["detail"]["reason"])


def test_quotas_come_by_track_and_mode(entrant: Entrant, api: Api) -> None:
    builders.passed_smoke(entrant)
    answer = api.get("quotas").json()
    assert answer["cycle"] == entrant.cycle.slug
    smoke, full = answer["quotas"]
    assert (smoke["track"], smoke["mode"], smoke["allowed"], smoke["left"]) == ("textual", "smoke", False, 29)
    assert smoke["next_at"] is not None
    assert (full["mode"], full["allowed"], full["left"], full["next_at"]) == ("full", True, 2, None)


def test_a_smoke_test_starts_with_the_declared_concurrency(entrant: Entrant, api: Api) -> None:
    response = api.post("smoke-tests", body_of(entrant))
    job = Job.objects.get()
    assert response.status_code == 201
    assert response.json()["id"] == str(job.pk)
    assert (job.mode, job.add_concurrency, job.search_concurrency) == ("smoke", 16, 32)


def test_a_full_evaluation_starts_with_its_checklist(entrant: Entrant, api: Api) -> None:
    builders.passed_smoke(entrant)
    response = api.post("eval-jobs", body_of(entrant, checklist=builders.CHECKED, add_concurrency=2))
    assert response.status_code == 201
    assert response.json()["mode"] == "full"


def test_the_answer_has_the_shape_that_the_description_promises(entrant: Entrant, api: Api) -> None:
    builders.passed_smoke(entrant)
    job = builders.finished_full(entrant)
    builders.send_something(job)
    answers = {
        "": serializers.JobAnswer,
        "/results": serializers.ResultAnswer,
    }
    for path, shape in answers.items():
        assert set(api.get(f"eval-jobs/{job.pk}{path}").json()) == set(shape().fields)
    receipt = api.get(f"eval-jobs/{job.pk}/receipts").json()["results"][0]
    assert set(receipt) == set(serializers.ReceiptAnswer().fields)
    review = api.get(f"eval-jobs/{job.pk}").json()["review"]
    assert review["state"] == "pending"
    assert {check["name"] for check in review["checks"]} >= {"mode", "tasks", "code"}


def test_a_result_has_scores_beside_their_n_and_no_answers(entrant: Entrant, api: Api) -> None:
    builders.passed_smoke(entrant)
    job = builders.finished_full(entrant, score=0.25)
    response = api.get(f"eval-jobs/{job.pk}/results")
    answer = response.json()
    assert (answer["overall"], answer["n"], answer["coverage"]) == (0.25, 6, 1.0)
    assert answer["datasets"] == [{"code": "talks", "title": "talks", "score": 0.25, "n": 6}]
    assert answer["categories"][0]["title"] == "Single-hop"
    assert "GOLD-LIKE" not in response.content.decode()


def test_runs_are_listed_newest_first_in_pages(entrant: Entrant, api: Api) -> None:
    for hour in range(3):
        at = timezone.now() + hour * timedelta(hours=2)
        builders.finish(builders.start(entrant, at=at, run_label=f"run-{hour}"), at=at)
    answer = api.get("eval-jobs?page_size=2").json()
    assert [job["run_label"] for job in answer["results"]] == ["run-2", "run-1"]
    rest = api.client.get(answer["next"]).json()
    assert [job["run_label"] for job in rest["results"]] == ["run-0"]


def test_a_long_list_costs_no_more_queries_than_a_short_one(
    entrant: Entrant, api: Api, django_assert_max_num_queries: Any
) -> None:
    for hour in range(6):
        at = timezone.now() + hour * timedelta(hours=2)
        builders.finish(builders.start(entrant, at=at), at=at)
    with django_assert_max_num_queries(8):
        assert len(api.get("eval-jobs").json()["results"]) == 6


def test_receipts_come_in_order(entrant: Entrant, api: Api) -> None:
    job = builders.start(entrant)
    receipts = [builders.send_something(job) for _ in range(3)]
    answer = api.get(f"eval-jobs/{job.pk}/receipts").json()
    assert [receipt["id"] for receipt in answer["results"]] == [receipt.pk for receipt in receipts]


def test_a_run_is_cancelled(entrant: Entrant, api: Api) -> None:
    job = builders.start(entrant)
    answer = api.post(f"eval-jobs/{job.pk}/cancel").json()
    assert (answer["state"], answer["slot"]) == ("cancelled", "refunded")
    again = api.post(f"eval-jobs/{job.pk}/cancel")
    assert (again.status_code, reason(again)) == (409, "job_ended")


def test_a_failure_says_whose_it_was(entrant: Entrant, api: Api) -> None:
    job = builders.start(entrant)
    builders.send_something(job)
    builders.finish(job, state="failed", blame="participant", code="data_missing", detail={"kind": "search"})
    answer = api.get(f"eval-jobs/{job.pk}").json()
    assert answer["failure"]["code"] == "data_missing"
    assert answer["failure"]["blame"] == "participant"
    assert answer["failure"]["expected"]
    assert answer["slot"] == "spent"


def test_a_quota_refusal_is_429_with_the_time(entrant: Entrant, api: Api) -> None:
    builders.passed_smoke(entrant)
    response = api.post("smoke-tests", body_of(entrant))
    assert (response.status_code, reason(response)) == (429, "quota_not_yet")
    assert 0 < int(response["Retry-After"]) <= 3600
    assert response.json()["detail"]["left"] == 29


@pytest.mark.parametrize(
    ("fields", "status", "code"),
    [
        ({"track": "coding"}, 422, "track_not_entered"),
        ({"track": "nonsense"}, 422, "invalid"),
        ({"version": "00000000-0000-0000-0000-000000000000"}, 404, "version_not_found"),
        ({"version": "x"}, 422, "invalid"),
        ({"add_concurrency": 17}, 422, "concurrency_out_of_range"),
        ({"run_label": "x" * 90}, 422, "invalid"),
    ],
)
def test_what_is_wrong_with_a_start_is_named(
    entrant: Entrant, api: Api, fields: dict[str, Any], status: int, code: str
) -> None:
    response = api.post("smoke-tests", body_of(entrant, **fields))
    assert (response.status_code, reason(response)) == (status, code)
    assert not Job.objects.exists()


def test_a_run_without_a_result_says_so(entrant: Entrant, api: Api) -> None:
    response = api.get(f"eval-jobs/{builders.start(entrant).pk}/results")
    assert (response.status_code, reason(response)) == (404, "no_result")


def test_a_key_that_may_only_read_starts_and_cancels_nothing(entrant: Entrant, api: Api) -> None:
    job = builders.start(entrant)
    LeaderboardKey.objects.filter(pk=entrant.key.pk).update(scopes=["read"])
    assert api.get(f"eval-jobs/{job.pk}").status_code == 200
    for response in (api.post("smoke-tests", body_of(entrant)), api.post(f"eval-jobs/{job.pk}/cancel")):
        assert (response.status_code, reason(response)) == (403, "scope_missing")


@pytest.mark.parametrize("position", ["p=abc", "p=%00", "p=1.5", "p=2026-13-45", "p=" + "9" * 40, "o=-1", "\xff"])
@pytest.mark.parametrize("path", ["eval-jobs", "eval-jobs/{job}/receipts"])
def test_a_cursor_that_was_made_up_is_never_our_fault(entrant: Entrant, api: Api, position: str, path: str) -> None:
    job = builders.start(entrant)
    builders.send_something(job)
    cursor = base64.b64encode(position.encode("latin-1")).decode()
    response = api.get(f"{path.format(job=job.pk)}?cursor={quote(cursor)}")
    assert response.status_code == 200 or (response.status_code, reason(response)) == (404, "not_found")
