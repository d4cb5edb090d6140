"""Lists of the organizers' site and of the API cost the same queries for one row as for many."""

from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from leaderboard.services import publish_board
from submissions.vault import store_memory_system_key
from tests.builders import make_key
from tests.builders import make_version as make_submitted_version
from tests.leaderboard.builders import AT, make_approved_run, make_board

pytestmark = pytest.mark.django_db


def queries(client: Client, path: str, **headers: str) -> int:
    assert client.get(path, headers=headers).status_code == 200  # what is remembered between requests is there now
    with CaptureQueriesContext(connection) as captured:
        assert client.get(path, headers=headers).status_code == 200
    return len(captured)


def add_boards() -> None:
    for track in ("textual", "coding", "multimodal"):
        for division in ("open_source", "commercial"):
            board = make_board(track=track, division=division)
            if track == "textual":
                make_approved_run(0.5, system=f"{division} One", division=division)
                publish_board(board=board, actor="organizer:ann", reason="Due.", at=AT)
                make_approved_run(0.6, system=f"{division} Two", division=division)


def add_reviews() -> None:
    for number in range(4):
        make_approved_run(0.1 * number, system=f"System {number}")


@pytest.mark.parametrize(
    ("path", "add"),
    [("/en/admin/leaderboard/board/", add_boards), ("/en/admin/evaluation/publicationreview/", add_reviews)],
)
def test_a_list_of_the_organizers_site_costs_the_same_for_many_rows(
    client: Client, path: str, add: Callable[[], None]
) -> None:
    client.force_login(User.objects.create_superuser("ada", password="x"))
    make_board(track="textual", division="diagnostic")
    make_approved_run(0.5, system="First")
    few = queries(client, path)
    add()
    assert queries(client, path) <= few


def test_the_list_of_boards_tells_what_waits_and_what_stands(client: Client) -> None:
    client.force_login(User.objects.create_superuser("ada", password="x"))
    add_boards()
    rows = client.get("/en/admin/leaderboard/board/").context["cl"].result_list
    told = {
        (row.track, row.division): (row.waiting_count, [each.number for each in row.newest_snapshots]) for row in rows
    }
    assert told["textual", "open_source"] == told["textual", "commercial"] == (1, [1])
    assert told["coding", "commercial"] == (0, [])


def test_the_list_of_a_keys_versions_costs_the_same_for_many(client: Client) -> None:
    key, text = make_key()
    few = queries(client, "/api/v1/versions", authorization=f"Bearer {text}")
    for _ in range(4):
        version = make_submitted_version()
        store_memory_system_key(version=version, secret="another-s3cret")
        key.versions.add(version)
    assert queries(client, "/api/v1/versions", authorization=f"Bearer {text}") <= few
    told = client.get("/api/v1/versions", headers={"authorization": f"Bearer {text}"}).json()
    assert [version["memory_system_key"]["configured"] for version in told] == [True] * 5
