"""What helps a reader of a board: letters spelled out, scales named, the same numbers said to be the same."""

import re

import pytest
from django.test import Client

from leaderboard.models import Entry
from leaderboard.services import publish_board
from tests.leaderboard.builders import AT, make_approved_run, make_board

pytestmark = pytest.mark.django_db
BOARD = "/en/leaderboard/cycle-2/textual/open_source/"


@pytest.fixture
def entry() -> Entry:
    make_approved_run(0.7)
    publish_board(board=make_board(), at=AT, actor="organizer:ann", reason="Reviewed.")
    return Entry.objects.get()


def plain(html: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


def test_the_letters_of_the_columns_stand_below_the_table(client: Client, entry: Entry) -> None:
    page = client.get(BOARD).content.decode()
    legend = plain(page.partition('id="board-legend">')[2].partition("</p>")[0])
    asked = sorted(entry.facts["capabilities"])
    assert legend.startswith("A Explicit facts")
    assert [code for code in "ABCDEGH" if f"{code} " in legend.partition("(")[0]] == asked
    missing = ", ".join(code for code in "ABCDEGH" if code not in asked)
    assert f"(no question of this suite asks for {missing})" in legend


def test_the_page_says_that_its_files_have_fractions(client: Client, entry: Entry) -> None:
    assert "they are fractions from 0 to 1" in plain(client.get(BOARD).content.decode())


def test_the_caption_is_one_sentence_for_the_translator(client: Client, entry: Entry) -> None:
    caption = plain(client.get(BOARD).content.decode().partition("<caption>")[2].partition("</caption>")[0])
    assert caption.endswith("Cycle 2. Scores are points of 100; n is the number of questions.")


@pytest.mark.parametrize("same", [True, False])
def test_categories_that_are_the_capabilities_are_said_to_be(client: Client, entry: Entry, same: bool) -> None:
    parts = {"A": {"score": 0.5, "n": 20}, "B": {"score": 0.25, "n": 40}}
    entry.facts["capabilities"] = parts
    entry.facts["categories"] = {"1": parts["B"], "4": parts["A"] if same else {"score": 0.75, "n": 20}}
    Entry.objects.filter(pk=entry.pk).update(facts=entry.facts)
    page = client.get(f"/en/leaderboard/entries/{entry.pk}/").content.decode()
    assert ("The numbers of the capabilities under the dataset&#x27;s own names." in page) == same
    assert (
        page.count('class="chart-bars"')
        == len([True for group in ("capabilities", "categories", "datasets") if entry.facts[group]]) - same
    )
