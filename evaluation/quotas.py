"""May this key start a run, how many are left, and when is the next one: one answer for page, API and error.

The ledger has a row for each charge and each refund. A charge that was not refunded has spent a slot. Quotas are
counted for a key's lineage, so that they follow a key through its rotations.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Exists, OuterRef
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from evaluation.models import Job, QuotaAccount, QuotaEntry
from submissions.models import Cycle, LeaderboardKey
from submissions.moments import moment_text
from submissions.refusals import Refusal

TOO_MANY_REQUESTS = 429


@dataclass(frozen=True, slots=True)
class Allowance:
    """What a key may do on a track in a mode. `message` says it to a person; `refusal_code` is empty when allowed.

    `next_at` is when the next run may start; None when it may start now, or when no later time in the cycle is known.
    """

    allowed: bool
    left: int
    limit: int
    next_at: datetime | None
    refusal_code: str
    message: str


def next_submission(*, key: LeaderboardKey, track: str, mode: str, at: datetime) -> Allowance:
    """Whether `key` may start a run of `mode` on `track` at `at`. Looks at the clock and the ledger only."""
    cycle = key.cycle
    spent = _spent(lineage_of=key, track=track, mode=mode)
    limit = cycle.full_limit if mode == Job.Mode.FULL else cycle.smoke_limit
    left = max(limit - len(spent), 0)

    def no(code: str, message: str, next_at: datetime | None = None) -> Allowance:
        return Allowance(False, left, limit, next_at, code, message)

    if not cycle.takes_evaluations(at):
        return no(*_closed(cycle, at))
    if left == 0:
        return no("quota_used_up", _used_up(mode, limit))
    if mode == Job.Mode.FULL and spent and spent[-1].job.ended_at is None:
        return no("previous_full_running", _("The earlier Full evaluation has not ended yet. Wait until it has."))
    next_at = _next_time(cycle, mode, spent)
    if next_at is not None and next_at > at:
        return no(*_too_early(cycle, next_at))
    return Allowance(True, left, limit, None, "", _left(left, limit))


def require(allowance: Allowance, *, at: datetime) -> None:
    """Raise the Refusal that `allowance` stands for; do nothing when it allows."""
    if allowance.allowed:
        return
    seconds = math.ceil((allowance.next_at - at).total_seconds()) if allowance.next_at else None
    closed = allowance.refusal_code in {"cycle_closed", "cycle_not_open"}
    raise Refusal(
        allowance.refusal_code,
        allowance.message,
        status=409 if closed else TOO_MANY_REQUESTS,
        retry_after_s=seconds,
        details={
            "left": allowance.left,
            "limit": allowance.limit,
            "next_at": allowance.next_at.isoformat() if allowance.next_at else None,
        },
    )


@transaction.atomic
def lock_account(*, key: LeaderboardKey, track: str, mode: str) -> QuotaAccount:
    """Take the lock that puts parallel submissions of one key, track and mode in an order. Call it first."""
    account, _created = QuotaAccount.objects.get_or_create(lineage=key.lineage, cycle=key.cycle, track=track, mode=mode)
    return QuotaAccount.objects.select_for_update(no_key=True).get(pk=account.pk)


@transaction.atomic
def charge(*, key: LeaderboardKey, job: Job, at: datetime) -> QuotaEntry:
    """Spend a slot on `job`, or raise the Refusal that says when the next one comes."""
    account = lock_account(key=key, track=job.track, mode=job.mode)
    require(next_submission(key=key, track=job.track, mode=job.mode, at=at), at=at)
    return QuotaEntry.objects.create(account=account, job=job, kind=QuotaEntry.Kind.CHARGE, reason="submitted", at=at)


@transaction.atomic
def refund(*, job: Job, reason: str, at: datetime) -> bool:
    """Give the slot of `job` back; False when it never had one or got it back before."""
    charged = QuotaEntry.objects.filter(job=job, kind=QuotaEntry.Kind.CHARGE).first()
    if charged is None:
        return False
    _entry, created = QuotaEntry.objects.get_or_create(
        job=job,
        kind=QuotaEntry.Kind.REFUND,
        defaults={"account_id": charged.account_id, "reason": reason[:60], "at": at},
    )
    return created


def was_refunded(job: Job) -> bool:
    """Whether the slot of `job` was given back."""
    return any(entry.kind == QuotaEntry.Kind.REFUND for entry in job.quota_entries.all())


def _spent(*, lineage_of: LeaderboardKey, track: str, mode: str) -> list[QuotaEntry]:
    """Charges that hold a slot, oldest first."""
    refunded = QuotaEntry.objects.filter(job=OuterRef("job"), kind=QuotaEntry.Kind.REFUND)
    charges = QuotaEntry.objects.filter(
        account__lineage=lineage_of.lineage,
        account__cycle=lineage_of.cycle_id,
        account__track=track,
        account__mode=mode,
        kind=QuotaEntry.Kind.CHARGE,
    )
    return list(charges.exclude(Exists(refunded)).select_related("job").order_by("at", "id"))


def _next_time(cycle: Cycle, mode: str, spent: Sequence[QuotaEntry]) -> datetime | None:
    if not spent:
        return None
    if mode == Job.Mode.SMOKE:
        return spent[-1].at + timedelta(minutes=cycle.smoke_interval_minutes)
    ended = [entry.job.ended_at for entry in spent if entry.job.ended_at is not None]
    return max(ended) + timedelta(days=cycle.full_gap_days)


def _closed(cycle: Cycle, at: datetime) -> tuple[str, str]:
    if cycle.opens_at is not None and at < cycle.opens_at:
        return "cycle_not_open", _("%(cycle)s opens at %(time)s.") % {
            "cycle": cycle.name,
            "time": moment_text(cycle.opens_at),
        }
    return "cycle_closed", _("%(cycle)s takes no new evaluations any more; those that run are finished.") % {
        "cycle": cycle.name
    }


def _too_early(cycle: Cycle, next_at: datetime) -> tuple[str, str, datetime | None]:
    """A next time after the close of the evaluation is no next time."""
    if cycle.evaluation_closes_at is not None and next_at > cycle.evaluation_closes_at:
        message = _("The next one could start at %(time)s, but the evaluation closes at %(close)s.")
        return (
            "quota_not_yet",
            message % {"time": moment_text(next_at), "close": moment_text(cycle.evaluation_closes_at)},
            None,
        )
    return "quota_not_yet", _("The next one may start at %(time)s.") % {"time": moment_text(next_at)}, next_at


def _used_up(mode: str, limit: int) -> str:
    if mode == Job.Mode.FULL:
        message = ngettext(
            "The %(limit)d Full evaluation of this key on this track is used up for this cycle.",
            "All %(limit)d Full evaluations of this key on this track are used up for this cycle.",
            limit,
        )
    else:
        message = ngettext(
            "The %(limit)d smoke test of this key on this track is used up for this cycle.",
            "All %(limit)d smoke tests of this key on this track are used up for this cycle.",
            limit,
        )
    return message % {"limit": limit}


def _left(left: int, limit: int) -> str:
    return _("%(left)d of %(limit)d left; one may start now.") % {"left": left, "limit": limit}
