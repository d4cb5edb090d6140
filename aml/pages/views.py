"""The site's own pages. They read; the one thing that they keep is a reader's choice of colours."""

from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST, require_safe

from aml.context_processors import THEMES
from aml.nav import explore_links
from aml.pages import apicalls, rules, samples, selectors, service, wire
from contract.answers import MAX_BODY_BYTES, RETRIED, RETRIED_ADD
from contract.media import MAX_IMAGE_BYTES, MAX_IMAGE_SIDE, MAX_IMAGES_BYTES
from contract.retry import LIMITS
from evaluation.pipeline.baseline import TOKEN_BUDGET, TOP_K
from leaderboard.selectors import board_excerpt
from submissions.models import Cycle

_YEAR_S = 365 * 24 * 3600


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """The board that was published last, the next date of the cycle, and the ways into the site."""
    context = _cycle_context()
    dates = context["dates"]
    following = selectors.next_date(dates)
    extra = {
        "excerpt": board_excerpt(rows=5),
        "next": following,
        "seconds_left": (following.at - context["now"]).total_seconds() if following else None,
        "board_date": dates[-1] if dates and context["cycle"].board_on else None,
        "explore": explore_links(),
    }
    return render(request, "site/home.html", context | extra)


@require_safe
def guide(request: HttpRequest) -> HttpResponse:
    """Who may take part, until when, with what, for which prizes and under which rules: from the cycle's data."""
    context = _cycle_context()
    prizes = selectors.prizes_in_order(context["cycle"]) if context["cycle"] else []
    per_track = selectors.prize_total(prizes)
    extra = {
        "prizes": prizes,
        "per_track": per_track,
        "in_all": per_track * len(context["tracks"]),
        "api_guide": reverse("site:api_guide"),
        "privacy": reverse("site:privacy"),
    }
    return render(request, "site/guide.html", context | extra)


@require_safe
def documentation(request: HttpRequest) -> HttpResponse:
    """How evaluation works; quotas are those of the current cycle."""
    quota = selectors.current_cycle(timezone.now()) or Cycle()
    context = {
        "quota": quota,
        "smoke_every": quota.smoke_interval_minutes * 60,
        "top_k": TOP_K,
        "retried": sorted(RETRIED),
        "retried_add": sorted(RETRIED_ADD - RETRIED),
        "api_guide": reverse("site:api_guide"),
    }
    return render(request, "site/documentation.html", context)


@require_safe
def api_guide(request: HttpRequest) -> HttpResponse:
    """The wire contract for people who implement it, made from the contract's own code."""
    context = {
        "add_formats": wire.by_track(wire.ADD, wire.IMAGE_ADD),
        "add_calls": samples.add_calls(),
        "add_schemas": wire.schema_tabs("add_request"),
        "add_response": wire.pretty(wire.ADD_RESPONSE),
        "add_response_schemas": wire.schema_tabs("add_response"),
        "add_accepted": wire.pretty(wire.ADD_ACCEPTED),
        "add_accepted_schemas": wire.schema_tabs("add_accepted"),
        "status_calls": samples.status_calls(),
        "search_formats": wire.by_track(wire.SEARCH, wire.IMAGE_SEARCH, choice=wire.CHOICE_SEARCH),
        "search_calls": samples.search_calls(),
        "search_schemas": wire.schema_tabs("search_request"),
        "search_responses": wire.by_track(wire.SEARCH_RESPONSE, wire.IMAGE_SEARCH_RESPONSE),
        "search_response_schemas": wire.schema_tabs("search_response"),
        "home_calls": samples.home_calls(),
        "platform_calls": samples.platform_calls(),
        "sending_rules": rules.sending_rules(),
        "word_examples": rules.word_examples(),
        "url_rules": rules.url_rules(),
        "flag_rows": rules.flag_rows(),
        "retry_rows": wire.retry_rows(),
        "reason_groups": wire.reason_groups(),
        "reason_count": wire.reason_count(),
        "limits": LIMITS,
        "top_k": TOP_K,
        "token_budget": TOKEN_BUDGET,
        "image_bytes": MAX_IMAGE_BYTES,
        "images_bytes": MAX_IMAGES_BYTES,
        "image_side": MAX_IMAGE_SIDE,
        "text_body": MAX_BODY_BYTES["textual"],
        "media_body": MAX_BODY_BYTES["multimodal"],
    }
    return render(request, "site/api_guide.html", context)


@require_safe
def api_reference(request: HttpRequest) -> HttpResponse:
    """The REST API by its calls, from the request to the result."""
    return render(request, "site/api_reference.html", {"calls": apicalls.CALLS})


@require_safe
def privacy(request: HttpRequest) -> HttpResponse:
    """What teams owe for the data they receive, and what this site keeps."""
    context = {
        "cycle": selectors.current_cycle(timezone.now()),
        "session_cookie": settings.SESSION_COOKIE_NAME,
        "session_age": settings.SESSION_COOKIE_AGE,
        "csrf_cookie": settings.CSRF_COOKIE_NAME,
        "csrf_age": settings.CSRF_COOKIE_AGE,
        "year": _YEAR_S,
    }
    return render(request, "site/privacy.html", context)


@require_safe
def status(request: HttpRequest) -> HttpResponse:
    """Whether evaluations run, and how long they take."""
    now = timezone.now()
    return render(request, "site/status.html", {"service": service.read_service(now), "now": now})


# Exempt, so that public pages carry no token and can be cached; the worst that another site could do is change colours.
@csrf_exempt
@require_POST
def choose_theme(request: HttpRequest) -> HttpResponse:
    """Remember light, dark or auto in a cookie and go back to the page."""
    target = request.POST.get("next", "")
    if not url_has_allowed_host_and_scheme(target, {request.get_host()}, require_https=request.is_secure()):
        target = reverse("site:home")
    response = HttpResponseRedirect(target)
    if (theme := request.POST.get("theme")) in THEMES:
        response.set_cookie("theme", theme, max_age=_YEAR_S, samesite="Lax", secure=request.is_secure(), httponly=True)
    else:
        response.delete_cookie("theme", samesite="Lax")
    return response


def _cycle_context() -> dict[str, Any]:
    now = timezone.now()
    cycle = selectors.current_cycle(now)
    return {
        "now": now,
        "cycle": cycle,
        "dates": selectors.cycle_dates(cycle, now) if cycle else [],
        "tracks": selectors.track_choices(cycle),
        "takes_materials": bool(cycle and cycle.takes_materials(now)),
    }
