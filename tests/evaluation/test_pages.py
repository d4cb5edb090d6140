"""The Evaluation page and a run's pages: key session, form, live progress, private result."""

import uuid
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from evaluation.models import Item, Job, PublicationReview, Release
from evaluation.reviews import return_publication
from submissions.models import LeaderboardKey, Version
from submissions.vault import store_memory_system_key
from tests.evaluation import builders
from tests.evaluation.builders import Entrant

LANGUAGES = ["en", "zh-hans"]
HOME = "/en/evaluation/"


def form_of(entrant: Entrant, **fields: Any) -> dict[str, Any]:
    defaults = {
        "track": "textual",
        "version": str(entrant.version.pk),
        "mode": "smoke",
        "add_concurrency": 4,
        "search_concurrency": 8,
        "run_label": "first",
    }
    return {**defaults, **fields}


def text(client: Client, path: str) -> str:
    response = client.get(path)
    assert response.status_code == 200
    return response.content.decode()


@pytest.mark.django_db
@pytest.mark.parametrize("language", LANGUAGES)
def test_without_a_key_there_is_the_key_form(client: Client, language: str) -> None:
    page = text(client, f"/{language}/evaluation/")
    assert 'name="key"' in page
    assert 'type="password"' in page
    assert page.count("<h1") == 1


def test_a_key_opens_a_session_that_does_not_hold_it(entrant: Entrant, client: Client) -> None:
    response = client.post(f"{HOME}key/", {"key": f" {entrant.text} "})
    assert (response.status_code, response["Location"]) == (302, HOME)
    assert entrant.text not in str(dict(client.session))
    assert entrant.key.public_id in text(client, HOME)
    assert entrant.text not in text(client, HOME)


@pytest.mark.django_db
@pytest.mark.parametrize("key", ["", "nonsense", "aml_live_" + "A" * 54])
def test_a_wrong_key_is_refused_in_one_way_and_not_shown_again(client: Client, key: str) -> None:
    response = client.post(f"{HOME}key/", {"key": key})
    assert response.status_code == (401 if key else 422)
    assert not key or key not in response.content.decode()


@pytest.mark.django_db
def test_tries_are_throttled(client: Client) -> None:
    statuses = [client.post(f"{HOME}key/", {"key": "nonsense"}).status_code for _ in range(12)]
    assert statuses[:10] == [401] * 10
    assert statuses[10:] == [429, 429]


def test_closing_the_key_ends_the_session(keyed: Client) -> None:
    keyed.post(f"{HOME}key/close/")
    assert 'name="key"' in text(keyed, HOME)


def test_a_revoked_key_is_closed_at_once(entrant: Entrant, keyed: Client) -> None:
    LeaderboardKey.objects.filter(pk=entrant.key.pk).update(revoked_at=timezone.now(), revoked_reason="Lost.")
    assert 'name="key"' in text(keyed, HOME)


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_page_shows_quotas_versions_form_and_datasets(entrant: Entrant, keyed: Client, language: str) -> None:
    page = text(keyed, f"/{language}/evaluation/")
    for part in ("quotas", "new", "versions", "datasets", "results"):
        assert f'id="{part}"' in page
    assert "Acme Memory · 1.0" in page
    assert 'name="checklist"' in page
    assert 'value="100"' in page
    assert page.count("<h1") == 1


def test_the_form_starts_a_run(entrant: Entrant, keyed: Client) -> None:
    response = keyed.post(f"{HOME}runs/", form_of(entrant))
    job = Job.objects.get()
    assert (response.status_code, response["Location"]) == (302, f"{HOME}runs/{job.pk}/")
    assert (job.add_concurrency, job.search_concurrency, job.run_label) == (4, 8, "first")


def test_a_full_evaluation_starts_with_the_ticks(entrant: Entrant, keyed: Client) -> None:
    builders.passed_smoke(entrant)
    response = keyed.post(f"{HOME}runs/", form_of(entrant, mode="full", checklist=list(builders.CHECKED)))
    assert response.status_code == 302
    assert Job.objects.get(mode="full").checklist == builders.CHECKED


@pytest.mark.parametrize(
    ("fields", "status", "words"),
    [
        ({"add_concurrency": 99}, 422, "Add concurrency goes from 1 to 16"),
        ({"run_label": ""}, 422, "This field is required"),
        ({"mode": "full"}, 422, "Confirm every point of the checklist"),
        ({"mode": "full", "checklist": list(builders.CHECKED)}, 409, "Run a smoke test of this version"),
        ({"version": "00000000-0000-0000-0000-000000000000"}, 422, "valid choice"),
    ],
)
def test_a_refusal_stands_in_the_form(
    entrant: Entrant, keyed: Client, fields: dict[str, Any], status: int, words: str
) -> None:
    response = keyed.post(f"{HOME}runs/", form_of(entrant, **fields))
    assert response.status_code == status
    assert words in response.content.decode()
    assert not Job.objects.exists()


def test_a_quota_refusal_says_when_and_sends_retry_after(entrant: Entrant, keyed: Client) -> None:
    builders.passed_smoke(entrant)
    response = keyed.post(f"{HOME}runs/", form_of(entrant))
    assert response.status_code == 429
    assert 0 < int(response["Retry-After"]) <= 3600


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("state", ["queued", "running", "succeeded", "failed", "cancelled"])
def test_the_job_page_shows_every_state(entrant: Entrant, keyed: Client, language: str, state: str) -> None:
    job = builders.start(entrant, run_label="label-x")
    builders.send_something(job)
    if state == "running":
        Job.objects.filter(pk=job.pk).update(
            state="running", stage="retrieval", started_at=timezone.now(), heartbeat_at=timezone.now()
        )
        job.progress.filter(stage="retrieval").update(
            done=3, total=12, retries=2, started_at=timezone.now() - timedelta(seconds=10)
        )
    elif state != "queued":
        blame = "participant" if state == "failed" else ""
        builders.finish(job, state=state, blame=blame, code="echo_mismatch" if blame else "")
    page = text(keyed, f"/{language}/evaluation/runs/{job.pk}/")
    assert "label-x" in page
    assert page.count("<h1") == 1
    assert ("hx-trigger" in page) is (state in {"queued", "running"})


def test_a_running_job_tells_pace_retries_and_time_to_go(entrant: Entrant, keyed: Client) -> None:
    job = builders.start(entrant)
    at = timezone.now()
    Job.objects.filter(pk=job.pk).update(state="running", stage="retrieval", started_at=at, heartbeat_at=at)
    job.progress.filter(stage="retrieval").update(done=5, total=10, retries=2, started_at=at - timedelta(seconds=10))
    page = text(keyed, f"{HOME}runs/{job.pk}/progress/")
    assert "5 of 10" in page
    assert "0.5 a second" in page
    assert "2 retries" in page
    payload = keyed.get(f"{HOME}runs/{job.pk}/progress.json").json()
    stage = payload["progress"]["stages"][1]
    assert (stage["done"], stage["total"], stage["state"]) == (5, 10, "running")
    assert 0.4 < stage["rate"] <= 0.5
    assert 10 <= stage["eta_s"] < 13


def test_a_queued_job_tells_its_place(release: Any, client: Client) -> None:
    first, second = builders.make_entrant(), builders.make_entrant(name="Beta")
    builders.start(first)
    job = builders.start(second)
    client.post(f"{HOME}key/", {"key": second.text})
    assert client.get(f"{HOME}runs/{job.pk}/progress.json").json()["progress"]["queue_position"] == 2
    assert "Place 2 in the queue" in text(client, f"{HOME}runs/{job.pk}/")


def test_the_live_part_stops_asking_when_the_run_has_ended(entrant: Entrant, keyed: Client) -> None:
    job = builders.start(entrant)
    assert 'hx-trigger="every 2s"' in text(keyed, f"{HOME}runs/{job.pk}/progress/")
    builders.finish(job)
    page = f"http://testserver{HOME}runs/{job.pk}/"
    headers = {"HX-Request": "true", "HX-Current-URL": f"{page}?x=1"}
    response = keyed.get(f"{page}progress/", headers=headers)
    assert "hx-trigger" not in response.content.decode()
    assert response["HX-Refresh"] == "true"


def test_the_end_of_a_run_leaves_a_half_filled_form_on_another_page_alone(entrant: Entrant, keyed: Client) -> None:
    job = builders.finish(builders.start(entrant))
    headers = {"HX-Request": "true", "HX-Current-URL": f"http://testserver{HOME}"}
    response = keyed.get(f"{HOME}runs/{job.pk}/progress/", headers=headers)
    assert "hx-trigger" not in response.content.decode()
    assert "HX-Refresh" not in response


def test_a_stalled_job_is_named(entrant: Entrant, keyed: Client) -> None:
    job = builders.start(entrant)
    long_ago = timezone.now() - timedelta(minutes=9)
    Job.objects.filter(pk=job.pk).update(state="running", started_at=long_ago, heartbeat_at=long_ago)
    assert "No sign of life" in text(keyed, f"{HOME}runs/{job.pk}/")


def test_a_failure_of_the_participant_comes_with_code_expectation_and_advice(entrant: Entrant, keyed: Client) -> None:
    job = builders.start(entrant)
    builders.send_something(job)
    detail = {"kind": "add", "request_id": "eval:r:1", "got": "<b>other-id</b>", "http_status": 200}
    builders.finish(job, state="failed", blame="participant", code="echo_mismatch", detail=detail)
    page = text(keyed, f"{HOME}runs/{job.pk}/")
    assert "echo_mismatch" in page
    assert "&lt;b&gt;other-id&lt;/b&gt;" in page
    assert "The run ended at a call to your system" in page
    assert "This run spent its slot." in page


def test_a_failure_of_the_platform_says_so_and_that_the_slot_came_back(entrant: Entrant, keyed: Client) -> None:
    job = builders.start(entrant)
    builders.send_something(job)
    builders.finish(job, state="failed", blame="platform", code="answers_incomplete")
    page = text(keyed, f"{HOME}runs/{job.pk}/")
    assert "The platform failed, not your system" in page
    assert "The slot of this run was given back." in page


@pytest.mark.parametrize(
    ("sent", "words"), [(False, "gives the slot back"), (True, "keeps its slot spent")], ids=["unsent", "sent"]
)
def test_the_page_says_what_a_cancellation_costs_before_the_button(
    entrant: Entrant, keyed: Client, sent: bool, words: str
) -> None:
    job = builders.start(entrant)
    if sent:
        builders.send_something(job)
    assert words in text(keyed, f"{HOME}runs/{job.pk}/")
    assert keyed.post(f"{HOME}runs/{job.pk}/cancel/").status_code == 302
    job.refresh_from_db()
    assert job.state == "cancelled"


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_result_stands_with_n_and_the_gate(entrant: Entrant, keyed: Client, language: str) -> None:
    builders.passed_smoke(entrant)
    job = builders.finished_full(entrant, score=0.4321)
    page = text(keyed, f"/{language}/evaluation/runs/{job.pk}/")
    assert "43.21" in page
    assert "talks" in page
    assert page.count("<tr>") > 15
    assert 'id="publication"' in page


def test_what_organizers_wrote_is_shown(entrant: Entrant, keyed: Client) -> None:
    builders.passed_smoke(entrant)
    job = builders.finished_full(entrant)
    review = PublicationReview.objects.get(job=job)
    return_publication(review=review, actor="organizer:ada", reason="Name your models.", at=timezone.now())
    assert "Name your models." in text(keyed, f"{HOME}runs/{job.pk}/")


@pytest.mark.parametrize("language", LANGUAGES)
def test_questions_are_listed_in_pages_without_any_text_of_the_dataset(
    entrant: Entrant, keyed: Client, language: str
) -> None:
    job = builders.start(entrant)
    builders.fill_result(job, conversations=20, questions=3)
    Item.objects.filter(job=job, ordinal=2).update(state="participant_error", score=0, error_code="item_type")
    page = text(keyed, f"/{language}/evaluation/runs/{job.pk}/questions/")
    assert "?page=2" in page
    assert page.count("<tr>") == 51
    assert "pear" not in page
    assert "GOLD-LIKE" not in page
    assert "talk-0-q" not in page
    wrong = text(keyed, f"/{language}/evaluation/runs/{job.pk}/questions/?state=participant_error")
    assert wrong.count("item_type") == 20
    assert keyed.get(f"/{language}/evaluation/runs/{job.pk}/questions/?state=nonsense&page=99").status_code == 200


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_receipt_is_listed(entrant: Entrant, keyed: Client, language: str) -> None:
    job = builders.start(entrant)
    for _ in range(3):
        builders.send_something(job)
    page = text(keyed, f"/{language}/evaluation/runs/{job.pk}/receipts/")
    assert page.count("eval:x:chunk-0") == 3


def test_a_key_that_may_only_read_cancels_nothing(entrant: Entrant, keyed: Client) -> None:
    job = builders.start(entrant)
    LeaderboardKey.objects.filter(pk=entrant.key.pk).update(scopes=["read"])
    page = keyed.post(f"/en/evaluation/runs/{job.pk}/cancel/", follow=True)
    assert "scope smoke" in page.content.decode()
    job.refresh_from_db()
    assert job.is_active


def test_ready_for_a_full_evaluation_shows_every_rule_of_a_submission(
    entrant: Entrant, keyed: Client, settings: Any
) -> None:
    builders.passed_smoke(entrant)
    assert "Run a smoke test of this version" not in text(keyed, HOME)
    Version.objects.update(endpoint_changed_at=timezone.now())
    builders.start(entrant, at=timezone.now() + timedelta(hours=2))
    settings.AML_ANSWER_BASE_URL = "https://models.acme-labs.com/v1"
    LeaderboardKey.objects.update(scopes=["read"])
    page = text(keyed, HOME)
    for advice in (
        "Run a smoke test of this version",
        "is active on this track",
        "The platform has changed since this release was opened",
        "scope full",
    ):
        assert advice in page
    Version.objects.update(state="suspended", state_reason="Under question.")
    Release.objects.update(state="retired")
    page = text(keyed, HOME)
    assert "can&#x27;t be evaluated" in page
    assert "No release is open for this track yet" in page


def test_many_versions_cost_no_more_queries_than_one(entrant: Entrant, keyed: Client) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            text(keyed, HOME)
        return len(captured)

    text(keyed, HOME)
    before = queries()
    for number in range(5):
        version = Version.objects.get(pk=entrant.version.pk)
        version.pk, version.label, version._state.adding = uuid.uuid4(), f"2.{number}", True
        version.save()
        store_memory_system_key(version=version, secret="another-s3cret")
        entrant.key.versions.add(version)
    assert queries() <= before
