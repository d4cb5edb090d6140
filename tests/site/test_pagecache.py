"""Public pages out of memory: what is handed out again, to whom, and until when."""

from collections.abc import Iterable
from typing import Any

import pytest
from django.core.handlers.wsgi import WSGIHandler
from django.test import RequestFactory

from aml.pagecache import GOOD_FOR_S, MOST_BYTES, PageCache
from leaderboard.freshness import OFFERED
from leaderboard.services import publish_board, withdraw_entry
from tests.leaderboard.builders import AT, make_approved_run, make_board

WHO = {"actor": "organizer:ann", "reason": "Reviewed."}
BOARD = "/en/leaderboard/cycle-2/textual/open_source/"


class Counted:
    """The site, which counts how often it is really asked."""

    def __init__(self, application: Any) -> None:
        self._application = application
        self.asked = 0

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        self.asked += 1
        return self._application(environ, start_response)


class Reader:
    """Asks a WSGI application, as a web server does."""

    def __init__(self, application: Any) -> None:
        self.now = 100.0
        self.counted = Counted(application)
        self.cache = PageCache(self.counted, clock=lambda: self.now)

    def get(self, path: str = BOARD, *, method: str = "GET", **environ: str) -> tuple[str, dict[str, str], bytes]:
        got: list[Any] = []

        def start_response(status: str, headers: list[tuple[str, str]], *_: Any) -> None:
            got.extend((status, dict(headers)))

        request = RequestFactory().generic(method, path, **environ)
        asked = {name: value for name, value in request.environ.items() if name != "HTTP_COOKIE" or value}
        asked.update(environ)
        body = b"".join(self.cache(asked, start_response))
        return got[0], got[1], body


@pytest.fixture
def reader(transactional_db: None, settings: Any, tmp_path: Any) -> Reader:
    settings.VAR_DIR, settings.DEBUG = tmp_path, False
    make_approved_run(0.4, system="Low", team="Team L")
    publish_board(board=make_board(), at=AT, **WHO)
    return Reader(WSGIHandler())


def test_a_board_is_made_once_and_handed_out_again(reader: Reader) -> None:
    first, again = reader.get(), reader.get()

    assert first[0] == again[0] == "200 OK"
    assert first[2] == again[2]
    assert b"Low" in again[2]
    assert reader.counted.asked == 1
    assert OFFERED not in {**first[1], **again[1]}
    assert again[1]["Content-Security-Policy"] == first[1]["Content-Security-Policy"]
    assert again[1]["X-Request-ID"] != first[1]["X-Request-ID"]


def test_a_publication_and_a_withdrawal_are_seen_at_once(reader: Reader) -> None:
    assert b"High" not in reader.get()[2]
    make_approved_run(0.7, system="High", team="Team H")
    board = make_board()
    publish_board(board=board, at=AT, **WHO)
    assert b"High" in reader.get()[2]

    withdraw_entry(entry=board.entries.get(system_name="High"), at=AT, **WHO)
    assert b"70.00" not in reader.get()[2]


def test_a_copy_is_old_after_a_moment_whatever_another_machine_has_done(reader: Reader) -> None:
    reader.get()
    reader.now += GOOD_FOR_S + 0.1
    reader.get()
    assert reader.counted.asked == 2


@pytest.mark.parametrize(
    "environ",
    [
        {"HTTP_COOKIE": "sessionid=x"},
        {"HTTP_AUTHORIZATION": "Bearer x"},
        {"HTTP_IF_NONE_MATCH": '"x"'},
        {"HTTP_HX_REQUEST": "true"},
        {"REQUEST_METHOD": "HEAD"},
    ],
)
def test_who_may_see_something_else_is_answered_by_the_site(reader: Reader, environ: dict[str, str]) -> None:
    reader.get()
    reader.get(**environ)
    reader.get(**environ)
    assert reader.counted.asked == 3


@pytest.mark.parametrize(
    "environ",
    [{"HTTP_HOST": "localhost"}, {"QUERY_STRING": "sort=system"}, {"HTTP_X_FORWARDED_PROTO": "https"}],
)
def test_another_address_is_another_page(reader: Reader, environ: dict[str, str]) -> None:
    reader.get()
    reader.get(**environ)
    assert reader.counted.asked == 2


def test_a_host_that_is_not_ours_gets_nothing_that_was_kept(reader: Reader) -> None:
    reader.get()
    assert reader.get(HTTP_HOST="evil.example")[0].startswith("400")


@pytest.mark.parametrize("path", ["/en/leaderboard/cycle-2/textual/commercial/", "/en/nowhere/", "/api/v1/contract"])
def test_what_no_view_offers_is_not_kept(reader: Reader, path: str) -> None:
    reader.get(path)
    reader.get(path)
    assert reader.counted.asked == 2


def test_the_kept_pages_take_no_more_than_their_share() -> None:
    def large(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        start_response("200 OK", [(OFFERED, "1")])
        return [b"x" * 3_000_000]

    reader = Reader(large)
    for number in range(30):
        reader.get(f"/{number}")
    assert 0 < reader.cache._bytes <= MOST_BYTES
    assert sum(len(page.body) for page in reader.cache._pages.values()) == reader.cache._bytes
