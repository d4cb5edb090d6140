"""Who may reach what: every address of the evaluation room for each kind of visitor. A new address must be listed."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from evaluation import api_urls, urls
from evaluation.models import Job
from submissions.models import LeaderboardKey
from tests.evaluation import builders
from tests.evaluation.builders import Entrant

MISSING = "00000000-0000-4000-8000-000000000000"
TO_KEY_FORM = "to the key form"

# name: method, path, then what comes for: nobody, the key of the run, another key, an expired key
Row = tuple[str, str, object, object, object, object]
PAGES: dict[str, Row] = {
    "home": ("get", "", 200, 200, 200, 200),
    "open_key": ("post", "key/", 422, 422, 422, 422),
    "close_key": ("post", "key/close/", TO_KEY_FORM, TO_KEY_FORM, TO_KEY_FORM, TO_KEY_FORM),
    "submit": ("post", "runs/", TO_KEY_FORM, 422, 422, TO_KEY_FORM),
    "job": ("get", "runs/{id}/", TO_KEY_FORM, 200, 404, TO_KEY_FORM),
    "progress": ("get", "runs/{id}/progress/", TO_KEY_FORM, 200, 404, TO_KEY_FORM),
    "progress_json": ("get", "runs/{id}/progress.json", 401, 200, 404, 401),
    "questions": ("get", "runs/{id}/questions/", TO_KEY_FORM, 200, 404, TO_KEY_FORM),
    "receipts": ("get", "runs/{id}/receipts/", TO_KEY_FORM, 200, 404, TO_KEY_FORM),
    "cancel": ("post", "runs/{id}/cancel/", TO_KEY_FORM, "runs/{id}/", 404, TO_KEY_FORM),
}
API: dict[str, Row] = {
    "quotas": ("get", "quotas", 401, 200, 200, 401),
    "smoke-tests": ("post", "smoke-tests", 401, 422, 422, 401),
    "eval-jobs": ("post", "eval-jobs", 401, 422, 422, 401),
    "eval-job": ("get", "eval-jobs/{id}", 401, 200, 404, 401),
    "eval-job-cancel": ("post", "eval-jobs/{id}/cancel", 401, 200, 404, 401),
    "eval-job-receipts": ("get", "eval-jobs/{id}/receipts", 401, 200, 404, 401),
    "eval-job-results": ("get", "eval-jobs/{id}/results", 401, 200, 404, 401),
}
VISITORS = ("nobody", "owner", "stranger", "expired")


@pytest.fixture
def job(entrant: Entrant) -> Job:
    job = builders.start(entrant, run_label="secret-label")
    builders.fill_result(job)
    return job


def visitor(kind: str, entrant: Entrant) -> str:
    """The key that this kind of visitor holds; empty for nobody."""
    if kind == "nobody":
        return ""
    if kind == "stranger":
        return builders.make_entrant(entrant.cycle, name="Beta").text
    return entrant.text


def expire(kind: str, entrant: Entrant) -> None:
    if kind == "expired":
        yesterday = timezone.now() - timedelta(days=1)
        LeaderboardKey.objects.filter(pk=entrant.key.pk).update(expires_at=yesterday)


def browser(kind: str, entrant: Entrant) -> Client:
    client = Client()
    text = visitor(kind, entrant)
    if text:
        assert client.post("/en/evaluation/key/", {"key": text}).status_code == 302
    expire(kind, entrant)
    return client


def program(kind: str, entrant: Entrant) -> Client:
    text = visitor(kind, entrant)
    expire(kind, entrant)
    return Client(headers={"X-Api-Key": text}) if text else Client()


def outcome(response: Any, prefix: str) -> object:
    if response.status_code != 302:
        return response.status_code
    rest = response["Location"].removeprefix(prefix)
    return TO_KEY_FORM if rest == "" else rest


def test_every_page_and_route_is_listed() -> None:
    assert {pattern.name for pattern in urls.urlpatterns} == set(PAGES)
    assert {pattern.name for pattern in api_urls.urlpatterns} == set(API)


@pytest.mark.parametrize("kind", VISITORS)
@pytest.mark.parametrize("name", PAGES)
def test_pages(entrant: Entrant, job: Job, name: str, kind: str) -> None:
    _check(entrant, job, PAGES[name], kind, "/en/evaluation/", browser)


@pytest.mark.parametrize("kind", VISITORS)
@pytest.mark.parametrize("name", API)
def test_api(entrant: Entrant, job: Job, name: str, kind: str) -> None:
    _check(entrant, job, API[name], kind, "/api/v1/", program)


def _check(
    entrant: Entrant, job: Job, row: Row, kind: str, prefix: str, visit: Callable[[str, Entrant], Client]
) -> None:
    method, path, *expected = row
    sent = {"data": {}, "content_type": "application/json"} if prefix == "/api/v1/" and method == "post" else {}
    response = getattr(visit(kind, entrant), method)(prefix + path.format(id=job.pk), **sent)
    wanted = expected[VISITORS.index(kind)]
    assert outcome(response, prefix) == (wanted.format(id=job.pk) if isinstance(wanted, str) else wanted)
    if kind != "owner":
        assert "secret-label" not in response.content.decode()
        job.refresh_from_db()
        assert job.state == "queued"


@pytest.mark.parametrize("name", [name for name, row in PAGES.items() if "{id}" in row[1]])
def test_another_teams_run_looks_like_one_that_does_not_exist(entrant: Entrant, job: Job, name: str) -> None:
    method, path, *_rest = PAGES[name]
    client = browser("stranger", entrant)
    foreign = getattr(client, method)("/en/evaluation/" + path.format(id=job.pk))
    missing = getattr(client, method)("/en/evaluation/" + path.format(id=MISSING))
    assert foreign.status_code == missing.status_code == 404
    assert foreign.content.replace(str(job.pk).encode(), b"") == missing.content.replace(MISSING.encode(), b"")


def test_lists_hold_the_keys_own_runs_only(entrant: Entrant, job: Job) -> None:
    stranger = builders.make_entrant(entrant.cycle, name="Beta")
    own = builders.start(stranger, run_label="own-label")
    client = Client(headers={"X-Api-Key": stranger.text})
    assert [row["id"] for row in client.get("/api/v1/eval-jobs").json()["results"]] == [str(own.pk)]
    assert client.get("/api/v1/eval-jobs?search=secret-label").json()["results"][0]["run_label"] == "own-label"


def test_a_run_label_of_another_team_is_free(entrant: Entrant, job: Job) -> None:
    stranger = builders.make_entrant(entrant.cycle, name="Beta")
    assert builders.start(stranger, run_label="secret-label").run_label == "secret-label"


def test_a_rotated_key_still_sees_its_runs(entrant: Entrant, job: Job) -> None:
    _key, text = builders.make_leaderboard_key(entrant.cycle, entrant.key.team, lineage=entrant.key.lineage)
    client = Client(headers={"X-Api-Key": text})
    assert client.get(f"/api/v1/eval-jobs/{job.pk}").status_code == 200


def test_a_run_of_the_platform_is_nobodys(entrant: Entrant, job: Job) -> None:
    Job.objects.filter(pk=job.pk).update(runner="platform")
    assert program("owner", entrant).get(f"/api/v1/eval-jobs/{job.pk}").status_code == 404


@pytest.mark.parametrize("name", PAGES)
def test_pages_take_one_method(entrant: Entrant, job: Job, name: str) -> None:
    method, path, *_rest = PAGES[name]
    other = "post" if method == "get" else "get"
    response = getattr(browser("owner", entrant), other)("/en/evaluation/" + path.format(id=job.pk))
    assert response.status_code == 405


def test_posts_need_a_csrf_token(entrant: Entrant, job: Job) -> None:
    client = Client(enforce_csrf_checks=True)
    for method, path, *_rest in PAGES.values():
        if method == "post":
            assert client.post("/en/evaluation/" + path.format(id=job.pk)).status_code == 403
