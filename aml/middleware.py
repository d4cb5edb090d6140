"""Sends the Content-Security-Policy header.

Django 6 brings a middleware of its own that reads `SECURE_CSP` in this same form; then this file goes.
"""

from collections.abc import Callable, Mapping, Sequence

from django.conf import settings
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


def _header(policy: Mapping[str, Sequence[str]]) -> str:
    return "; ".join(f"{directive} {' '.join(sources)}" for directive, sources in policy.items())
