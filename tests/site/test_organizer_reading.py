"""What an organizer reads before deciding: the parts behind each box, warnings first, times with their zone."""

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from evaluation.models import Release, Result
from tests.builders import make_cycle, make_request
from tests.evaluation import builders
from tests.evaluation.builders import Entrant
from tests.evaluation.conftest import entrant, release  # noqa: F401

pytestmark = pytest.mark.django_db


@pytest.fixture
def organizer(client: Client) -> Client:
    client.force_login(User.objects.create_superuser("olga", password="not-a-real-password"))
    return client


def test_opening_a_release_shows_what_each_box_confirms(organizer: Client, release: Release) -> None:  # noqa: F811
    page = organizer.get(reverse("admin:evaluation_release_open")).content.decode()
    bundle = release.smoke_bundle
    before_counts, _, rest = page.partition('for="id_counts_checked"')
    before_models, _, rest = rest.partition('for="id_models_checked"')
    before_retires = rest.partition('for="id_retires_checked"')[0]
    assert f"<td>{bundle.counts['questions']}</td>" in before_counts
    assert bundle.licence in before_counts
    assert "offline.extract.v1" in before_models
    assert "the offline backend answers" in before_models
    assert f": {release.name}, open since" in before_retires


def test_a_copy_of_another_teams_endpoint_is_the_first_thing_on_the_page(organizer: Client) -> None:
    make_request(team="First", contact_email="first@example.org")
    second = make_request(team="Second", contact_email="second@example.org", system="Other")
    page = organizer.get(reverse("admin:submissions_accessrequest_change", args=[second.pk])).content.decode()
    warning, rest = page.partition('class="organizer-warning"')[2].split("</p>", 1)
    assert "also disclosed by First" in warning
    assert "id_" not in warning
    assert second.contact_email in rest
    assert second.version.system.get_division_display() in rest


def test_the_letter_is_shown_with_its_reason_before_it_is_sent(organizer: Client) -> None:
    request = make_request()
    path = reverse("admin:submissions_accessrequest_decide", args=[request.pk, "reject"])
    assert "(the reason that you write below)" in organizer.get(path).content.decode()
    shown = organizer.post(path, {"reason": "No server answers.", "look": "1"}).content.decode()
    assert "<p>No server answers.</p>" in shown
    request.refresh_from_db()
    assert request.state == "submitted", "looking decides nothing"
    assert organizer.post(path, {"reason": "No server answers."}).status_code == 302
    request.refresh_from_db()
    assert request.state == "rejected"


def test_read_only_models_are_viewed_and_not_changed(organizer: Client) -> None:
    index = organizer.get(reverse("admin:index")).content.decode()
    for name in ("evaluation_job", "evaluation_result", "submissions_accessrequest"):
        assert f'href="{reverse(f"admin:{name}_changelist")}" class="viewlink"' in index
    assert index.count("What waits") == 1
    assert "Select result to view" in organizer.get(reverse("admin:evaluation_result_changelist")).content.decode()


def test_results_are_listed_in_points(organizer: Client, entrant: Entrant) -> None:  # noqa: F811
    builders.passed_smoke(entrant)
    Result.objects.filter(job=builders.finished_full(entrant)).update(overall=0.2151578)
    page = organizer.get(reverse("admin:evaluation_result_changelist")).content.decode()
    assert ">21.52<" in page
    assert "0.2151" not in page


def test_times_are_those_of_the_boards_and_name_their_zone(organizer: Client) -> None:
    cycle = make_cycle()
    page = organizer.get(reverse("admin:submissions_cycle_change", args=[cycle.pk])).content.decode()
    assert "Times: Asia/Shanghai (UTC+0800)" in page
