"""Letters: written in the transaction that causes them, sent by a task, tried again with growing pauses.

A letter is a triplet `templates/emails/<event>.subject.txt`, `.txt` and `.html`, rendered in the reader's language when
it is queued. Letters carry no secret, no link that opens something without one, and no score of an unpublished run.
"""

import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.core.mail import EmailMultiAlternatives
from django.db import transaction
from django.template.loader import render_to_string
from django.utils import translation

from submissions.audit import append_event
from submissions.models import OutboxMail

log = logging.getLogger(__name__)

_VERSION = ("team", "system", "version")
_RUN = (*_VERSION, "track", "run_label")

EVENTS: Mapping[str, tuple[str, ...]] = {
    "request_received": (*_VERSION, "cycle"),
    "request_changes": (*_VERSION, "note"),
    "request_approved": (*_VERSION, "makes_key"),
    "request_rejected": (*_VERSION, "reason"),
    "version_suspended": (*_VERSION, "reason"),
    "version_disqualified": (*_VERSION, "reason"),
    "smoke_finished": (*_RUN, "succeeded"),
    "full_finished": (*_RUN, "succeeded"),
    "quota_refunded": (*_RUN, "mode", "reason"),
    "result_returned": (*_RUN, "reason"),
    "result_disqualified": (*_RUN, "reason"),
    "result_published": (*_RUN, "division", "page_path"),
    "organizer_work": (*_VERSION, "is_request"),
    "key_rotated": ("team", "public_id", "old_public_id", "old_ends_at"),
}
"""Each event with the names that its context must hold.

`team`, `system`, `version` and `run_label` are plain names; `track`, `mode` and `division` labels, lazy ones at best
(`Track(job.track).label`); `succeeded`, `makes_key` and `is_request` truth values; `reason` and `note` what organizers
wrote or what happened; `page_path` the path of a public page without its language, such as
"/leaderboard/entry/<id>/"; and `old_ends_at` a time.
"""

PAUSES = tuple(timedelta(minutes=minutes) for minutes in (1, 5, 15, 60, 240, 720, 1440))
"""Waits between tries; after the last one the letter has failed."""

SENDING = timedelta(minutes=5)
"""For so long a letter that is being sent is nobody else's."""

_KEY = re.compile(r"aml_(?:live|test)_[0-9A-Za-z]{8,}")


@dataclass(frozen=True)
class Letter:
    """A rendered letter."""

    subject: str
    text: str
    html: str


def render_letter(*, event: str, language: str, context: Mapping[str, Any]) -> Letter:
    """Render the triplet of `event`. Raises ValueError for an unknown event, a missing name, or a key in the text."""
    missing = [name for name in _names(event) if name not in context]
    if missing:
        raise ValueError(f"The letter {event} needs {', '.join(missing)} in its context.")
    with translation.override(language):
        full = {**context, **_addresses(context), "language": language}
        letter = Letter(
            subject=" ".join(render_to_string(f"emails/{event}.subject.txt", full).split())[:200],
            text=render_to_string(f"emails/{event}.txt", full).strip() + "\n",
            html=render_to_string(f"emails/{event}.html", full),
        )
    if _KEY.search(letter.subject + letter.text + letter.html):
        raise ValueError(f"The letter {event} holds a Leaderboard Key; letters never do.")
    return letter


def queue_mail(*, event: str, to: str, language: str, context: Mapping[str, Any], at: datetime) -> OutboxMail | None:
    """Write a letter, due at `at`, into the caller's transaction. Without an address there is none."""
    if not to:
        return None
    letter = render_letter(event=event, language=language, context=context)
    return OutboxMail.objects.create(
        event=event,
        to=to,
        language=language,
        subject=letter.subject,
        text=letter.text,
        html=letter.html,
        next_attempt_at=at,
    )


def tell_organizers(*, context: Mapping[str, Any], at: datetime) -> None:
    """Write `organizer_work` to each address of AML_ORGANIZER_EMAILS, into the caller's transaction."""
    for address in settings.AML_ORGANIZER_EMAILS:
        queue_mail(event="organizer_work", to=address, language=settings.AML_ORGANIZER_LANGUAGE, context=context, at=at)


def send_waiting(at: datetime, *, limit: int = 50) -> int:
    """Send what is due at `at`; returns how many left. Never raises for a mail server's fault.

    A letter is taken by one conditional UPDATE, so two senders at once do not send it twice; one that dies between
    sending and writing that down sends it again after five minutes.
    """
    due = OutboxMail.objects.filter(state=OutboxMail.State.WAITING, next_attempt_at__lte=at)
    sent = 0
    for mail in due.order_by("next_attempt_at", "pk")[:limit]:
        if _take(mail, at):
            sent += _send(mail, at)
    return sent


@transaction.atomic
def requeue_mail(*, mail: OutboxMail, actor: str, reason: str = "", at: datetime) -> None:
    """Try a failed letter again from the start; any other stays as it is."""
    failed = OutboxMail.objects.filter(pk=mail.pk, state=OutboxMail.State.FAILED)
    if failed.update(state=OutboxMail.State.WAITING, attempts=0, next_attempt_at=at):
        append_event(
            actor=actor,
            action="letter.requeued",
            subject=mail,
            reason=reason,
            before={"state": OutboxMail.State.FAILED.value, "attempts": mail.attempts},
            after={"state": OutboxMail.State.WAITING.value},
            at=at,
        )


def _take(mail: OutboxMail, at: datetime) -> bool:
    taken = OutboxMail.objects.filter(
        pk=mail.pk, state=OutboxMail.State.WAITING, attempts=mail.attempts, next_attempt_at__lte=at
    ).update(attempts=mail.attempts + 1, next_attempt_at=at + SENDING)
    mail.attempts += taken
    return taken == 1


def _send(mail: OutboxMail, at: datetime) -> bool:
    message = EmailMultiAlternatives(mail.subject, mail.text, settings.DEFAULT_FROM_EMAIL, [mail.to])
    message.attach_alternative(mail.html, "text/html")
    message.extra_headers = {"Auto-Submitted": "auto-generated", "Content-Language": mail.language}
    try:
        message.send()
    except Exception as error:  # whatever a mail server or its library does, the next letter must still leave
        _note_failure(mail, error, at)
        return False
    OutboxMail.objects.filter(pk=mail.pk).update(state=OutboxMail.State.SENT, sent_at=at, last_error="")
    return True


def _note_failure(mail: OutboxMail, error: Exception, at: datetime) -> None:
    code = getattr(error, "smtp_code", "")
    what = f"{type(error).__name__} {code}".strip()
    log.warning("letter %s (%s) was not sent, try %s: %s", mail.pk, mail.event, mail.attempts, what)
    is_last = mail.attempts > len(PAUSES)
    OutboxMail.objects.filter(pk=mail.pk).update(
        state=OutboxMail.State.FAILED if is_last else OutboxMail.State.WAITING,
        next_attempt_at=at if is_last else at + PAUSES[mail.attempts - 1],
        last_error=what[:200],
    )


def _names(event: str) -> tuple[str, ...]:
    if event not in EVENTS:
        raise ValueError(f"There is no letter {event}; submissions/outbox.py lists them.")
    return EVENTS[event]


def _addresses(context: Mapping[str, Any]) -> dict[str, str]:
    """Absolute addresses in the active language."""
    site = settings.AML_SITE_URL
    prefix = f"/{translation.get_language()}"
    return {
        "site_url": site + prefix + "/",
        "evaluation_url": f"{site}{prefix}/evaluation/",
        "admin_url": f"{site}{prefix}/{settings.AML_ADMIN_PATH}/",
        "page_url": f"{site}{prefix}{context['page_path']}" if context.get("page_path") else "",
        "privacy_url": f"{site}{prefix}/privacy/",
    }
