"""`/metrics`: the service's figures in Prometheus' text format, for who has the token."""

import hmac
from collections.abc import Iterator
from datetime import datetime
from typing import Final

from django.conf import settings
from django.db.models import Count, Sum
from django.http import Http404, HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from aml.pages.service import read_service
from evaluation.models import Job, PublicationReview, Segment, StageProgress
from evaluation.workers import read_crew
from submissions.models import AccessRequest, OutboxMail

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
Sample = tuple[dict[str, str], float]


@never_cache
@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """The figures; 404 where AML_METRICS is empty, 401 without its token as `Authorization: Bearer`."""
    if not settings.AML_METRICS:
        raise Http404
    given = request.headers.get("Authorization", "").removeprefix("Bearer ")
    if not hmac.compare_digest(given.encode(), settings.AML_METRICS.encode()):
        return HttpResponse("A token is needed.\n", status=401, headers={"WWW-Authenticate": "Bearer"})
    return HttpResponse(render_metrics(timezone.now()), content_type=CONTENT_TYPE)


def render_metrics(at: datetime) -> str:
    """Every figure with its help and type, as text."""
    lines: list[str] = []
    for name, explained, samples in _figures(at):
        lines += [f"# HELP {name} {explained}", f"# TYPE {name} gauge"]
        lines += [f"{name}{_labels(labels)} {value:g}" for labels, value in samples]
    return "\n".join(lines) + "\n"


def _figures(at: datetime) -> Iterator[tuple[str, str, list[Sample]]]:
    service, crew = read_service(at), read_crew(at)
    oldest = (at - service.waiting_since).total_seconds() if service.waiting_since else 0.0
    yield "aml_jobs", "Runs by state and mode.", _jobs()
    yield "aml_jobs_stalled", "Running jobs without a sign of life.", [({}, service.stalled)]
    yield "aml_queue_oldest_seconds", "How long the oldest queued run has waited.", [({}, oldest)]
    yield "aml_wake_ups", "Tasks in the task queue.", [({}, service.wake_ups)]
    yield "aml_worker_supervisors", "Supervisors that are alive.", [({}, crew.supervisors)]
    yield "aml_worker_processes", "Worker processes that are alive.", [({}, crew.processes)]
    yield "aml_worker_processes_busy", "Worker processes that have a run.", [({}, service.working)]
    yield "aml_active_units", "Units of running jobs by stage, done, total and retried.", _stages()
    yield "aml_letters", "Letters that wait or failed.", _letters()
    yield "aml_reviews_waiting", "Results that wait for review.", [({}, _reviews())]
    yield "aml_access_requests_waiting", "Access requests that wait.", [({}, AccessRequest.objects.waiting().count())]
    kept = Segment.objects.filter(purged_at=None).aggregate(files=Count("pk"), size=Sum("size"))
    yield "aml_evidence_files", "Evidence segments that are kept.", [({}, kept["files"])]
    yield "aml_evidence_bytes", "Bytes of the evidence segments.", [({}, kept["size"] or 0)]


def _jobs() -> list[Sample]:
    rows = Job.objects.order_by().values_list("state", "mode").annotate(count=Count("pk"))
    counts = {(state, mode): count for state, mode, count in rows}
    return [
        ({"state": state, "mode": mode}, counts.get((state, mode), 0))
        for state in Job.State.values
        for mode in Job.Mode.values
    ]


def _stages() -> list[Sample]:
    rows = StageProgress.objects.filter(job__state=Job.State.RUNNING).order_by().values_list("stage")
    sums = {stage: found for stage, *found in rows.annotate(Sum("done"), Sum("total"), Sum("retries"))}
    return [
        ({"stage": stage, "kind": kind}, float(value or 0))
        for stage in Job.Stage.values
        for kind, value in zip(("done", "total", "retried"), sums.get(stage, (0, 0, 0)), strict=True)
    ]


def _letters() -> list[Sample]:
    states = (OutboxMail.State.WAITING, OutboxMail.State.FAILED)
    return [({"state": str(state)}, OutboxMail.objects.filter(state=state).count()) for state in states]


def _reviews() -> int:
    return PublicationReview.objects.filter(state=PublicationReview.State.PENDING).count()


def _labels(labels: dict[str, str]) -> str:
    return "{" + ",".join(f'{name}="{value}"' for name, value in labels.items()) + "}" if labels else ""
