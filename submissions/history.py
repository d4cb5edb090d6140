"""What happened to a request, in sentences for the team: read from the audit chain."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from submissions.models import AccessRequest
from submissions.selectors import events_of_request

ACTIONS: Mapping[str, Promise] = {
    "access_request.drafted": _("Saved as a draft"),
    "access_request.edited": _("Edited"),
    "access_request.submitted": _("Sent"),
    "access_request.withdrawn": _("Withdrawn"),
    "access_request.review_started": _("Review started"),
    "access_request.changes_requested": _("Changes requested"),
    "access_request.approved": _("Approved"),
    "access_request.rejected": _("Not approved"),
    "version.secret_replaced": _("Memory System Key replaced"),
    "version.secret_deleted": _("Memory System Key deleted"),
    "version.suspended": _("Version suspended"),
    "version.disqualified": _("Version disqualified"),
    "version.reinstated": _("Version approved again"),
    "version.appealed": _("Answer sent to the organizers"),
    "version.plain_http_allowed": _("Plain http allowed for full evaluations"),
}


@dataclass(frozen=True)
class Step:
    """One thing that happened; organizers are named only as such."""

    at: datetime
    title: Promise
    by_organizer: bool


def story_of(access_request: AccessRequest) -> list[Step]:
    """The steps of a request and its version that the team may read, oldest first."""
    return [
        Step(event.at, ACTIONS[event.action], event.actor.startswith("organizer:"))
        for event in events_of_request(access_request)
        if event.action in ACTIONS
    ]
