"""Sends the Content-Security-Policy header, and refuses addresses that no database can look up.

Django 6 brings a middleware of its own that reads `SECURE_CSP` in this same form; then the first part goes.
"""

from collections.abc import Callable, Mapping, Sequence

from django.conf import settings
from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse

HEADER = "Content-Security-Policy"


def content_security_policy(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Add the policy to each response; Django's admin has one inline style, so its pages may style inline."""
    pages = _header(settings.SECURE_CSP)
    admin = _header({**settings.SECURE_CSP, "style-src": ["'self'", "'unsafe-inline'"]})
    admin_path = f"/{settings.AML_ADMIN_PATH}/"

    def middleware(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        response.headers.setdefault(HEADER, admin if admin_path in request.path else pages)
        return response

    return middleware


def refuse_nul(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Answer 400 to a query with U+0000 in it, which PostgreSQL takes in no comparison. The API reads its own."""

    def middleware(request: HttpRequest) -> HttpResponse:
        if "%00" in request.META.get("QUERY_STRING", "") and not request.path_info.startswith("/api/"):
            raise BadRequest("U+0000 in the query")
        return get_response(request)

    return middleware


def _header(policy: Mapping[str, Sequence[str]]) -> str:
    return "; ".join(f"{directive} {' '.join(sources)}" for directive, sources in policy.items())
