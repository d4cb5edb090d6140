"""The organizers' site: its queue, its login, and who may do what."""

from datetime import timedelta

import pytest
import time_machine
from django.contrib import admin
from django.contrib.auth.models import Group, User
from django.core.management import call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone, translation

from aml.groups import GROUPS, seed_groups
from evaluation.models import Job, PublicationReview
from leaderboard.models import Board, Entry, Snapshot
from leaderboard.services import publish_board
from submissions.models import OutboxMail
from tests.builders import make_request
from tests.leaderboard.builders import AT, make_approved_run, make_board, make_cycle

pytestmark = pytest.mark.django_db
PASSWORD = "a long enough password"


@pytest.fixture(autouse=True)
def english():
    with translation.override("en"):
        yield


def member(*groups: str, **fields) -> Client:
    """A client signed in as a member of staff in these groups."""
    seed_groups()
    user = User.objects.create_user(f"user{User.objects.count()}", password=PASSWORD, is_staff=True, **fields)
    user.groups.set(Group.objects.filter(name__in=groups))
    client = Client()
    client.force_login(user)
    return client


def root() -> Client:
    return member(is_superuser=True)


def queue(client: Client) -> dict[str, tuple[int, str]]:
    """The queue of the index by name: how many, and where it leads."""
    work = client.get(reverse("admin:index")).context["work"]
    return {item.name: (item.count, item.url) for item, _age in work}


def make_letter(**fields) -> OutboxMail:
    values = {"event": "x", "to": "a@example.org", "language": "en", "subject": "s", "text": "t", "html": "h"}
    return OutboxMail.objects.create(**values, next_attempt_at=timezone.now(), **fields)


def test_an_empty_queue_says_so() -> None:
    assert "Nothing waits." in root().get(reverse("admin:index")).content.decode()


def test_the_queue_counts_what_waits_and_leads_to_it() -> None:
    now = timezone.now()
    make_request()
    pending = make_approved_run(system="Pending")
    PublicationReview.objects.filter(job=pending).update(state="pending")
    stalled = make_approved_run(system="Stalled")
    Job.objects.filter(pk=stalled.pk).update(state="running", heartbeat_at=now - timedelta(hours=1), ended_at=None)
    failed = make_approved_run(system="Failed")
    Job.objects.filter(pk=failed.pk).update(state="failed", blame="platform", ended_at=now - timedelta(days=1))
    make_approved_run(system="Approved")
    make_letter(state="failed")
    make_letter(state="sent")
    client = root()
    found = queue(client)
    assert {name: count for name, (count, _url) in found.items()} == {
        "access_requests": 1,
        "publication_reviews": 1,
        "stalled_jobs": 1,
        "platform_failures": 1,
        "failed_letters": 1,
        "unpublished": 1,
    }
    for name, (count, url) in found.items():
        response = client.get(url)
        assert response.status_code == 200, name
        if "cl" in response.context:
            assert response.context["cl"].result_count == count, name


def test_old_failures_and_what_is_decided_leave_the_queue() -> None:
    failed = make_approved_run(system="Failed")
    Job.objects.filter(pk=failed.pk).update(
        state="failed", blame="platform", ended_at=timezone.now() - timedelta(days=30)
    )
    make_approved_run(system="Published")
    publish_board(board=make_board(), actor="organizer:ann", reason="Reviewed.", at=AT)
    assert queue(root()) == {}


def test_an_approved_result_leads_to_its_board_or_to_the_form_that_opens_it() -> None:
    make_approved_run()
    client = root()
    assert reverse("admin:leaderboard_board_add") in queue(client)["unpublished"][1]
    board = make_board()
    assert queue(client)["unpublished"][1] == reverse("admin:leaderboard_board_change", args=[board.pk])


@pytest.mark.parametrize(
    ("group", "names"),
    [
        ("reviewer", {"access_requests", "unpublished", "failed_letters"}),
        ("operator", {"access_requests", "unpublished", "failed_letters"}),
        ("publisher", {"unpublished"}),
        ("", set()),
    ],
)
def test_the_queue_shows_what_its_reader_may_see(group: str, names: set[str]) -> None:
    make_request()
    make_approved_run()
    make_letter(state="failed")
    assert set(queue(member(group))) == names


def test_the_index_warns_while_private_targets_are_allowed(settings) -> None:
    client = root()
    settings.AML_ALLOWED_PRIVATE_TARGETS = []
    assert "127.0.0.1:8801" not in client.get(reverse("admin:index")).content.decode()
    settings.AML_ALLOWED_PRIVATE_TARGETS = ["127.0.0.1:8801"]
    text = client.get(reverse("admin:index")).content.decode()
    assert "organizer-warning" in text
    assert "127.0.0.1:8801" in text


@pytest.mark.parametrize(("language", "words"), [("en", "What waits for a decision"), ("zh-hans", "最近动作")])
def test_the_index_is_there_in_both_languages_and_switches_between_them(language: str, words: str) -> None:
    text = root().get(f"/{language}/admin/").content.decode()
    assert words in text
    assert 'href="/en/admin/"' in text
    assert 'href="/zh-hans/admin/"' in text
    assert "organizer.css" in text


@pytest.fixture
def clock():
    """Stands still, so that no window of a counter ends during a test."""
    with time_machine.travel(AT, tick=False):
        yield


def login(client: Client, name: str, password: str = "wrong", **extra):
    return client.post(reverse("admin:login"), {"username": name, "password": password}, **extra)


def test_a_login_works_and_a_wrong_one_says_so(client: Client) -> None:
    User.objects.create_user("olga", password=PASSWORD, is_staff=True)
    assert login(client, "olga").status_code == 200
    assert login(client, "olga", PASSWORD).status_code == 302


@pytest.mark.usefixtures("clock")
def test_after_five_failures_a_name_must_wait_there_and_not_elsewhere(client: Client) -> None:
    User.objects.create_user("olga", password=PASSWORD, is_staff=True)
    assert [login(client, "olga").status_code for _try in range(5)] == [200] * 5
    refused = login(client, "OLGA", PASSWORD)
    assert refused.status_code == 429
    assert int(refused["Retry-After"]) > 0
    assert "Try again in" in refused.content.decode()
    assert login(client, "olga", PASSWORD, REMOTE_ADDR="203.0.113.9").status_code == 302


@pytest.mark.usefixtures("clock")
def test_an_address_has_ten_tries_a_minute_over_all_names(client: Client) -> None:
    statuses = [login(client, f"name{number}").status_code for number in range(12)]
    assert statuses == [200] * 10 + [429] * 2


def test_the_command_makes_the_groups_and_sets_them_back() -> None:
    call_command("seed_groups")
    Group.objects.get(name="publisher").permissions.clear()
    call_command("seed_groups")
    found = {group.name: group.permissions.count() for group in Group.objects.all()}
    assert found == {name: sum(map(len, models.values())) for name, models in GROUPS.items()}


def pages() -> list[tuple[str, str]]:
    """(app.model, address of its list) of everything registered but Django's own accounts."""
    return [
        (model._meta.label_lower, reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist"))
        for model in admin.site._registry
        if model._meta.app_label not in {"auth", "django_q"}
    ]


@pytest.mark.parametrize("group", [*GROUPS, "nobody"])
def test_a_group_reads_its_lists_and_no_others(group: str) -> None:
    client = member(group)
    readable = GROUPS.get(group, {})
    for label, url in pages():
        expected = 200 if label in readable else 403
        assert client.get(url).status_code == expected, (group, label)


def test_a_stranger_is_sent_to_the_login(client: Client) -> None:
    for _label, url in pages():
        assert client.get(url)["Location"].startswith(reverse("admin:login"))


@pytest.mark.parametrize("group", [*GROUPS, "nobody"])
def test_only_named_groups_add_and_nobody_deletes(group: str) -> None:
    client = member(group)
    may_add = {label for label, actions in GROUPS.get(group, {}).items() if "add" in actions}
    for model in admin.site._registry:
        meta = model._meta
        if meta.app_label in {"auth", "django_q"}:
            continue
        status = client.get(reverse(f"admin:{meta.app_label}_{meta.model_name}_add")).status_code
        if meta.label_lower not in may_add:
            assert status == 403, (group, meta.label_lower)
    entry = publish_board(board=_board_with_run(), actor="organizer:ann", reason="x", at=AT).board.entries.get()
    assert client.post(reverse("admin:leaderboard_entry_delete", args=[entry.pk]), {"post": "yes"}).status_code == 403


def _board_with_run() -> Board:
    make_approved_run()
    return make_board()


DECISIONS = {
    "reviewer": {"approve": 200, "publish": 403, "withdraw": 403, "cancel": 403},
    "operator": {"approve": 403, "publish": 403, "withdraw": 403, "cancel": 200},
    "publisher": {"approve": 403, "publish": 200, "withdraw": 200, "cancel": 403},
    "nobody": {"approve": 403, "publish": 403, "withdraw": 403, "cancel": 403},
}


@pytest.mark.parametrize("group", DECISIONS)
def test_each_group_decides_its_own_things(group: str) -> None:
    board = _board_with_run()
    entry = publish_board(board=board, actor="organizer:ann", reason="x", at=AT).board.entries.get()
    review = make_approved_run(system="Second").review
    subjects = {
        "approve": ("evaluation_publicationreview", review.pk),
        "publish": ("leaderboard_board", board.pk),
        "withdraw": ("leaderboard_entry", entry.pk),
        "cancel": ("evaluation_job", review.job.pk),
    }
    client = member(group)
    found = {
        name: client.get(reverse(f"admin:{page}_decide", args=[pk, name])).status_code
        for name, (page, pk) in subjects.items()
    }
    assert found == DECISIONS[group]


def test_a_publisher_publishes_with_a_reason_and_sees_why_a_second_time_is_refused() -> None:
    board = _board_with_run()
    client = member("publisher")
    url = reverse("admin:leaderboard_board_decide", args=[board.pk, "publish"])
    assert client.post(url, {"reason": ""}).status_code == 200
    assert not Snapshot.objects.exists()
    page = reverse("admin:leaderboard_board_change", args=[board.pk])
    assert "Mnemo" in client.get(page).content.decode()
    assert client.post(url, {"reason": "All reviewed."}).status_code == 302
    assert Snapshot.objects.get().number == 1
    again = client.post(url, {"reason": "Once more."}, follow=True)
    assert "No approved result waits" in again.content.decode()


def test_a_publisher_withdraws_an_entry_and_the_snapshot_page_checks_its_digest() -> None:
    publish_board(board=_board_with_run(), actor="organizer:ann", reason="x", at=AT)
    client = member("publisher")
    entry = Entry.objects.get()
    url = reverse("admin:leaderboard_entry_decide", args=[entry.pk, "withdraw"])
    client.post(url, {"reason": "Wrong version."})
    entry.refresh_from_db()
    assert (entry.state, entry.withdrawn_reason) == ("withdrawn", "Wrong version.")
    snapshot = Snapshot.objects.order_by("-number").first()
    text = client.get(reverse("admin:leaderboard_snapshot_change", args=[snapshot.pk])).content.decode()
    assert "The content is what the digest says." in text


def test_a_publisher_opens_a_board_by_the_rules_of_the_cycle() -> None:
    cycle = make_cycle()
    client = member("publisher")
    url = reverse("admin:leaderboard_board_add")
    wrong = client.post(url, {"cycle": cycle.pk, "track": "multimodal", "division": "commercial"})
    assert "does not evaluate that track" in wrong.content.decode()
    assert client.post(url, {"cycle": cycle.pk, "track": "coding", "division": "commercial"}).status_code == 302
    assert Board.objects.get().track == "coding"


def test_a_boards_page_cannot_be_saved_by_hand() -> None:
    board = _board_with_run()
    client = root()
    url = reverse("admin:leaderboard_board_change", args=[board.pk])
    assert 'name="_save"' not in client.get(url).content.decode()
    client.post(url, {"cycle": board.cycle.pk, "track": "coding", "division": "commercial"})
    board.refresh_from_db()
    assert board.track == "textual"
