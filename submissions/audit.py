"""The audit chain: append a row, and prove that none was changed, removed or put in between.

Each row's digest covers the row's content and the digest of the row before. The head row holds the last digest; it is
locked while a row is appended, so rows come in one order. Database triggers refuse UPDATE and DELETE; whoever takes
the triggers away breaks the chain, and whoever cuts its end off disagrees with the head.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any

from django.db import models, transaction
from django.utils import timezone

from submissions.models import AuditEvent, AuditHead

GENESIS = "0" * 64


@dataclass(frozen=True)
class ChainReport:
    """Outcome of a check: rows read, the head's digest, and at a break its number and what is wrong there."""

    count: int
    head: str
    broken_at: int | None = None
    problem: str = ""

    @property
    def is_whole(self) -> bool:
        return self.broken_at is None


@transaction.atomic
def append_event(
    *,
    actor: str,
    action: str,
    subject: models.Model,
    reason: str = "",
    before: Mapping[str, Any] | None = None,
    after: Mapping[str, Any] | None = None,
    at: datetime | None = None,
) -> AuditEvent:
    """Append one row in the caller's transaction.

    `actor` is "organizer:<user name>", "key:<public id>", "receipt:<request id>" or "platform"; `action` a stable
    word such as "access_request.approved"; `before` and `after` hold JSON values, times and ids, and no secrets.
    """
    head, _created = AuditHead.objects.select_for_update().get_or_create(pk=1)
    event = AuditEvent(
        sequence=head.sequence + 1,
        at=(at or timezone.now()).astimezone(UTC),
        actor=_clean_text(actor),
        action=action,
        subject_type=subject._meta.label_lower,
        subject_id=str(subject.pk),
        reason=_clean_text(reason),
        before=_clean(before or {}),
        after=_clean(after or {}),
        previous_digest=head.digest,
    )
    event.digest = digest_of(event)
    event.save(force_insert=True)
    head.sequence, head.digest = event.sequence, event.digest
    head.save(update_fields=["sequence", "digest"])
    return event


def verify_chain() -> ChainReport:
    """Walk the whole chain and compare it with the head."""
    previous, count = GENESIS, 0
    for event in AuditEvent.objects.order_by("sequence").iterator():
        problem = _problem(event, expected=count + 1, previous=previous)
        if problem:
            return ChainReport(count, previous, count + 1, problem)
        previous, count = event.digest, count + 1
    head = AuditHead.objects.filter(pk=1).first()
    if (head.sequence, head.digest) != (count, previous) if head else count > 0:
        return ChainReport(count, previous, count + 1, "the head names another last row: rows are missing at the end")
    return ChainReport(count, previous)


def digest_of(event: AuditEvent) -> str:
    """SHA-256 over the canonical JSON of the row's content and of the digest before it."""
    content = [
        event.sequence,
        event.at.astimezone(UTC).isoformat(timespec="microseconds"),
        event.actor,
        event.action,
        event.subject_type,
        event.subject_id,
        event.reason,
        event.before,
        event.after,
        event.previous_digest,
    ]
    text = json.dumps(content, ensure_ascii=True, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _problem(event: AuditEvent, *, expected: int, previous: str) -> str:
    if event.sequence != expected:
        return f"row {expected} is missing"
    if event.previous_digest != previous:
        return "it does not follow from the row before"
    if event.digest != digest_of(event):
        return "its content is not what was written"
    return ""


def _clean(value: Any) -> Any:
    """Turn `value` into JSON that reads back the same from both databases: no floats, no U+0000."""
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, Mapping):
        return {_clean_text(str(name)): _clean(item) for name, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        items = sorted(value, key=str) if isinstance(value, set | frozenset) else value
        return [_clean(item) for item in items]
    if isinstance(value, datetime | date):
        return value.isoformat()
    return _clean_text(str(value))


def _clean_text(text: str) -> str:
    return text.replace("\x00", "\ufffd").encode("utf-8", "replace").decode("utf-8")
