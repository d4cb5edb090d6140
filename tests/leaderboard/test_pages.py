"""The public pages of the boards."""

from datetime import date, timedelta

import pytest
from django.test import Client
from django.utils import timezone

from leaderboard.models import Entry
from leaderboard.services import publish_board, withdraw_entry
from submissions.models import Cycle
from tests.leaderboard.builders import AT, make_approved_run, make_board, make_cycle

pytestmark = pytest.mark.django_db
WHO = {"actor": "organizer:ann", "reason": "Reviewed."}
BOARD = "/en/leaderboard/cycle-2/textual/open_source/"


@pytest.fixture
def published():
    make_approved_run(0.4, system="Low", team="Team L")
    make_approved_run(0.7, system="High", team="Team H")
    make_approved_run(0.55, system="Middle", team="Team M")
    return publish_board(board=make_board(), at=AT, **WHO)


def systems(response) -> list[str]:
    """The systems of the table in the order in which they stand."""
    text = response.content.decode()
    return sorted(
        ("High", "Middle", "Low"), key=lambda name: text.find(f">{name}</a>") if f">{name}</a>" in text else 1e9
    )


def shown(response) -> set[str]:
    text = response.content.decode()
    return {name for name in ("High", "Middle", "Low") if f">{name}</a>" in text}


@pytest.mark.parametrize(
    ("language", "words"),
    [("en", ["Textual memory", "Open-source methods", "Provenance"]), ("zh-hans", ["第二期"])],
)
def test_a_board_is_a_table_in_both_languages(client: Client, published, language: str, words: list[str]) -> None:
    response = client.get(f"/{language}/leaderboard/cycle-2/textual/open_source/")
    text = response.content.decode()
    assert response.status_code == 200
    assert text.count("<h1") == 1
    assert "<caption>" in text
    assert 'aria-sort="ascending"' in text
    assert 'scope="colgroup"' in text
    assert ">70.00<" in text
    assert all(word in text for word in words)


@pytest.mark.parametrize(
    ("query", "order"),
    [
        ("", ["High", "Middle", "Low"]),
        ("?sort=system", ["High", "Low", "Middle"]),
        ("?sort=-system", ["Middle", "Low", "High"]),
        ("?sort=score", ["Low", "Middle", "High"]),
        ("?sort=-capability:A", ["High", "Middle", "Low"]),
        ("?sort=nonsense", ["High", "Middle", "Low"]),
    ],
)
def test_the_order_stands_in_the_address(client: Client, published, query: str, order: list[str]) -> None:
    assert systems(client.get(BOARD + query)) == order


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("?q=mid", {"Middle"}),
        ("?q=team+h", {"High"}),
        ("?q=nobody", set()),
        ("?label=reference_arm", set()),
        ("?label=submitted_by_api", {"High", "Middle", "Low"}),
    ],
)
def test_search_and_label_leave_rows_out(client: Client, published, query: str, names: set[str]) -> None:
    assert shown(client.get(BOARD + query)) == names


def test_a_query_that_no_database_can_compare_is_refused(client: Client, published) -> None:
    assert client.get(BOARD + "?q=%00").status_code == 400


def test_columns_can_be_chosen(client: Client, published) -> None:
    usual = client.get(BOARD).content.decode()
    assert "sort=-capability%3AA" in usual
    assert "sort=-category%3A1" not in usual
    chosen = client.get(BOARD + "?columns=category:1").content.decode()
    assert "sort=-category%3A1" in chosen
    assert "sort=-capability%3AA" not in chosen
    none = client.get(BOARD + "?columns=").content.decode()
    assert "sort=-capability%3AA" not in none


def test_a_sorted_heading_leads_to_the_other_way_round(client: Client, published) -> None:
    text = client.get(BOARD + "?sort=-score").content.decode()
    assert 'aria-sort="descending"' in text
    assert text.count("aria-sort") == 1
    assert 'href="?sort=score"' in text


def test_htmx_gets_the_part_and_the_short_address(client: Client, published) -> None:
    response = client.get(BOARD + "?q=&label=&columns=&columns=version&sort=-score", headers={"HX-Request": "true"})
    assert response.content.decode().lstrip().startswith('<div id="board"')
    assert response["HX-Push-Url"] == BOARD + "?sort=-score&columns=version"
    assert "HX-Request" in response["Vary"]


def test_going_back_in_htmx_history_gets_the_whole_page(client: Client, published) -> None:
    headers = {"HX-Request": "true", "HX-History-Restore-Request": "true"}
    assert "<h1" in client.get(BOARD + "?sort=-score", headers=headers).content.decode()


@pytest.mark.parametrize(
    "path", ["/en/leaderboard/none/textual/open_source/", "/en/leaderboard/cycle-2/none/open_source/"]
)
def test_a_board_that_cannot_be_is_not_found(client: Client, published, path: str) -> None:
    assert client.get(path).status_code == 404


def test_a_draft_cycle_shows_nothing(client: Client, published) -> None:
    entry = Entry.objects.first()
    Cycle.objects.update(state=Cycle.State.DRAFT)
    for path in (BOARD, BOARD + "board.json", BOARD + "snapshots/1/", f"/en/leaderboard/entries/{entry.pk}/"):
        assert client.get(path).status_code == 404, path


@pytest.mark.parametrize(
    ("kind", "language", "words"),
    [
        ("middle", "en", "Results are published in mid-November 2100."),
        ("exact", "en", "Results are published on 15 November 2100."),
    ],
)
def test_an_unpublished_board_says_when_results_come(client: Client, kind: str, language: str, words: str) -> None:
    make_cycle(board_on=date(2100, 11, 15), board_date_kind=kind)
    response = client.get(f"/{language}/leaderboard/cycle-2/coding/commercial/")
    assert response.status_code == 200
    assert words in response.content.decode()


def test_a_date_that_has_passed_is_not_announced_any_more(client: Client) -> None:
    make_cycle(board_on=(timezone.now() - timedelta(days=60)).date(), board_date_kind="middle")
    text = client.get("/en/leaderboard/cycle-2/coding/commercial/").content.decode()
    assert "Results were planned for" in text


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_the_index_leads_to_every_board_of_a_cycle(client: Client, published, language: str) -> None:
    text = client.get(f"/{language}/leaderboard/").content.decode()
    for track in ("textual", "coding"):
        for division in ("open_source", "commercial"):
            assert f'href="/{language}/leaderboard/cycle-2/{track}/{division}/"' in text
    assert "High" in text


def test_the_index_without_any_cycle_is_a_page_too(client: Client) -> None:
    assert client.get("/en/leaderboard/").status_code == 200


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_an_entry_has_its_score_with_n_and_its_whole_provenance(client: Client, published, language: str) -> None:
    entry = Entry.objects.get(system_name="High")
    text = client.get(f"/{language}/leaderboard/entries/{entry.pk}/").content.decode()
    assert text.count("<h1") == 1
    for fact in ("70.00", "60", "textual-1", entry.facts["release"]["digest"], "b" * 64, "c" * 64, "locomo.f1.v1"):
        assert fact in text
    assert text.count('role="img"') == 3
    assert "<title id=" in text
    assert "<desc id=" in text


def test_markup_in_names_is_text(client: Client) -> None:
    make_approved_run(0.4, system="<script>alert(1)</script>", team="<b>Team</b>")
    publish_board(board=make_board(), at=AT, **WHO)
    entry = Entry.objects.get()
    for path in (BOARD, f"/en/leaderboard/entries/{entry.pk}/", "/en/leaderboard/"):
        text = client.get(path).content.decode()
        assert "<script>alert" not in text
        assert "<b>Team" not in text


def test_a_withdrawn_entry_is_a_tombstone_everywhere(client: Client, published) -> None:
    entry = Entry.objects.get(system_name="High")
    withdraw_entry(entry=entry, actor="organizer:bob", reason="The wrong version ran.", at=AT + timedelta(hours=1))
    board = client.get(BOARD).content.decode()
    assert "Withdrawn entries" in board
    assert "The wrong version ran." in board
    page = client.get(f"/en/leaderboard/entries/{entry.pk}/").content.decode()
    assert "The wrong version ran." in page
    assert "70.00" not in page
    earlier = client.get(BOARD + "snapshots/1/").content.decode()
    assert "70.00" in earlier
    assert "tombstone" in earlier
    assert "This is how the board stood earlier" in earlier


@pytest.mark.parametrize(
    ("as_of", "number"), [("1", 1), ("2026-11-12", 2), ("2026-11-12T08:30:00Z", 1), ("2026-11-12T17:30", 2)]
)
def test_as_of_leads_to_the_snapshot_of_that_time(client: Client, published, as_of: str, number: int) -> None:
    entry = Entry.objects.get(system_name="High")
    withdraw_entry(entry=entry, actor="organizer:bob", reason="Wrong.", at=AT + timedelta(hours=1))
    response = client.get(BOARD, {"as_of": as_of})
    assert response.status_code == 302
    assert response["Location"] == f"{BOARD}snapshots/{number}/"


@pytest.mark.parametrize("as_of", ["2020-01-01", "yesterday", "99", "0001-01-01", "9999-12-31T23:59:59", "²"])
def test_as_of_without_a_snapshot_is_not_found(client: Client, published, as_of: str) -> None:
    assert client.get(BOARD, {"as_of": as_of}).status_code == 404


def test_a_reader_with_a_fresh_copy_gets_no_second_one(client: Client, published) -> None:
    first = client.get(BOARD)
    again = client.get(BOARD, headers={"If-None-Match": first["ETag"]})
    assert again.status_code == 304
    assert "Last-Modified" in first
    other = client.get(BOARD + "?sort=-score", headers={"If-None-Match": first["ETag"]})
    assert other.status_code == 200


def test_a_publication_a_theme_and_a_language_make_a_copy_stale(client: Client, published) -> None:
    etag = client.get(BOARD)["ETag"]
    client.cookies["theme"] = "dark"
    assert client.get(BOARD, headers={"If-None-Match": etag}).status_code == 200
    del client.cookies["theme"]
    chinese = BOARD.replace("/en/", "/zh-hans/")
    assert client.get(chinese, headers={"If-None-Match": etag}).status_code == 200
    make_approved_run(0.99, system="Newcomer")
    publish_board(board=make_board(), at=AT + timedelta(hours=1), **WHO)
    response = client.get(BOARD, headers={"If-None-Match": etag})
    assert response.status_code == 200
    assert "Newcomer" in response.content.decode()
