"""What waits for the organizers: how much, since when, and where it is decided."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser, PermissionsMixin
from django.db.models import Count, Min, QuerySet
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from evaluation.models import Job, PublicationReview
from evaluation.selectors import STALLED_AFTER
from leaderboard.models import Board
from leaderboard.selectors import approved_without_entry
from submissions.models import AccessRequest, Cycle, Division, OutboxMail, Track

PLATFORM_FAILURES_FOR = timedelta(days=14)
"""How long a run that failed by the platform's fault stays in the queue."""

Organizer = AbstractBaseUser | AnonymousUser | PermissionsMixin


@dataclass(frozen=True, slots=True)
class WorkItem:
    """One line of the queue. `oldest` is since when the first one waits; `is_urgent` when something is broken."""

    name: str
    title: str | Promise
    count: int
    oldest: datetime | None
    url: str
    is_urgent: bool = False

    def age_s(self, at: datetime) -> float | None:
        """Seconds that the oldest one has waited at `at`."""
        return (at - self.oldest).total_seconds() if self.oldest else None


@dataclass(frozen=True, slots=True)
class _Queue:
    name: str
    title: str | Promise
    rows: Callable[[datetime], QuerySet[Any]]
    since: str
    page: str
    query: Callable[[datetime], dict[str, str]]
    permission: str
    is_urgent: bool = False


def _platform_failures(at: datetime) -> QuerySet[Job]:
    return Job.objects.filter(
        state=Job.State.FAILED, blame=Job.Blame.PLATFORM, ended_at__gte=at - PLATFORM_FAILURES_FOR
    )


_QUEUES = (
    _Queue(
        name="access_requests",
        title=gettext_lazy("Access requests that wait for a decision"),
        rows=lambda at: AccessRequest.objects.waiting(),
        since="submitted_at",
        page="submissions_accessrequest",
        query=lambda at: {"state__in": "submitted,in_review"},
        permission="submissions.view_accessrequest",
    ),
    _Queue(
        name="publication_reviews",
        title=gettext_lazy("Results that wait for review"),
        rows=lambda at: PublicationReview.objects.filter(state=PublicationReview.State.PENDING),
        since="created_at",
        page="evaluation_publicationreview",
        query=lambda at: {"state__exact": "pending"},
        permission="evaluation.view_publicationreview",
    ),
    _Queue(
        name="stalled_jobs",
        title=gettext_lazy("Runs without a sign of life"),
        rows=lambda at: Job.objects.stalled(at - STALLED_AFTER),
        since="heartbeat_at",
        page="evaluation_job",
        query=lambda at: {"state__exact": "running", "heartbeat_at__lt": (at - STALLED_AFTER).isoformat()},
        permission="evaluation.view_job",
        is_urgent=True,
    ),
    _Queue(
        name="platform_failures",
        title=gettext_lazy("Runs that failed by a fault of the platform"),
        rows=_platform_failures,
        since="ended_at",
        page="evaluation_job",
        query=lambda at: {
            "state__exact": "failed",
            "blame__exact": "platform",
            "ended_at__gte": (at - PLATFORM_FAILURES_FOR).isoformat(),
        },
        permission="evaluation.view_job",
        is_urgent=True,
    ),
    _Queue(
        name="failed_letters",
        title=gettext_lazy("Letters that could not be sent"),
        rows=lambda at: OutboxMail.objects.filter(state=OutboxMail.State.FAILED),
        since="created_at",
        page="submissions_outboxmail",
        query=lambda at: {"state__exact": "failed"},
        permission="submissions.view_outboxmail",
        is_urgent=True,
    ),
)


def waiting_work(user: Organizer, at: datetime) -> list[WorkItem]:
    """What waits and `user` may see, in the order of the queue; what is empty is left out."""
    items = [_item(queue, at) for queue in _QUEUES if _may(user, queue.permission)]
    if _may(user, "leaderboard.view_board"):
        items += _unpublished()
    return [item for item in items if item.count]


def _item(queue: _Queue, at: datetime) -> WorkItem:
    found = queue.rows(at).order_by().aggregate(count=Count("pk"), oldest=Min(queue.since))
    url = f"{reverse(f'admin:{queue.page}_changelist')}?{urlencode(queue.query(at))}"
    return WorkItem(queue.name, queue.title, found["count"], found["oldest"], url, queue.is_urgent)


def _unpublished() -> Iterator[WorkItem]:
    """Approved results that stand on no board, one line for each board."""
    places = ("job__cycle", "job__track", "job__version__system__division")
    found = (
        approved_without_entry().order_by(*places).values(*places).annotate(count=Count("pk"), oldest=Min("decided_at"))
    )
    for line in found:
        cycle_id, track, division = (line[place] for place in places)
        yield WorkItem(
            name="unpublished",
            title=_("Approved and not yet published: %(cycle)s, %(track)s, %(division)s")
            % {
                "cycle": Cycle.objects.get(pk=cycle_id).name,
                "track": Track(track).label,
                "division": Division(division).label,
            },
            count=line["count"],
            oldest=line["oldest"],
            url=_board_url(cycle_id, track, division),
        )


def _board_url(cycle_id: int, track: str, division: str) -> str:
    """The board where it is published; where there is none yet, the form that opens it."""
    board = Board.objects.filter(cycle=cycle_id, track=track, division=division).first()
    if board is not None:
        return reverse("admin:leaderboard_board_change", args=[board.pk])
    query = urlencode({"cycle": cycle_id, "track": track, "division": division})
    return f"{reverse('admin:leaderboard_board_add')}?{query}"


def _may(user: Organizer, permission: str) -> bool:
    return isinstance(user, AnonymousUser | PermissionsMixin) and user.has_perm(permission)
