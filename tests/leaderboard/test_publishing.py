"""Publishing a board and withdrawing an entry."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from io import StringIO
from threading import Event
from time import sleep

import pytest
from django.core.management import CommandError, call_command
from django.db import DatabaseError, connection, transaction

from evaluation.models import Job, PublicationReview
from evaluation.reviews import return_publication
from leaderboard.facts import FACTS
from leaderboard.models import Entry, ImmutableError, Snapshot
from leaderboard.services import open_board, publish_board, withdraw_entry
from leaderboard.snapshots import digest_of, is_intact
from submissions.append_only import drop_triggers
from submissions.models import AuditEvent, Cycle, OutboxMail, Version
from submissions.refusals import Refusal
from submissions.services import suspend_version
from tests.leaderboard.builders import (
    AT,
    PRIVATE,
    make_approved_run,
    make_board,
    make_cycle,
    make_release,
    make_version,
)

pytestmark = pytest.mark.django_db
WHO = {"actor": "organizer:ann", "reason": "Reviewed."}


def test_publishing_makes_an_entry_of_each_approved_run_and_takes_a_snapshot() -> None:
    make_approved_run(0.4, system="Low")
    make_approved_run(0.7, system="High")
    snapshot = publish_board(board=make_board(), at=AT, **WHO)
    assert snapshot.number == 1
    assert [(row["rank"], row["system"], row["n"]) for row in snapshot.payload["entries"]] == [
        (1, "High", 60),
        (2, "Low", 60),
    ]
    assert Entry.objects.count() == 2


def test_equal_scores_share_a_rank_and_the_next_rank_is_left_out() -> None:
    for name, score in (("A", 0.5), ("B", 0.5), ("C", 0.3)):
        make_approved_run(score, system=name)
    rows = publish_board(board=make_board(), at=AT, **WHO).payload["entries"]
    assert [(row["system"], row["rank"], row["tied"]) for row in rows] == [
        ("A", 1, True),
        ("B", 1, True),
        ("C", 3, False),
    ]


def test_publishing_again_without_anything_new_is_refused_and_changes_nothing() -> None:
    make_approved_run()
    board = make_board()
    publish_board(board=board, at=AT, **WHO)
    with pytest.raises(Refusal) as refusal:
        publish_board(board=board, at=AT, **WHO)
    assert refusal.value.code == "nothing_to_publish"
    assert Snapshot.objects.count() == 1


def test_a_second_publication_names_the_digest_of_the_first() -> None:
    board = make_board()
    make_approved_run(system="One")
    first = publish_board(board=board, at=AT, **WHO)
    make_approved_run(system="Two")
    second = publish_board(board=board, at=AT + timedelta(days=1), **WHO)
    assert (second.number, second.payload["previous"]) == (2, first.digest)


def _returned() -> None:
    make_approved_run()
    PublicationReview.objects.update(state=PublicationReview.State.RETURNED)


def _pending() -> None:
    make_approved_run()
    PublicationReview.objects.update(state=PublicationReview.State.PENDING)


def _suspended() -> None:
    make_approved_run()
    Version.objects.update(state=Version.State.SUSPENDED)


def _other_division() -> None:
    make_approved_run(division="commercial")


@pytest.mark.parametrize("prepare", [_returned, _pending, _suspended, _other_division])
def test_what_is_not_approved_for_this_board_stays_private(prepare) -> None:
    prepare()
    with pytest.raises(Refusal) as refusal:
        publish_board(board=make_board(), at=AT, **WHO)
    assert refusal.value.code == "nothing_to_publish"


def test_runs_of_two_releases_never_stand_on_one_board() -> None:
    board = make_board()
    make_approved_run(system="One", release=make_release("one"))
    publish_board(board=board, at=AT, **WHO)
    make_approved_run(system="Two", release=make_release("two"))
    with pytest.raises(Refusal) as refusal:
        publish_board(board=board, at=AT, **WHO)
    assert refusal.value.code == "release_mixed"
    assert Entry.objects.count() == 1


def test_a_system_never_stands_on_a_board_twice() -> None:
    board = make_board()
    first, second = make_approved_run(0.4, system="One"), make_approved_run(0.6, system="One")
    make_approved_run(0.5, system="Two")
    with pytest.raises(Refusal) as refusal:
        publish_board(board=board, at=AT, **WHO)
    assert refusal.value.code == "system_waits_twice"
    assert refusal.value.details == {"runs": [str(first.pk), str(second.pk)]}
    assert "One v1" in str(refusal.value.message)
    assert "One v2" in str(refusal.value.message)
    return_publication(review=first.review, at=AT, **WHO)
    publish_board(board=board, at=AT, **WHO)
    assert sorted(Entry.objects.values_list("system_name", "score")) == [("One", 0.6), ("Two", 0.5)]


def test_a_better_run_waits_until_the_entry_of_its_system_is_withdrawn() -> None:
    board = make_board()
    make_approved_run(0.4, system="One")
    publish_board(board=board, at=AT, **WHO)
    make_approved_run(0.6, system="One")
    with pytest.raises(Refusal) as refusal:
        publish_board(board=board, at=AT, **WHO)
    assert (refusal.value.code, Entry.objects.count()) == ("system_published", 1)
    withdraw_entry(entry=Entry.objects.get(), at=AT, **WHO)
    rows = publish_board(board=board, at=AT, **WHO).payload["entries"]
    assert [row["score"] for row in rows] == [0.6]


def suspend(job: Job) -> None:
    suspend_version(version=job.version, actor="organizer:ann", reason="Under question.", at=AT)


def give_back(job: Job) -> None:
    return_publication(review=job.review, actor="organizer:ann", reason="Look again.", at=AT)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("stop", [suspend, give_back])
def test_what_is_stopped_while_a_board_is_published_stays_off_it(stop: Callable[[Job], None]) -> None:
    job, board = make_approved_run(), make_board()
    is_stopped = Event()

    def stop_slowly() -> None:
        with transaction.atomic():
            stop(job)
            is_stopped.set()
            sleep(0.5)
        connection.close()

    def publish() -> str:
        is_stopped.wait(10)
        with pytest.raises(Refusal) as refusal:
            publish_board(board=board, at=AT, **WHO)
        connection.close()
        return refusal.value.code

    with ThreadPoolExecutor(2) as pool:
        slow, outcome = pool.submit(stop_slowly), pool.submit(publish)
        slow.result()
        assert outcome.result() == "nothing_to_publish"
    assert not Entry.objects.exists()


def test_a_draft_cycle_is_not_published() -> None:
    make_approved_run()
    Cycle.objects.update(state=Cycle.State.DRAFT)
    with pytest.raises(Refusal) as refusal:
        publish_board(board=make_board(), at=AT, **WHO)
    assert refusal.value.code == "cycle_is_draft"


@pytest.mark.parametrize("reason", ["", "  \n"])
def test_both_decisions_want_a_reason(reason: str) -> None:
    make_approved_run()
    board = make_board()
    with pytest.raises(Refusal) as refusal:
        publish_board(board=board, actor="organizer:ann", reason=reason, at=AT)
    assert refusal.value.code == "reason_missing"
    publish_board(board=board, at=AT, **WHO)
    with pytest.raises(Refusal) as refusal:
        withdraw_entry(entry=Entry.objects.get(), actor="organizer:ann", reason=reason, at=AT)
    assert refusal.value.code == "reason_missing"


def test_an_entry_holds_the_allowed_facts_and_nothing_private() -> None:
    make_approved_run()
    snapshot = publish_board(board=make_board(), at=AT, **WHO)
    entry = Entry.objects.get()
    assert set(entry.facts) == FACTS
    assert set(snapshot.payload["entries"][0]) == FACTS | {"id", "rank", "tied", "published_at"}
    assert entry.facts["efficiency"] == {"add_p50_ms": 12.5, "search_p95_ms": 80.25}
    assert entry.facts["bundles"] == {"own": {"digest": "b" * 64, "counts": {"questions": 60}}}
    assert entry.facts["answer"] == {"backend": "offline", "model": "offline.extract.v1"}
    text = str(snapshot.payload)
    for private in (PRIVATE, "private-label", "private.example", "base_url_host"):
        assert private not in text


def test_a_commercial_product_shows_no_repository() -> None:
    make_approved_run(division="commercial")
    publish_board(board=make_board(division="commercial"), at=AT, **WHO)
    assert Entry.objects.get().facts["openness"] == {}


def test_the_team_is_told_in_its_language_without_a_score() -> None:
    make_approved_run(0.61237, language="zh-hans")
    publish_board(board=make_board(), at=AT, **WHO)
    mail = OutboxMail.objects.get(event="result_published")
    assert mail.language == "zh-hans"
    assert f"/zh-hans/leaderboard/entries/{Entry.objects.get().pk}/" in mail.text
    assert "61.2" not in mail.text + mail.html
    assert "0.612" not in mail.text + mail.html


def test_publication_and_withdrawal_leave_audit_rows_with_actor_reason_and_time() -> None:
    make_approved_run()
    publish_board(board=make_board(), at=AT, **WHO)
    withdraw_entry(entry=Entry.objects.get(), actor="organizer:bob", reason="Wrong version.", at=AT)
    assert set(AuditEvent.objects.values_list("at", flat=True)) == {AT}
    rows = list(AuditEvent.objects.order_by("sequence").values_list("action", "actor", "reason"))
    assert rows == [
        ("entry.published", "organizer:ann", "Reviewed."),
        ("board.published", "organizer:ann", "Reviewed."),
        ("entry.withdrawn", "organizer:bob", "Wrong version."),
        ("board.published", "organizer:bob", "Wrong version."),
    ]


def test_a_withdrawn_entry_leaves_the_next_snapshot_as_a_tombstone_and_ranks_close_up() -> None:
    make_approved_run(0.9, system="Gone")
    make_approved_run(0.5, system="Stays")
    first = publish_board(board=make_board(), at=AT, **WHO)
    gone = Entry.objects.get(system_name="Gone")
    second = withdraw_entry(entry=gone, actor="organizer:bob", reason="Wrong version.", at=AT + timedelta(hours=1))
    assert [(row["system"], row["rank"]) for row in second.payload["entries"]] == [("Stays", 1)]
    assert [(stone["system"], stone["reason"]) for stone in second.payload["withdrawn"]] == [("Gone", "Wrong version.")]
    assert "score" not in second.payload["withdrawn"][0]
    first.refresh_from_db()
    assert len(first.payload["entries"]) == 2
    with pytest.raises(Refusal) as refusal:
        withdraw_entry(entry=gone, at=AT, **WHO)
    assert refusal.value.code == "entry_withdrawn"


def test_the_digest_survives_the_database_and_finds_a_changed_content() -> None:
    make_approved_run(1 / 3, system="Drittel")
    make_approved_run(0.1 + 0.2, system="名字")
    publish_board(board=make_board(), at=AT, **WHO)
    snapshot = Snapshot.objects.get()
    assert is_intact(snapshot)
    assert digest_of(dict(reversed(list(snapshot.payload.items())))) == snapshot.digest
    snapshot.payload["entries"][0]["score"] += 1e-9
    assert not is_intact(snapshot)


def test_the_same_facts_at_the_same_moment_give_the_same_digest() -> None:
    make_approved_run(system="One")
    snapshot = publish_board(board=make_board(), at=AT, **WHO)
    assert digest_of(snapshot.payload) == digest_of(Snapshot.objects.get().payload)


def test_the_code_refuses_to_change_or_delete_a_snapshot() -> None:
    make_approved_run()
    snapshot = publish_board(board=make_board(), at=AT, **WHO)
    with pytest.raises(ImmutableError):
        snapshot.save()
    with pytest.raises(ImmutableError):
        snapshot.delete()


def test_the_database_refuses_to_change_or_delete_a_snapshot() -> None:
    make_approved_run()
    publish_board(board=make_board(), at=AT, **WHO)
    with pytest.raises(DatabaseError), transaction.atomic():
        Snapshot.objects.update(number=7)
    with pytest.raises(DatabaseError), transaction.atomic():
        Snapshot.objects.all()._raw_delete("default")
    assert Snapshot.objects.get().number == 1


def test_the_command_proves_the_snapshots_and_names_a_changed_one() -> None:
    board = make_board()
    for number in range(3):
        make_approved_run(system=f"System {number}")
        publish_board(board=board, at=AT, **WHO)
    out = StringIO()
    call_command("verify_snapshots", stdout=out)
    assert "3 snapshots are whole" in out.getvalue()
    drop_triggers(connection, "leaderboard_snapshot")
    second = Snapshot.objects.get(number=2)
    Snapshot.objects.filter(pk=second.pk).update(payload={**second.payload, "entries": []})
    with pytest.raises(CommandError, match="#2: its content"):
        call_command("verify_snapshots")
    Snapshot.objects.filter(pk=second.pk)._raw_delete("default")
    with pytest.raises(CommandError, match="#3: it does not follow"):
        call_command("verify_snapshots")


@pytest.mark.django_db(transaction=True)
def test_two_organizers_who_publish_at_once_publish_once() -> None:
    make_approved_run()
    board = make_board()

    def publish(_number: int) -> str:
        try:
            publish_board(board=board, at=AT, **WHO)
        except Refusal as refusal:
            return refusal.code
        finally:
            connection.close()
        return "published"

    with ThreadPoolExecutor(4) as pool:
        outcomes = sorted(pool.map(publish, range(4)))
    assert outcomes == ["nothing_to_publish"] * 3 + ["published"]
    assert (Entry.objects.count(), Snapshot.objects.count()) == (1, 1)


def test_a_board_opens_once_and_only_for_a_track_of_its_cycle() -> None:
    cycle = make_cycle()
    first = open_board(cycle=cycle, track="textual", division="commercial", actor="organizer:ann", at=AT)
    again = open_board(cycle=cycle, track="textual", division="commercial", actor="organizer:ann", at=AT)
    assert first == again
    with pytest.raises(Refusal) as refusal:
        open_board(cycle=cycle, track="multimodal", division="commercial", actor="organizer:ann", at=AT)
    assert refusal.value.code == "track_not_in_cycle"


def test_a_version_that_never_ran_stands_nowhere() -> None:
    make_version("Idle")
    make_approved_run(system="Busy")
    snapshot = publish_board(board=make_board(), at=AT, **WHO)
    assert "Idle" not in str(snapshot.payload)
