"""The participation guide says what the cycle's data say."""

import pytest
from django.core.management import call_command

from contract.answers import RETRIED, RETRIED_ADD
from submissions.models import Cycle
from tests.builders import make_cycle
from tests.site.markup import read_page

pytestmark = pytest.mark.django_db


@pytest.fixture
def seeded():
    call_command("seed_cycles")
    return Cycle.objects.get(number=2)


def test_shows_the_dates_with_their_zone(client, seeded):
    page = read_page(client.get("/en/guide/"))
    moments = {time["datetime"]: time["text"] for time in page.all("time")}
    assert moments["2026-10-31T15:59:00Z"] == "31 October 2026, 23:59 (UTC+8)"
    assert moments["2026-11-04T15:59:00Z"] == "4 November 2026, 23:59 (UTC+8)"
    assert "mid-November 2026" in page.text()


def test_adds_the_prizes_up(client, seeded):
    page = read_page(client.get("/en/guide/"))
    assert "RMB 50,000 for each of 3 tracks, RMB 150,000 in all." in page.text()
    rows = [row["text"] for row in page.all("tr")]
    for row in ("First prize 1 20,000", "Second prize 2 8,000", "Third prize 3 3,000"):
        assert row in rows
    assert rows.index("Third prize 3 3,000") < rows.index("Best technical innovation 1 5,000")


def test_leaves_prizes_and_contact_out_when_a_cycle_has_none(client):
    make_cycle()
    page = read_page(client.get("/en/guide/"))
    assert "prizes" not in page.ids()
    assert "contact" not in page.ids()


def test_shows_the_contact_of_the_cycle(client):
    make_cycle(contact_email="board@example.org", challenge_repository="https://example.org/challenge")
    hrefs = [link["href"] for link in read_page(client.get("/en/guide/")).all("a")]
    assert "mailto:board@example.org" in hrefs
    assert "https://example.org/challenge" in hrefs


def test_names_the_quotas_of_the_cycle(client):
    make_cycle(smoke_interval_minutes=90, smoke_limit=12, full_limit=3, full_gap_days=7)
    text = read_page(client.get("/en/documentation/")).text()
    assert "at most 12 in a cycle" in text
    assert "at most 3 in a cycle, each from 7 days" in text


@pytest.mark.django_db
@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_the_documentation_names_the_statuses_that_are_tried_again(client, language):
    text = read_page(client.get(f"/{language}/documentation/")).text()
    assert ", ".join(map(str, sorted(RETRIED))) in text
    assert ", ".join(map(str, sorted(RETRIED_ADD - RETRIED))) in text
    assert "5xx" not in text
