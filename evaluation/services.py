"""How a run starts and ends: submit, cancel, end. Everything else that happens to a job is the engine's."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from evaluation import admission, quotas
from evaluation.columns import evidence_head
from evaluation.failures import failure_text
from evaluation.gate import check_publication
from evaluation.models import Event, Job, PublicationReview, Receipt, Release, StageProgress
from evaluation.pipeline.baseline import pipeline_code_hash
from evaluation.tasks import wake
from submissions.audit import append_event
from submissions.keys import require_scope
from submissions.models import LeaderboardKey, Track, Version
from submissions.outbox import queue_mail, tell_organizers
from submissions.refusals import Refusal, require_reason


def submit_job(
    *,
    key: LeaderboardKey,
    version: Version,
    track: str,
    mode: str,
    run_label: str,
    add_concurrency: int,
    search_concurrency: int,
    checklist: Mapping[str, bool],
    at: datetime,
) -> Job:
    """Start a smoke test or a full evaluation: check every rule, spend a slot, put the job into the queue.

    Raises Refusal with the first rule that says no; then nothing is stored and no slot is spent.
    """
    asked = _Asked(
        key=key,
        version=version,
        track=track,
        mode=mode,
        run_label=run_label.strip(),
        add_concurrency=add_concurrency,
        search_concurrency=search_concurrency,
        ticked={code: True for code in admission.checklist_for(version) if checklist.get(code) is True},
    )
    try:
        with transaction.atomic():
            quotas.lock_account(key=key, track=track, mode=mode)
            asked = replace(asked, version=_lock_version(version))
            job = _create(asked, _admit(asked, at), at)
            _open_books(job, key, at)
    except IntegrityError as error:
        # Two runs of different modes don't wait for the same account: the table's constraints decide between them.
        admission.check_idle(key, track)
        admission.check_label(key, asked.run_label)
        raise Refusal("try_again", _("Another change came in between. Try again.")) from error
    return job


def cancel_job(*, job: Job, actor: str, at: datetime, key: LeaderboardKey | None = None, reason: str = "") -> Job:
    """End a job that nobody works on at once, or ask the worker that has it to stop. Receipts stay.

    A job of which nothing was sent gets its slot back. `key` is the one that asks; it needs the scope of the job's
    mode. Raises Refusal `scope_missing`, or `job_ended` when the job has ended already.
    """
    if key is not None:
        require_scope(key, job.mode)
    with transaction.atomic():
        locked = Job.objects.select_for_update(of=("self",)).get(pk=job.pk)
        if not locked.is_active:
            raise Refusal("job_ended", _("This run has ended already; there is nothing to cancel."))
        append_event(
            actor=actor,
            action="job.cancel_requested",
            subject=locked,
            reason=reason,
            before={"state": locked.state},
            at=at,
        )
        if _is_held(locked, at):
            Job.objects.filter(pk=locked.pk).update(cancel_requested=True)
        else:
            end_job(job_id=locked.pk, token=_take_lease(locked), state=Job.State.CANCELLED, blame="", at=at)
    job.refresh_from_db()
    return job


def cancel_job_by_organizer(*, job: Job, actor: str, reason: str, at: datetime) -> Job:
    """`cancel_job` for an organizer, who says why. Raises Refusal `reason_missing`, too."""
    require_reason(reason)
    return cancel_job(job=job, actor=actor, reason=reason, at=at)


def end_job_by_organizer(*, job: Job, actor: str, reason: str, at: datetime) -> Job:
    """End an active job as a fault of the platform; the slot comes back. A worker that has it loses its lease."""
    require_reason(reason)
    with transaction.atomic():
        locked = Job.objects.select_for_update(of=("self",)).get(pk=job.pk)
        if not locked.is_active:
            raise Refusal("job_ended", _("This run has ended already; there is nothing to end."))
        append_event(
            actor=actor,
            action="job.ended_by_organizer",
            subject=locked,
            reason=reason,
            before={"state": locked.state},
            at=at,
        )
        end_job(
            job_id=locked.pk,
            token=_take_lease(locked),
            state=Job.State.FAILED,
            blame=Job.Blame.PLATFORM,
            code="ended_by_organizer",
            detail={"reason": reason},
            at=at,
        )
    job.refresh_from_db()
    return job


@transaction.atomic
def end_job(
    *,
    job_id: Any,
    token: int,
    state: str,
    blame: str,
    code: str = "",
    detail: Mapping[str, Any] | None = None,
    at: datetime,
) -> bool:
    """Give a job its end and what follows: refund, review, letter, audit row.

    Only the holder of the lease with `token` ends a job; False means that the lease is lost or the job has ended.
    A fault of the platform gives the slot back, and so does a cancellation before anything was sent.
    """
    job = Job.objects.select_for_update(of=("self",)).filter(pk=job_id, lease_token=token).first()
    if job is None or not job.is_active:
        return False
    before = job.state
    job.state, job.blame, job.failure_code = state, blame, code[:60]
    job.failure_detail = dict(detail or {})
    job.code_sha256 = pipeline_code_hash()
    job.ended_at, job.next_wake_at, job.lease_owner, job.lease_until = at, None, "", None
    job.save(update_fields=_ENDING)
    StageProgress.objects.filter(job=job, started_at__isnull=False, ended_at=None).update(ended_at=at)
    refunded = quotas.refund(job=job, reason=code or "nothing_sent", at=at) if _deserves_refund(job) else False
    append_event(
        actor="platform",
        action="job.ended",
        subject=job,
        reason=code,
        before={"state": before},
        after={"state": state, "blame": blame, "refunded": refunded, **evidence_head(job)},
        at=at,
    )
    _open_review(job, at)
    _write_letters(job, refunded=refunded, at=at)
    return True


_ENDING = [
    "state",
    "blame",
    "failure_code",
    "failure_detail",
    "code_sha256",
    "ended_at",
    "next_wake_at",
    "lease_owner",
    "lease_until",
]


def nothing_sent(job: Job) -> bool:
    """Whether no request of the job can have gone out, so that a cancellation costs nothing.

    A first call that is still under way has left no row yet; a job that a worker has begun counts as sent.
    """
    if job.started_at is not None:
        return False
    return not Receipt.objects.filter(job=job).exists() and not Event.objects.filter(scope__job=job).exists()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """The run that somebody asks for; `ticked` holds the points of the checklist that were confirmed."""

    key: LeaderboardKey
    version: Version
    track: str
    mode: str
    run_label: str
    add_concurrency: int
    search_concurrency: int
    ticked: Mapping[str, bool]


def _lock_version(version: Version) -> Version:
    """The version as it is now; nobody suspends it before the run is in the queue."""
    rows = Version.objects.select_for_update(of=("self",), no_key=True).select_related("system__team")
    return rows.get(pk=version.pk)


def _admit(asked: _Asked, at: datetime) -> Release:
    """Let a run in under the release that it gets, or raise the first rule's Refusal."""
    key, version, track, mode = asked.key, asked.version, asked.track, asked.mode
    require_scope(key, mode)
    admission.check_bound(key, version)
    admission.check_version(key, version, track)
    admission.check_label(key, asked.run_label)
    admission.check_concurrency(version, add=asked.add_concurrency, search=asked.search_concurrency)
    if mode == Job.Mode.FULL:
        admission.check_checklist(version, asked.ticked)
    smokes = admission.passed_smokes(key, [version])
    for rule in (
        *admission.track_rules(key=key, track=track, mode=mode, at=at),
        *admission.version_rules(key=key, version=version, track=track, mode=mode, smokes=smokes),
    ):
        rule.check()
    return admission.release_for(track)


def _create(asked: _Asked, release: Release, at: datetime) -> Job:
    return Job.objects.create(
        key=asked.key,
        lineage=asked.key.lineage,
        version=asked.version,
        cycle=asked.key.cycle,
        release=release,
        track=asked.track,
        mode=asked.mode,
        run_label=asked.run_label,
        add_concurrency=asked.add_concurrency,
        search_concurrency=asked.search_concurrency,
        checklist=asked.ticked if asked.mode == Job.Mode.FULL else {},
        baseline_digest=release.digest,
        next_wake_at=at,
    )


def _open_books(job: Job, key: LeaderboardKey, at: datetime) -> None:
    """Everything that comes into being with a job, in its transaction: slot, stages, audit row, wake-up."""
    quotas.charge(key=key, job=job, at=at)
    StageProgress.objects.bulk_create([StageProgress(job=job, stage=stage) for stage in Job.Stage.values])
    append_event(
        actor=f"key:{key.public_id}",
        action="job.submitted",
        subject=job,
        after={"mode": job.mode, "track": job.track, "version": str(job.version_id), "release": job.baseline_digest},
        at=at,
    )
    wake(job.pk)


def _is_held(job: Job, at: datetime) -> bool:
    return job.lease_until is not None and job.lease_until >= at


def _take_lease(job: Job) -> int:
    """Fence off whoever still believes to hold the job, and return the token that counts from now on."""
    Job.objects.filter(pk=job.pk).update(lease_token=job.lease_token + 1)
    return job.lease_token + 1


def _deserves_refund(job: Job) -> bool:
    if job.blame == Job.Blame.PLATFORM:
        return True
    return job.state == Job.State.CANCELLED and nothing_sent(job)


def _open_review(job: Job, at: datetime) -> None:
    if job.state != Job.State.SUCCEEDED or job.mode != Job.Mode.FULL or job.runner != Job.Runner.PARTICIPANT:
        return
    checks = [check.as_json() for check in check_publication(job)]
    _review, is_new = PublicationReview.objects.get_or_create(job=job, defaults={"checks": checks})
    if is_new:
        tell_organizers(context={**letter_context(job), "is_request": False}, at=at)


def _write_letters(job: Job, *, refunded: bool, at: datetime) -> None:
    key = job.key
    if key is None:
        return
    context = letter_context(job)
    if job.state != Job.State.CANCELLED:
        event = "full_finished" if job.mode == Job.Mode.FULL else "smoke_finished"
        queue_mail(event=event, to=key.contact_email, language=key.language, context=context, at=at)
    if refunded and job.blame == Job.Blame.PLATFORM:
        queue_mail(event="quota_refunded", to=key.contact_email, language=key.language, context=context, at=at)


def letter_context(job: Job, *, reason: str = "") -> dict[str, Any]:
    """What a letter about a run may say: which run, and how it ended. Never a score, never a secret."""
    return {
        "team": job.version.system.team.name,
        "system": job.version.system.name,
        "version": job.version.label,
        "track": Track(job.track).label,
        "mode": Job.Mode(job.mode).label,
        "run_label": job.run_label,
        "succeeded": job.state == Job.State.SUCCEEDED,
        "reason": reason or failure_text(job.failure_code).title,
    }
