"""Runs, results and receipts as JSON values: what the API answers, and the JSON twin of the progress view.

Only a run's own key ever reads these. Nothing here holds a gold answer, a prompt, a memory or a secret.
"""

from dataclasses import asdict
from datetime import datetime
from typing import Any

from evaluation.gate import GateCheck, read_checks
from evaluation.models import Job, PublicationReview, Receipt
from evaluation.selectors import JobStatus, ResultParts, ScorePart, failure_of, job_status, slot_word
from evaluation.throttling import throttle_payload


def job_payload(job: Job, at: datetime) -> dict[str, Any]:
    """A run as it stands; times are ISO 8601 in UTC, rates units a second."""
    status = job_status(job, at)
    failure = failure_of(job)
    return {
        "id": str(job.pk),
        "mode": job.mode,
        "track": job.track,
        "cycle": job.cycle.slug,
        "version": {"id": str(job.version_id), "system": job.version.system.name, "label": job.version.label},
        "release": {"name": job.release.name, "digest": job.baseline_digest},
        "run_label": job.run_label,
        "add_concurrency": job.add_concurrency,
        "search_concurrency": job.search_concurrency,
        "top_k": job.release.baseline.get("limits", {}).get("top_k"),
        "state": job.state,
        "cancel_requested": job.cancel_requested,
        "slot": slot_word(job),
        "created_at": time_text(job.created_at),
        "started_at": time_text(job.started_at),
        "ended_at": time_text(job.ended_at),
        "progress": progress_payload(status),
        "failure": asdict(failure) if failure else None,
        "review": review_payload(job),
    }


def progress_payload(status: JobStatus) -> dict[str, Any]:
    """How far a run has come, stage by stage."""
    return {
        "stage": status.job.stage,
        "queue_position": status.queue_position,
        "heartbeat_at": time_text(status.job.heartbeat_at),
        "is_stalled": status.is_stalled,
        "retries": status.retries,
        "stages": [
            {
                "stage": stage.code,
                "state": stage.state,
                "done": stage.done,
                "total": stage.total,
                "retries": stage.retries,
                "rate": stage.rate,
                "eta_s": stage.eta_s,
            }
            for stage in status.stages
        ],
        "throttle": throttle_payload(status.job),
    }


def review_payload(job: Job) -> dict[str, Any] | None:
    """The publication review of a run with the gate's checks; None while there is none."""
    review: PublicationReview | None = getattr(job, "review", None)
    if review is None:
        return None
    return {
        "state": review.state,
        "note": review.note_to_team,
        "decided_at": time_text(review.decided_at),
        "checks": [_check(check) for check in read_checks(review.checks)],
    }


def result_payload(parts: ResultParts) -> dict[str, Any]:
    """A result; scores are 0 to 1 beside their n."""
    result = parts.result
    return {
        "overall": result.overall,
        "n": result.n,
        "coverage": result.coverage,
        "answerable": _part(parts.answerable) if parts.answerable else None,
        "categories": [_part(part) for part in parts.categories],
        "capabilities": [_part(part) for part in parts.capabilities],
        "datasets": [_part(part) for part in parts.datasets],
        "items": result.states,
        "efficiency": result.efficiency,
        "recall": result.recall,
        "attribution": result.attribution,
        "budget_curve": result.budget_curve,
        "digest": result.digest,
    }


def receipt_payload(receipt: Receipt) -> dict[str, Any]:
    """One attempt on the wire."""
    return {
        "id": receipt.pk,
        "kind": receipt.kind,
        "request_id": receipt.event.request_id,
        "attempt": receipt.attempt,
        "started_at": time_text(receipt.started_at),
        "ended_at": time_text(receipt.ended_at),
        "latency_ms": receipt.latency_ms,
        "http_status": receipt.http_status,
        "bytes_sent": receipt.bytes_sent,
        "bytes_received": receipt.bytes_received,
        "verdict": receipt.verdict,
        "reason_code": receipt.reason_code,
        "got": receipt.reason_got,
        "flags": receipt.flags,
    }


def time_text(moment: datetime | None) -> str | None:
    """ISO 8601, or None."""
    return moment.isoformat() if moment else None


def _check(check: GateCheck) -> dict[str, Any]:
    return {**check.as_json(), "title": str(check.title)}


def _part(part: ScorePart) -> dict[str, Any]:
    return {"code": part.code, "title": part.title, "score": part.score, "n": part.n}
