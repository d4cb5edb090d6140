"""The home page: the last board and the next date come first."""

from datetime import datetime, timedelta

import pytest
from django.core.management import call_command
from django.utils import timezone

from aml.pages import selectors
from leaderboard.services import publish_board
from submissions.models import Cycle
from tests.builders import make_cycle
from tests.leaderboard.builders import make_approved_run, make_board
from tests.site.markup import read_page

pytestmark = pytest.mark.django_db


def test_shows_the_head_of_the_board_that_was_published_last(client):
    board = make_board()
    for number, score in enumerate((0.4, 0.9, 0.61425, 0.2, 0.5, 0.1)):
        make_approved_run(score, system=f"System {number}")
    publish_board(board=board, actor="organizer:olga", reason="the cycle is over", at=timezone.now())
    page = read_page(client.get("/en/"))
    rows = [row["text"] for row in page.all("tr")][1:]
    assert len(rows) == 5
    assert "System 1" in rows[0]
    assert "90.00" in rows[0]
    assert "61.42" in rows[1] or "61.43" in rows[1]
    assert page.all("rect", **{"class": "bar-fill"})[0]["width"] == "90"
    assert "The whole board: 6 systems" in page.text()
    assert all(client.get(link["href"]).status_code == 200 for link in page.all("a") if "/leaderboard/" in link["href"])


def test_says_when_results_come_while_there_is_no_board(client):
    make_cycle(board_on=(timezone.now() + timedelta(days=40)).date(), board_date_kind=Cycle.BoardDate.MIDDLE)
    text = read_page(client.get("/en/")).text()
    assert "results are published mid-" in text
    assert "No board has been published yet" not in text


def test_does_not_promise_results_for_a_date_that_has_passed(client):
    make_cycle(board_on=(timezone.now() - timedelta(days=60)).date())
    assert "No board has been published yet" in read_page(client.get("/en/")).text()


def test_offers_access_only_while_materials_are_taken(client):
    cycle = make_cycle()
    assert "/en/request-access/" in [
        link["href"] for link in read_page(client.get("/en/")).all("a", **{"class": "button button-primary"})
    ]
    Cycle.objects.filter(pk=cycle.pk).update(materials_close_at=timezone.now() - timedelta(hours=1))
    assert not read_page(client.get("/en/")).all("a", **{"class": "button button-primary"})


@pytest.mark.parametrize(
    ("at", "following"),
    [
        ("2026-09-19T15:59:59Z", "Opens"),
        ("2026-09-19T16:00:00Z", "Materials close"),
        ("2026-10-31T15:58:59Z", "Materials close"),
        ("2026-11-01T00:00:00Z", "Evaluation closes"),
        ("2026-11-04T16:00:00Z", "Board published"),
        ("2026-11-20T15:59:00Z", "Board published"),
        ("2026-11-20T16:00:01Z", None),
    ],
)
def test_the_next_date_follows_the_clock(at, following):
    call_command("seed_cycles")
    dates = selectors.cycle_dates(Cycle.objects.get(number=2), datetime.fromisoformat(at))
    entry = selectors.next_date(dates)
    assert (str(entry.title) if entry else None) == following
    assert [date.is_past for date in dates] == sorted((date.is_past for date in dates), reverse=True)


def test_an_open_cycle_comes_before_a_newer_one_and_drafts_stay_hidden():
    now = timezone.now()
    running = make_cycle(number=11)
    make_cycle(number=12, state=Cycle.State.DRAFT)
    make_cycle(number=13, opens_at=now + timedelta(days=90), materials_close_at=None, evaluation_closes_at=None)
    assert selectors.current_cycle(now) == running
    Cycle.objects.filter(number=11).update(state=Cycle.State.CLOSED)
    assert selectors.current_cycle(now).number == 13
    assert selectors.current_cycle(now + timedelta(days=91)).number == 13


def test_without_a_cycle_there_is_none():
    assert selectors.current_cycle(timezone.now()) is None
