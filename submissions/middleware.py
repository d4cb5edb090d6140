"""Gives every request the Leaderboard Key that its session has open."""

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from submissions.keys import key_of_session


def key_session(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Set `request.leaderboard_key`: a LeaderboardKey, or None. A request without a session costs no query."""

    def middleware(request: HttpRequest) -> HttpResponse:
        has_session = settings.SESSION_COOKIE_NAME in request.COOKIES
        key = key_of_session(request, at=timezone.now()) if has_session else None
        request.leaderboard_key = key  # type: ignore[attr-defined]
        return get_response(request)

    return middleware
