"""The organizers' pages tell and take times in the zone of the boards, like the public ones."""

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from submissions.moments import board_zone

__all__ = ["organizers_time"]


def organizers_time(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Answer the admin's requests in the boards' zone; everything else names its zone itself."""
    admin_path = f"/{settings.AML_ADMIN_PATH}/"

    def middleware(request: HttpRequest) -> HttpResponse:
        if admin_path not in request.path:
            return get_response(request)
        with timezone.override(board_zone()):
            return get_response(request)

    return middleware
