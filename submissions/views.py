"""Request access, and the private pages of a request and of a key. Rules are in `submissions.services`."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, QueryDict
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.cache import add_never_cache_headers
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from submissions.forms import AccessRequestForm, AppealForm, ExistingKeyForm, SecretForm, declared_values
from submissions.history import story_of
from submissions.keys import open_key_session, verify_key
from submissions.models import AccessRequest, Cycle, LeaderboardKey, MemorySystemKey, Track, Version
from submissions.refusals import Refusal
from submissions.selectors import cycles_for_requests, next_cycle, request_of_receipt
from submissions.services import (
    appeal_version,
    claim_key,
    edit_access_request,
    replace_secret,
    rotate_key,
    submit_access_request,
    withdraw_access_request,
)
from submissions.services.access import EDITABLE, WITHDRAWABLE
from submissions.services.versions import LIVE, STOPPED
from submissions.throttle import ACCESS_REQUESTS, client_address, count_hit

View = Callable[..., HttpResponseBase]


def private_page(view: View) -> View:
    """Pages that no cache may keep and no search engine may list."""

    @wraps(view)
    def wrapper(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        response = view(request, *args, **kwargs)
        add_never_cache_headers(response)
        response.headers["X-Robots-Tag"] = "noindex, nofollow"
        return response

    return wrapper


@private_page
@sensitive_post_parameters("memory_system_key", "receipt")
@require_http_methods(["GET", "HEAD", "POST"])
def request_access(request: HttpRequest) -> HttpResponse:
    """The form for a new key, or, with a key open in the session, for another version under it."""
    at = timezone.now()
    key = None if "new" in request.GET else _session_key(request)
    cycles = [key.cycle] if key and key.cycle.takes_materials(at) else [] if key else cycles_for_requests(at)
    if not cycles:
        context: dict[str, Any] = {"next_cycle": next_cycle(at), "key": key}
        return render(request, "submissions/closed.html", context)
    cycle = next((each for each in cycles if each.slug == request.GET.get("cycle")), cycles[0])
    as_draft = "draft" in request.POST
    form = AccessRequestForm(_data(request), cycle=cycle, team=key.team.name if key else "", as_draft=as_draft)
    answer = 200
    if request.method == "POST":
        token, answer = _submitted(request, form, cycle, key, as_draft)
        if token:
            return redirect("submissions:status", token=token)
    context = {"form": form, "cycle": cycle, "cycles": cycles, "key": key, "key_form": ExistingKeyForm()}
    return _form_page(request, "submissions/request.html", context, answer)


def _form_page(request: HttpRequest, template: str, context: dict[str, Any], answer: int) -> HttpResponse:
    response = render(request, template, context, status=answer)
    wait = context["form"].retry_after_s
    if wait is not None:
        response.headers["Retry-After"] = str(wait)
    return response


def _submitted(
    request: HttpRequest, form: AccessRequestForm, cycle: Cycle, key: LeaderboardKey | None, as_draft: bool
) -> tuple[str, int]:
    """Send the form to the service: the receipt, or "" with the status to answer."""
    at = timezone.now()
    try:
        count_hit(ACCESS_REQUESTS, client_address(request), at=at)
        if not form.is_valid():
            return "", 422
        submit_access_request(
            cycle=cycle,
            materials=form.materials(),
            receipt=form.cleaned_data["receipt"],
            language=get_language() or "en",
            existing_key=key,
            as_draft=as_draft,
            at=at,
        )
    except Refusal as refusal:
        form.add_refusal(refusal)
        return "", refusal.status
    return form.cleaned_data["receipt"], 200


@private_page
@sensitive_post_parameters("leaderboard_key")
@require_POST
def open_existing_key(request: HttpRequest) -> HttpResponse:
    """Open a key in the session so that the form is about another version under it."""
    form = ExistingKeyForm(request.POST)
    try:
        text = form.cleaned_data["leaderboard_key"] if form.is_valid() else ""
        key = verify_key(text=text, address=client_address(request), at=timezone.now())
    except Refusal as refusal:
        messages.error(request, str(refusal.message))
    else:
        open_key_session(request, key)
    return redirect("submissions:request")


@private_page
@require_http_methods(["GET", "HEAD"])
def status(request: HttpRequest, token: str) -> HttpResponse:
    """Where a request stands, for whoever has its receipt."""
    return _status_page(request, _request_of(request, token), token)


def _status_page(
    request: HttpRequest, access_request: AccessRequest, token: str, *, answer: int = 200, **forms: Any
) -> HttpResponse:
    version = access_request.version
    claim = getattr(access_request, "claim", None)
    context = {
        "access_request": access_request,
        "version": version,
        "claim": claim,
        "token": token,
        "address": request.build_absolute_uri(request.path),
        "secret": MemorySystemKey.objects.filter(version=version).first(),
        "tracks": [(code, label) for code, label in Track.choices if code in version.tracks],
        "story": story_of(access_request),
        "may_edit": access_request.state in EDITABLE and access_request.cycle.takes_materials(timezone.now()),
        "may_withdraw": access_request.state in WITHDRAWABLE,
        "may_replace_secret": version.state in LIVE and version.auth_scheme != Version.AuthScheme.NONE,
        "may_appeal": version.state in STOPPED,
        "secret_form": forms.get("secret_form") or SecretForm(),
        "appeal_form": forms.get("appeal_form") or AppealForm(initial={"note": version.appeal_note}),
    }
    return render(request, "submissions/status.html", context, status=answer)


@private_page
@sensitive_post_parameters("memory_system_key", "receipt")
@require_http_methods(["GET", "HEAD", "POST"])
def edit(request: HttpRequest, token: str) -> HttpResponse:
    """Edit a draft, or a request whose changes were asked for, and send it."""
    access_request = _request_of(request, token)
    if access_request.state not in EDITABLE:
        messages.error(request, _("This request cannot be edited now; its state says why."))
        return redirect("submissions:status", token=token)
    as_draft = "draft" in request.POST
    form = AccessRequestForm(
        _data(request),
        cycle=access_request.cycle,
        team=access_request.team.name if access_request.existing_key else "",
        initial=declared_values(access_request),
        stored_secret=MemorySystemKey.objects.filter(version=access_request.version).exists(),
        as_draft=as_draft,
    )
    answer = 200
    if request.method == "POST":
        answer = _edited(request, form, access_request, as_draft)
        if answer == 200:
            return redirect("submissions:status", token=token)
    context = {"form": form, "cycle": access_request.cycle, "access_request": access_request, "token": token}
    return _form_page(request, "submissions/edit.html", context, answer)


def _edited(request: HttpRequest, form: AccessRequestForm, access_request: AccessRequest, as_draft: bool) -> int:
    at = timezone.now()
    try:
        count_hit(ACCESS_REQUESTS, client_address(request), at=at)
        if not form.is_valid():
            return 422
        edit_access_request(access_request=access_request, materials=form.materials(), as_draft=as_draft, at=at)
    except Refusal as refusal:
        form.add_refusal(refusal)
        return refusal.status
    return 200


@private_page
@require_POST
def claim(request: HttpRequest, token: str) -> HttpResponse:
    """Make the key and show it: the one page on which it stands."""
    access_request = _request_of(request, token)
    try:
        text = claim_key(access_request=access_request, at=timezone.now())
    except Refusal as refusal:
        messages.error(request, str(refusal.message))
        return redirect("submissions:status", token=token)
    return render(request, "submissions/new_key.html", {"text": text, "token": token})


@private_page
@require_POST
def withdraw(request: HttpRequest, token: str) -> HttpResponse:
    access_request = _request_of(request, token)
    try:
        withdraw_access_request(access_request=access_request, at=timezone.now())
    except Refusal as refusal:
        messages.error(request, str(refusal.message))
    return redirect("submissions:status", token=token)


@private_page
@sensitive_post_parameters("memory_system_key")
@require_POST
def change_secret(request: HttpRequest, token: str) -> HttpResponse:
    """Replace the Memory System Key of the request's version."""
    access_request = _request_of(request, token)
    form = SecretForm(request.POST)
    if form.is_valid():
        try:
            replace_secret(
                version=access_request.version,
                secret=form.cleaned_data["memory_system_key"],
                actor=f"receipt:{access_request.pk}",
                at=timezone.now(),
            )
        except Refusal as refusal:
            form.add_error("memory_system_key", str(refusal.message))
        else:
            messages.success(
                request, _("The new Memory System Key is stored. Run a smoke test before a full evaluation.")
            )
            return redirect("submissions:status", token=token)
    return _status_page(request, access_request, token, answer=422, secret_form=form)


@private_page
@require_POST
def appeal(request: HttpRequest, token: str) -> HttpResponse:
    """Keep the team's answer to a suspension or disqualification."""
    access_request = _request_of(request, token)
    form = AppealForm(request.POST)
    if form.is_valid():
        try:
            appeal_version(
                version=access_request.version,
                note=form.cleaned_data["note"],
                actor=f"receipt:{access_request.pk}",
                at=timezone.now(),
            )
        except Refusal as refusal:
            form.add_error("note", str(refusal.message))
        else:
            messages.success(request, _("The organizers will read your answer."))
            return redirect("submissions:status", token=token)
    return _status_page(request, access_request, token, answer=422, appeal_form=form)


@private_page
@require_http_methods(["GET", "HEAD"])
def key_page(request: HttpRequest) -> HttpResponse:
    """The key that is open in the session: its facts, its versions, and its rotation."""
    key = _session_key(request)
    if key is None:
        return redirect("evaluation:home")
    versions = Version.objects.for_key(key).select_related("system__team", "memory_system_key")
    return render(request, "submissions/key.html", {"key": key, "versions": versions})


@private_page
@require_POST
def rotate(request: HttpRequest) -> HttpResponse:
    """Make the next key of the lineage, show it once, and go on under it."""
    key = _session_key(request)
    if key is None:
        return redirect("evaluation:home")
    try:
        new, text = rotate_key(key=key, actor=f"key:{key.public_id}", at=timezone.now())
    except Refusal as refusal:
        messages.error(request, str(refusal.message))
        return redirect("submissions:key")
    open_key_session(request, new)
    return render(request, "submissions/new_key.html", {"text": text, "old": key})


def _data(request: HttpRequest) -> QueryDict | None:
    """An empty POST is still a sent form."""
    return request.POST if request.method == "POST" else None


def _session_key(request: HttpRequest) -> LeaderboardKey | None:
    key = getattr(request, "leaderboard_key", None)
    return key if isinstance(key, LeaderboardKey) else None


def _request_of(request: HttpRequest, token: str) -> AccessRequest:
    access_request = request_of_receipt(token)
    if access_request is not None:
        return access_request
    raise Http404
