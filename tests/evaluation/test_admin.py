"""Runs, reviews and releases in the organizers' admin."""

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client

from evaluation import quotas
from evaluation.models import Job, PublicationReview, Release
from submissions.models import AuditEvent
from tests.evaluation import builders
from tests.evaluation.builders import Entrant

LANGUAGES = ["en", "zh-hans"]
MODELS = ["job", "publicationreview", "release", "result", "quotaentry", "quotaaccount", "receipt"]


@pytest.fixture
def organizer(db: None) -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("ada", password="x"))
    return client


@pytest.fixture
def review(entrant: Entrant) -> PublicationReview:
    builders.passed_smoke(entrant)
    job = builders.finished_full(entrant, score=0.4321)
    builders.send_something(job)
    return job.review


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("model", MODELS)
def test_every_list_and_row_opens(organizer: Client, review: PublicationReview, model: str, language: str) -> None:
    page = organizer.get(f"/{language}/admin/evaluation/{model}/")
    assert page.status_code == 200
    row = Job._meta.apps.get_model("evaluation", model).objects.first()
    assert organizer.get(f"/{language}/admin/evaluation/{model}/{row.pk}/change/").status_code == 200
    assert organizer.get(f"/{language}/admin/evaluation/{model}/add/").status_code == 403


def test_a_review_shows_result_and_checks(organizer: Client, review: PublicationReview) -> None:
    page = organizer.get(f"/en/admin/evaluation/publicationreview/{review.pk}/change/").content.decode()
    assert "43.21" in page
    assert "Pipeline code" in page
    assert "Approve" in page


def test_an_approval_asks_for_a_reason_and_is_audited(organizer: Client, review: PublicationReview) -> None:
    path = f"/en/admin/evaluation/publicationreview/{review.pk}/decide/approve/"
    assert organizer.get(path).status_code == 200
    assert organizer.post(path, {"reason": ""}).status_code == 200
    review.refresh_from_db()
    assert review.state == "pending"
    assert organizer.post(path, {"reason": "All is well."}).status_code == 302
    review.refresh_from_db()
    assert review.state == "approved"
    event = AuditEvent.objects.get(action="review.approved")
    assert (event.actor, event.reason) == ("organizer:ada", "All is well.")


def test_a_result_that_fails_the_gate_is_not_approved(organizer: Client, review: PublicationReview) -> None:
    Job.objects.filter(pk=review.job_id).update(code_sha256="1" * 64)
    path = f"/en/admin/evaluation/publicationreview/{review.pk}/decide/approve/"
    response = organizer.post(path, {"reason": "All is well."}, follow=True)
    assert "does not pass the gate" in response.content.decode()
    review.refresh_from_db()
    assert review.state == "pending"


@pytest.mark.parametrize(("name", "state"), [("return", "returned"), ("disqualify", "disqualified")])
def test_an_approval_can_be_taken_back(organizer: Client, review: PublicationReview, name: str, state: str) -> None:
    page = f"/en/admin/evaluation/publicationreview/{review.pk}"
    organizer.post(f"{page}/decide/approve/", {"reason": "All is well."})
    assert f"/decide/{name}/" in organizer.get(f"{page}/change/").content.decode()
    organizer.post(f"{page}/decide/{name}/", {"reason": "Another release came."})
    review.refresh_from_db()
    assert (review.state, review.note_to_team) == (state, "Another release came.")


def test_an_organizer_ends_a_run_with_a_refund(organizer: Client, entrant: Entrant) -> None:
    job = builders.start(entrant)
    organizer.post(f"/en/admin/evaluation/job/{job.pk}/decide/end/", {"reason": "The disk was full."})
    job.refresh_from_db()
    assert (job.state, job.blame) == ("failed", "platform")
    assert quotas.was_refunded(job)


def test_an_organizer_cancels_a_run(organizer: Client, entrant: Entrant) -> None:
    job = builders.start(entrant)
    organizer.post(f"/en/admin/evaluation/job/{job.pk}/decide/cancel/", {"reason": "Asked by the team."})
    job.refresh_from_db()
    assert job.state == "cancelled"
    assert AuditEvent.objects.get(action="job.cancel_requested").reason == "Asked by the team."


def opening(release: Release, **fields: object) -> dict[str, object]:
    bundle = release.smoke_bundle.pk
    form = {"name": "textual-2", "track": "textual", "bundles": [bundle], "smoke_bundle": bundle}
    return {**form, "counts_checked": "on", "models_checked": "on", "retires_checked": "on", **fields}


def test_a_release_is_opened_with_its_checklist(organizer: Client, release: Release) -> None:
    path = "/en/admin/evaluation/release/open/"
    assert organizer.get(path).status_code == 200
    assert organizer.post(path, opening(release)).status_code == 302
    draft = Release.objects.get(name="textual-2")
    assert draft.state == "draft"
    organizer.post(f"/en/admin/evaluation/release/{draft.pk}/decide/open/", {"reason": "All checks pass."})
    assert builders.release_of().name == "textual-2"
    assert AuditEvent.objects.filter(action="release.opened").first().actor == "organizer:ada"


@pytest.mark.parametrize("missing", ["counts_checked", "models_checked", "retires_checked"])
def test_a_release_with_an_open_point_stays_closed(organizer: Client, release: Release, missing: str) -> None:
    response = organizer.post("/en/admin/evaluation/release/open/", opening(release, **{missing: ""}))
    assert response.status_code == 200
    assert builders.release_of() == release


def test_a_refusal_stands_on_the_page(organizer: Client, release: Release) -> None:
    response = organizer.post("/en/admin/evaluation/release/open/", opening(release, name=release.name))
    assert "Choose another name" in response.content.decode()


@pytest.mark.parametrize(
    ("codename", "path", "status"),
    [
        ("view_job", "job/{job}/decide/end/", 403),
        ("change_job", "job/{job}/decide/end/", 200),
        ("view_publicationreview", "publicationreview/{review}/decide/approve/", 403),
        ("change_publicationreview", "publicationreview/{review}/decide/approve/", 200),
        ("view_release", "release/open/", 403),
        ("add_release", "release/open/", 200),
    ],
)
def test_decisions_need_their_permission(review: PublicationReview, codename: str, path: str, status: int) -> None:
    user = User.objects.create_user("bo", password="x", is_staff=True)
    user.user_permissions.add(Permission.objects.get(codename=codename))
    client = Client()
    client.force_login(user)
    address = path.format(job=review.job_id, review=review.pk)
    assert client.get(f"/en/admin/evaluation/{address}").status_code == status
