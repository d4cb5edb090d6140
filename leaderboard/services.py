"""Writes of the leaderboard room: opening a board, publishing it, withdrawing an entry."""

from collections.abc import Sequence
from datetime import datetime

from django.db import transaction
from django.db.models import QuerySet
from django.urls import reverse
from django.utils.translation import gettext as _

from evaluation.models import Job, PublicationReview
from leaderboard.facts import entry_facts
from leaderboard.freshness import mark_publication
from leaderboard.models import Board, Entry, Snapshot
from leaderboard.selectors import awaiting_publication
from leaderboard.snapshots import build_payload, digest_of
from submissions.audit import append_event
from submissions.models import Cycle, Division, Track, Version
from submissions.outbox import queue_mail
from submissions.refusals import Refusal, require_reason


@transaction.atomic
def open_board(*, cycle: Cycle, track: str, division: str, actor: str, at: datetime) -> Board:
    """The board of `cycle`, `track` and `division`, made when it is not there yet."""
    check_board(cycle=cycle, track=track, division=division)
    board, created = Board.objects.get_or_create(cycle=cycle, track=track, division=division)
    if created:
        append_event(actor=actor, action="board.opened", subject=board, at=at)
    return board


def check_board(*, cycle: Cycle, track: str, division: str) -> None:
    """Raise Refusal unless `cycle` can have this board."""
    if track not in cycle.tracks:
        raise Refusal("track_not_in_cycle", _("This cycle does not evaluate that track. Choose one of its tracks."))
    if division not in Division.values:
        raise Refusal("division_unknown", _("There is no such division."), status=422)


@transaction.atomic
def publish_board(*, board: Board, actor: str, reason: str, at: datetime) -> Snapshot:
    """Make an entry of each approved run that has none, and take the next snapshot of the board.

    Raises Refusal when nothing is new, when the cycle is a draft, without a reason, when the runs would stand beside
    runs of another release, or when a system would stand on the board twice.
    """
    require_reason(reason)
    board = _lock(board)
    if board.cycle.state == Cycle.State.DRAFT:
        raise Refusal("cycle_is_draft", _("The cycle is a draft that readers can't see. Open the cycle first."))
    reviews = _lock_waiting(board)
    if not reviews:
        raise Refusal("nothing_to_publish", _("No approved result waits for this board; it stands as it is."))
    _require_one_release(board, reviews)
    _require_one_run_of_a_system(board, reviews)
    entries = [_make_entry(board, review, actor=actor, reason=reason, at=at) for review in reviews]
    snapshot = _take_snapshot(board, actor=actor, reason=reason, at=at)
    for entry in entries:
        _tell_team(entry, at)
    return snapshot


@transaction.atomic
def withdraw_entry(*, entry: Entry, actor: str, reason: str, at: datetime) -> Snapshot:
    """Take an entry off its board and leave a tombstone with `reason`, which the public reads; then a new snapshot.

    Raises Refusal without a reason, or when the entry is withdrawn already.
    """
    require_reason(reason)
    board = _lock(entry.board)
    entry = Entry.objects.get(pk=entry.pk)
    if entry.state == Entry.State.WITHDRAWN:
        raise Refusal("entry_withdrawn", _("This entry is withdrawn already."))
    entry.state = Entry.State.WITHDRAWN
    entry.withdrawn_at = at
    entry.withdrawn_reason = reason.strip()
    entry.save(update_fields=["state", "withdrawn_at", "withdrawn_reason"])
    append_event(
        actor=actor,
        action="entry.withdrawn",
        subject=entry,
        reason=reason,
        before={"state": Entry.State.PUBLISHED.value},
        after={"state": Entry.State.WITHDRAWN.value},
        at=at,
    )
    return _take_snapshot(board, actor=actor, reason=reason, at=at)


def _lock(board: Board) -> Board:
    """The board, locked so that two publications of it come one after the other."""
    Board.objects.select_for_update(no_key=True).get(pk=board.pk)
    return Board.objects.select_related("cycle").get(pk=board.pk)


def _lock_waiting(board: Board) -> list[PublicationReview]:
    """The runs that wait for `board`, locked with their versions: nobody returns or suspends one in between.

    They are read again once they are locked, since PostgreSQL gives a statement that waited for a lock its old view.
    """
    found = list(awaiting_publication(board).values_list("pk", "job__version_id"))
    waiting, versions = [pk for pk, _version in found], {version for _pk, version in found}
    for rows in (Version.objects.filter(pk__in=versions), PublicationReview.objects.filter(pk__in=waiting)):
        list(rows.order_by("pk").select_for_update(no_key=True).values_list("pk"))
    return list(awaiting_publication(board).filter(pk__in=waiting))


def _require_one_run_of_a_system(board: Board, reviews: Sequence[PublicationReview]) -> None:
    """A system has one standing entry on a board: which of its runs that is, a person decides and not the order."""
    standing = {entry.job.version.system_id: entry for entry in _standing(board)}
    chosen: dict[int, Job] = {}
    for job in (review.job for review in reviews):
        system = job.version.system_id
        if system in standing:
            raise _stands_already(standing[system], job)
        if chosen.setdefault(system, job) is not job:
            raise _waits_twice(chosen[system], job)


def _stands_already(entry: Entry, job: Job) -> Refusal:
    message = _("%(entry)s stands on this board. Withdraw it, or return the approved run “%(run)s” of %(version)s.")
    values = {"entry": entry, "run": job.run_label, "version": job.version}
    return Refusal("system_published", message % values, details={"entry": str(entry.pk), "run": str(job.pk)})


def _waits_twice(first: Job, second: Job) -> Refusal:
    message = _(
        "Two approved runs of one system wait: “%(first)s” of %(first_version)s and “%(second)s” of "
        "%(second_version)s. Return one of them."
    )
    values = {
        "first": first.run_label,
        "first_version": first.version,
        "second": second.run_label,
        "second_version": second.version,
    }
    return Refusal("system_waits_twice", message % values, details={"runs": [str(first.pk), str(second.pk)]})


def _standing(board: Board) -> QuerySet[Entry]:
    return board.entries.published().select_related("job__version")


def _require_one_release(board: Board, reviews: Sequence[PublicationReview]) -> None:
    """Scores of two releases can't be compared, so they never stand on one board."""
    standing = board.entries.published().values_list("job__baseline_digest", flat=True)
    digests = {*standing, *(review.job.baseline_digest for review in reviews)}
    if len(digests) > 1:
        raise Refusal(
            "release_mixed",
            _(
                "The runs of this board would come from different releases. "
                "Return the runs of the other release, or withdraw its entries first."
            ),
            details={"releases": sorted(digests)},
        )


def _make_entry(board: Board, review: PublicationReview, *, actor: str, reason: str, at: datetime) -> Entry:
    job, version = review.job, review.job.version
    entry = Entry.objects.create(
        board=board,
        job=job,
        team_name=version.system.team.name,
        system_name=version.system.name,
        version_label=version.label,
        score=job.result.overall,
        n=job.result.n,
        facts=entry_facts(job.result),
        published_at=at,
    )
    append_event(
        actor=actor,
        action="entry.published",
        subject=entry,
        reason=reason,
        after={"job": str(job.pk), "result_digest": job.result.digest},
        at=at,
    )
    return entry


def _take_snapshot(board: Board, *, actor: str, reason: str, at: datetime) -> Snapshot:
    previous = board.snapshots.order_by("-number").first()
    number = previous.number + 1 if previous else 1
    entries = list(board.entries.all())
    payload = build_payload(board=board, number=number, entries=entries, previous=previous, at=at)
    snapshot = Snapshot.objects.create(
        board=board, number=number, created_at=at, payload=payload, digest=digest_of(payload)
    )
    append_event(
        actor=actor,
        action="board.published",
        subject=board,
        reason=reason,
        before={"snapshot": previous.number if previous else None},
        after={"snapshot": number, "digest": snapshot.digest},
        at=at,
    )
    transaction.on_commit(mark_publication, robust=True)
    return snapshot


def _tell_team(entry: Entry, at: datetime) -> None:
    job, key = entry.job, entry.job.key
    if key is None:
        return
    queue_mail(
        event="result_published",
        to=key.contact_email,
        language=key.language,
        context={
            "team": entry.team_name,
            "system": entry.system_name,
            "version": entry.version_label,
            "run_label": job.run_label,
            "track": Track(job.track).label,
            "division": Division(entry.board.division).label,
            "page_path": _path_without_language(reverse("leaderboard:entry", args=[entry.pk])),
        },
        at=at,
    )


def _path_without_language(path: str) -> str:
    return "/" + path.split("/", 2)[2]
