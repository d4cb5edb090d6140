"""Who may reach what: every address of the site for each kind of visitor, as permissions.txt beside this file has it.

An address that the table lacks fails it. "nobody" has neither key nor login, "owner" the key of the run, "stranger"
another team's key, "expired" the owner's key after its end; "staff" may log in to the admin and is in no group.
"""

import copy
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.apps import apps
from django.contrib.auth.models import Group, User
from django.db import transaction
from django.test import Client
from django.utils import timezone

from aml.groups import seed_groups
from evaluation.models import Item, Job
from leaderboard.models import Board
from leaderboard.services import publish_board
from submissions.models import LeaderboardKey
from submissions.services import new_receipt
from tests.builders import make_request
from tests.evaluation import builders
from tests.leaderboard.builders import AT, make_approved_run, make_board
from tests.routes import routes
from tests.shots import DECISIONS

VISITORS = ("nobody", "owner", "stranger", "expired", "staff", "reviewer", "operator", "publisher")
TABLE = Path(__file__).with_name("permissions.txt")


def rows() -> Iterator[tuple[str, str, list[int]]]:
    """The lines of `TABLE`: method, pattern, the status for each visitor."""
    for line in TABLE.read_text().splitlines():
        if not line.startswith("#"):
            method, pattern, *answers = line.split()
            yield method, pattern, [int(answer) for answer in answers]


@pytest.fixture
def world(tmp_path) -> dict[str, str]:
    """One of each thing, and what stands in the addresses for it; the run belongs to "owner"."""
    builders.make_release(tmp_path / "talks")
    owner = builders.make_entrant(name="Acme")
    stranger = builders.make_entrant(owner.cycle, name="Beta")
    job = builders.start(owner)
    builders.fill_result(job)
    receipt = new_receipt()
    make_request(receipt=receipt)
    make_approved_run()
    board: Board = make_board()
    entry = publish_board(board=board, actor="organizer:ann", reason="Reviewed.", at=AT).board.entries.get()
    builders.send_something(job)
    seed_groups()
    User.objects.create_user("olga", is_staff=True)
    return {
        "job": str(job.pk),
        "item": str(Item.objects.filter(job=job).first().pk),
        "receipt": receipt,
        "entry": str(entry.pk),
        "version": str(owner.version.pk),
        "board": f"{board.cycle.slug}/{board.track}/{board.division}",
        "owner": owner.text,
        "stranger": stranger.text,
    }


def address(pattern: str, world: dict[str, str]) -> str:
    """A real address in place of a pattern."""
    filled = {
        "runs/<uuid:pk>": f"runs/{world['job']}",
        "eval-jobs/<uuid:pk>": f"eval-jobs/{world['job']}",
        "versions/<uuid:pk>": f"versions/{world['version']}",
        "<slug:cycle>/<slug:track>/<slug:division>": world["board"],
        "<uuid:entry_id>": world["entry"],
        "<uuid:job_id>": world["job"],
        "<int:item_id>": world["item"],
        "<int:number>": "1",
        "<str:token>": world["receipt"],
        "<str:receipt>": world["receipt"],
        "^.*$": "nothing",
        "(?P<url>.*)$": "nothing",
        "^(?P<app_label>leaderboard|evaluation|benchmarks|submissions|auth)/$": "evaluation/",
        "<path:content_type_id>/<path:object_id>": "1/1",
    }
    for written, real in filled.items():
        pattern = pattern.replace(written, real)
    if pattern.startswith("en/admin/") and "<" in pattern:
        app, model = pattern.split("/")[2:4]
        row = apps.get_model(app, model)._default_manager.first()
        assert row is not None, pattern
        pattern = pattern.replace("<path:object_id>", str(row.pk)).replace("<id>", str(row.pk))
        pattern = pattern.replace("<slug:decision>", DECISIONS.get(f"{app}/{model}", ""))
        pattern += f"?pk={row.pk}" if "/decide/" in pattern and str(row.pk) not in pattern else ""
    assert "<" not in pattern, pattern
    return f"/{pattern}"


def client_of(kind: str, world: dict[str, str], *, is_program: bool) -> Client:
    """A browser with the visitor's session, or a program that sends the visitor's key."""
    client = Client()
    text = world["stranger"] if kind == "stranger" else world["owner"] if kind in {"owner", "expired"} else ""
    if text and is_program:
        client = Client(headers={"X-Api-Key": text})
    elif text:
        assert client.post("/en/evaluation/key/", {"key": text}).status_code == 302
    elif kind != "nobody":
        user = User.objects.create_user(f"user-{kind}-{is_program}", is_staff=True)
        user.groups.set(Group.objects.filter(name=kind))
        client.force_login(user)
    if kind == "expired":
        LeaderboardKey.objects.update(expires_at=timezone.now())
    return client


def answer(client: Client, method: str, path: str) -> int:
    """The status of one request, whose changes are taken back; nothing of it stays in `client` either."""
    cookies = copy.deepcopy(client.cookies)
    sent = {"data": {}, "content_type": "application/json"} if path.startswith("/api/") and method != "get" else {}
    before = transaction.savepoint()
    try:
        return int(getattr(client, method)(path, **sent).status_code)
    finally:
        transaction.savepoint_rollback(before)
        client.cookies = cookies


def test_every_address_is_in_the_table() -> None:
    assert {pattern for _method, pattern, _answers in rows()} == {route.pattern for route in routes()}
    assert all(len(answers) == len(VISITORS) for _method, _pattern, answers in rows())


@pytest.mark.django_db
@pytest.mark.parametrize("kind", VISITORS)
def test_each_visitor_reaches_what_the_table_says(kind: str, world: dict[str, str]) -> None:
    browser, program = (client_of(kind, world, is_program=is_program) for is_program in (False, True))
    seat = VISITORS.index(kind)
    found, expected = {}, {}
    for method, pattern, answers in rows():
        client = program if pattern.startswith("api/") else browser
        found[method, pattern] = answer(client, method, address(pattern, world))
        expected[method, pattern] = answers[seat]
    assert found == expected
    assert Job.objects.get(pk=world["job"]).state == "queued"
