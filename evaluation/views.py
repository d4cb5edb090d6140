"""Pages of the Evaluation room. Everything behind the key form is read through the key that the session has open."""

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_GET, require_POST
from django_htmx.http import HttpResponseClientRedirect

from benchmarks.titles import category_title
from evaluation import selectors
from evaluation.admission import full_preconditions
from evaluation.analysispage import charts_of
from evaluation.columns import columns_of
from evaluation.forms import JobForm, KeyForm
from evaluation.models import Item, Job, PublicationReview
from evaluation.payloads import job_payload
from evaluation.releases import current_release, describe_baseline
from evaluation.services import cancel_job, nothing_sent, submit_job
from evaluation.throttling import throttle_histories
from submissions.keys import close_key_session, open_key_session, verify_key
from submissions.models import LeaderboardKey, Track, Version
from submissions.refusals import Refusal
from submissions.throttle import client_address

PAGE_SIZE = 50
UNPROCESSABLE = 422

KeyView = Callable[..., HttpResponse]


def with_key(view: KeyView) -> KeyView:
    """Call `view(request, key, …)` with the session's key; without one the reader is sent to the key form."""

    @wraps(view)
    @never_cache
    def wrapped(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        key = session_key(request)
        if key is not None:
            return view(request, key, *args, **kwargs)
        if getattr(request, "htmx", False):
            return HttpResponseClientRedirect(reverse("evaluation:home"))
        return redirect("evaluation:home")

    return wrapped


def session_key(request: HttpRequest) -> LeaderboardKey | None:
    """The key that the session has open, if it may read."""
    key: LeaderboardKey | None = getattr(request, "leaderboard_key", None)
    return key if key is not None and "read" in key.scopes else None


@require_GET
@never_cache
def home(request: HttpRequest) -> HttpResponse:
    """The key form, or the key's quotas, versions, current runs and private results."""
    key = session_key(request)
    if key is None:
        return render(request, "evaluation/key.html", {"form": KeyForm()})
    return _render_home(request, key, JobForm(key=key))


@sensitive_post_parameters("key")
@require_POST
@never_cache
def open_key(request: HttpRequest) -> HttpResponse:
    """Open a session for a key; tries are counted."""
    form = KeyForm(request.POST)
    if not form.is_valid():
        return render(request, "evaluation/key.html", {"form": form}, status=UNPROCESSABLE)
    try:
        key = verify_key(text=form.cleaned_data["key"], address=client_address(request), at=timezone.now())
    except Refusal as refusal:
        form.add_error("key" if refusal.status < 429 else None, str(refusal.message))
        response = render(request, "evaluation/key.html", {"form": form}, status=refusal.status)
        return _with_retry_after(response, refusal)
    open_key_session(request, key)
    return redirect("evaluation:home")


@require_POST
@never_cache
def close_key(request: HttpRequest) -> HttpResponse:
    """Forget the key in this browser's session."""
    close_key_session(request)
    messages.info(request, _("The key is closed in this browser."))
    return redirect("evaluation:home")


@require_POST
@with_key
def submit(request: HttpRequest, key: LeaderboardKey) -> HttpResponse:
    """Start a run."""
    form = JobForm(request.POST, key=key)
    if not form.is_valid():
        return _render_home(request, key, form, status=UNPROCESSABLE)
    fields = form.cleaned_data
    try:
        job = submit_job(
            key=key,
            version=fields["version"],
            track=fields["track"],
            mode=fields["mode"],
            run_label=fields["run_label"],
            add_concurrency=fields["add_concurrency"],
            search_concurrency=fields["search_concurrency"],
            checklist=form.ticked(),
            at=timezone.now(),
        )
    except Refusal as refusal:
        form.show(refusal)
        return _with_retry_after(_render_home(request, key, form, status=refusal.status), refusal)
    messages.success(request, _("The run is in the queue."))
    return redirect("evaluation:job", pk=job.pk)


@require_GET
@with_key
def job(request: HttpRequest, key: LeaderboardKey, pk: UUID) -> HttpResponse:
    """One run: how far it is, what came of it, and what it takes to be published."""
    job = _job_or_404(key, pk)
    result = selectors.result_of(job)
    context = {
        **_progress_context(job),
        "result": result,
        "analysis": charts_of(result.result) if result else [],
        "columns": columns_of(job),
        "receipts": selectors.receipts_summary(job),
        "checks": selectors.checks_of(job),
        "review": PublicationReview.objects.filter(job=job).first(),
        "baseline": describe_baseline(job.release, smoke=job.mode == Job.Mode.SMOKE),
    }
    return render(request, "evaluation/job.html", context)


@require_GET
@with_key
def progress(request: HttpRequest, key: LeaderboardKey, pk: UUID) -> HttpResponse:
    """The live part of a run; it stops asking by itself once the run has ended."""
    job = _job_or_404(key, pk)
    response = render(request, "evaluation/_progress.html", _progress_context(job))
    if not job.is_active and _is_asked_from(request, reverse("evaluation:job", args=[job.pk])):
        response["HX-Refresh"] = "true"  # the rest of the run's own page shows what came of it
    return response


def _is_asked_from(request: HttpRequest, path: str) -> bool:
    """Whether htmx asks on the page at `path`. Other pages may hold a half-filled form, which a refresh would clear."""
    return urlsplit(request.headers.get("HX-Current-URL", "")).path == path


@require_GET
@never_cache
def progress_json(request: HttpRequest, pk: UUID) -> HttpResponse:
    """The same for programs."""
    key = session_key(request)
    if key is None:
        message = _("Open your Leaderboard Key on the Evaluation page first.")
        return JsonResponse({"detail": {"reason": "key_missing", "message": message}}, status=401)
    job = Job.objects.for_key(key).select_related(*_RELATED).filter(pk=pk).first()
    if job is None:
        message = _("This key has no such run.")
        return JsonResponse({"detail": {"reason": "not_found", "message": message}}, status=404)
    return JsonResponse(job_payload(job, timezone.now()))


@require_GET
@with_key
def questions(request: HttpRequest, key: LeaderboardKey, pk: UUID) -> HttpResponse:
    """What became of each question, without its gold answer."""
    job = _job_or_404(key, pk)
    state = request.GET.get("state", "")
    page = Paginator(selectors.items_of(job, state=state), PAGE_SIZE).get_page(request.GET.get("page"))
    rows = [(item, category_title(item.category)) for item in page]
    context = {"job": job, "page": page, "rows": rows, "states": Item.State, "state": state}
    return render(request, "evaluation/questions.html", context)


@require_GET
@with_key
def receipts(request: HttpRequest, key: LeaderboardKey, pk: UUID) -> HttpResponse:
    """Every attempt on the wire."""
    job = _job_or_404(key, pk)
    pages = Paginator(selectors.receipts_of(job), PAGE_SIZE)
    return render(request, "evaluation/receipts.html", {"job": job, "page": pages.get_page(request.GET.get("page"))})


@require_POST
@with_key
def cancel(request: HttpRequest, key: LeaderboardKey, pk: UUID) -> HttpResponse:
    """Cancel a run; the page beside the button has said what that costs."""
    job = _job_or_404(key, pk)
    try:
        job = cancel_job(job=job, key=key, actor=f"key:{key.public_id}", at=timezone.now())
    except Refusal as refusal:
        messages.error(request, str(refusal.message))
    else:
        ended = _("The run is cancelled.")
        messages.success(request, _("The run is being stopped.") if job.is_active else ended)
    return redirect("evaluation:job", pk=job.pk)


_RELATED = ("version__system", "release", "cycle", "key")


def _job_or_404(key: LeaderboardKey, pk: UUID) -> Job:
    return get_object_or_404(Job.objects.for_key(key).select_related(*_RELATED), pk=pk)


def _progress_context(job: Job) -> dict[str, Any]:
    at = timezone.now()
    return {
        "job": job,
        "status": selectors.job_status(job, at),
        "throttle": throttle_histories(job, at),
        "failure": selectors.failure_of(job),
        "slot": selectors.slot_word(job),
        "cancel_is_free": job.is_active and nothing_sent(job),
    }


def _render_home(request: HttpRequest, key: LeaderboardKey, form: JobForm, *, status: int = 200) -> HttpResponse:
    at = timezone.now()
    jobs = Job.objects.for_key(key).select_related("version__system", "result", "review", "release")
    versions = list(Version.objects.for_key(key).select_related("system", "memory_system_key"))
    needs = full_preconditions(key=key, versions=versions, at=at)
    context = {
        "key": key,
        "form": form,
        "quotas": selectors.quotas_of(key, at),
        "versions": [(version, _tracks_text(version), _needs_of(version, needs)) for version in versions],
        "active": [_progress_context(job) for job in jobs.active()],
        "jobs": Paginator(jobs, PAGE_SIZE).get_page(request.GET.get("page")),
        "releases": [release for track in selectors.tracks_of(key) if (release := current_release(track))],
    }
    return render(request, "evaluation/home.html", context, status=status)


def _tracks_text(version: Version) -> str:
    return ", ".join(str(Track(track).label) for track in version.tracks if track in Track.values)


def _needs_of(version: Version, needs: Mapping[tuple[UUID, str], Any]) -> list[tuple[str, Any]]:
    """What a full evaluation of the version needs, track by track."""
    return [(str(Track(track).label), found) for (pk, track), found in needs.items() if pk == version.pk]


def _with_retry_after(response: HttpResponse, refusal: Refusal) -> HttpResponse:
    if refusal.retry_after_s is not None:
        response["Retry-After"] = str(refusal.retry_after_s)
    return response
