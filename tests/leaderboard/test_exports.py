"""CSV and JSON of a board, from the page and from the API."""

import csv
import io
import json
from hashlib import sha256

import pytest
from django.test import Client

from leaderboard.exports import BOM, safe_cell
from leaderboard.models import Entry
from leaderboard.selectors import entry_payload
from leaderboard.services import publish_board, withdraw_entry
from tests.leaderboard.builders import AT, PRIVATE, make_approved_run, make_board

pytestmark = pytest.mark.django_db
WHO = {"actor": "organizer:ann", "reason": "Reviewed."}
PAGE = "/en/leaderboard/cycle-2/textual/open_source/"
API = "/api/v1/boards/cycle-2/textual/open_source"


@pytest.fixture
def published():
    make_approved_run(0.4, system='=HYPERLINK("http://x")', team="@team")
    make_approved_run(0.7, system="高分系统", team="Team H")
    return publish_board(board=make_board(), at=AT, **WHO)


@pytest.mark.parametrize(
    "text", ["=1+1", "+1", "-1", "@SUM(A1)", "\tx", "\rx", "\nx", " =1", "\u3000=1", "＝1", "＋1", "－1", "＠x"]
)
def test_a_cell_that_a_spreadsheet_would_run_becomes_text(text: str) -> None:
    assert safe_cell(text) == f"'{text}"


@pytest.mark.parametrize("value", ["Mnemo 2.1", "a=b", "", 0.5, -1, None])
def test_other_cells_stay_as_they_are(value: object) -> None:
    assert safe_cell(value) == value


def test_the_csv_has_a_line_for_each_entry_with_schema_and_digest(client: Client, published) -> None:
    response = client.get(PAGE + "board.csv")
    text = response.content.decode()
    assert response["Content-Type"] == "text/csv; charset=utf-8"
    assert "cycle-2-textual-open_source-1.csv" in response["Content-Disposition"]
    assert text.startswith(BOM)
    rows = list(csv.DictReader(io.StringIO(text.removeprefix(BOM))))
    assert [(row["rank"], row["system"], row["score"], row["n"]) for row in rows] == [
        ("1", "高分系统", "0.7", "60"),
        ("2", '\'=HYPERLINK("http://x")', "0.4", "60"),
    ]
    assert {row["schema"] for row in rows} == {"aml.board.v1"}
    assert {row["snapshot_digest"] for row in rows} == {published.digest}
    assert rows[0]["capability:A (Explicit facts) score"] == "0.7"
    assert PRIVATE not in text


def test_the_json_proves_itself(client: Client, published) -> None:
    for path in (PAGE + "board.json", PAGE + "snapshots/1/board.json", API):
        document = json.loads(client.get(path).content)
        board = json.dumps(document["board"], sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        assert document["schema"] == "aml.board.v1"
        assert sha256(board.encode()).hexdigest() == document["digest"] == published.digest


@pytest.mark.parametrize("path", [PAGE + "board.csv", PAGE + "board.json", API, API + "?format=csv"])
def test_an_export_answers_304_to_its_own_etag_until_the_board_changes(client: Client, published, path: str) -> None:
    first = client.get(path)
    assert "Last-Modified" in first
    assert client.get(path, headers={"If-None-Match": first["ETag"]}).status_code == 304
    withdraw_entry(entry=Entry.objects.first(), at=AT, **WHO)
    assert client.get(path, headers={"If-None-Match": first["ETag"]}).status_code == 200


def test_an_export_of_a_numbered_snapshot_may_be_kept_for_good(client: Client, published) -> None:
    assert "immutable" in client.get(PAGE + "snapshots/1/board.csv")["Cache-Control"]
    assert "no-cache" in client.get(PAGE + "board.csv")["Cache-Control"]


def test_there_is_nothing_to_export_before_the_first_publication(client: Client) -> None:
    make_board()
    for path in (PAGE + "board.csv", PAGE + "board.json", API):
        assert client.get(path).status_code == 404


@pytest.mark.parametrize(("query", "accept"), [("?format=csv", "*/*"), ("", "text/csv")])
def test_the_api_gives_csv_by_format_and_by_accept(client: Client, published, query: str, accept: str) -> None:
    response = client.get(API + query, headers={"Accept": accept})
    assert response["Content-Type"].startswith("text/csv")
    assert response.content.decode().startswith("schema,snapshot,")


def test_the_api_shows_a_board_as_of_an_earlier_time(client: Client, published) -> None:
    withdraw_entry(entry=Entry.objects.first(), at=AT.replace(hour=12), **WHO)
    assert client.get(API).json()["board"]["number"] == 2
    assert client.get(API, {"as_of": "1"}).json()["board"]["number"] == 1
    assert client.get(API, {"as_of": "2026-11-12T09:00:00Z"}).json()["board"]["number"] == 1
    assert client.get(API, {"as_of": "2026-11-12"}).json()["board"]["number"] == 2
    assert client.get(API, {"as_of": "2026-11-11"}).status_code == 404
    refused = client.get(API, {"as_of": "soon", "format": "csv"})
    assert refused.status_code == 422
    assert json.loads(refused.content)["detail"]["reason"] == "as_of_invalid"


def test_the_api_gives_an_entry_and_of_a_withdrawn_one_the_reason_alone(client: Client, published) -> None:
    entry = Entry.objects.get(system_name="高分系统")
    path = f"/api/v1/entries/{entry.pk}"
    document = client.get(path).json()
    assert document["facts"]["score"] == 0.7
    assert set(document) == set(entry_payload(entry))
    withdraw_entry(entry=entry, actor="organizer:bob", reason="Wrong.", at=AT)
    document = client.get(path).json()
    assert (document["state"], document["withdrawn_reason"], document["facts"]) == ("withdrawn", "Wrong.", None)
    assert client.get("/api/v1/entries/00000000-0000-0000-0000-000000000000").status_code == 404
