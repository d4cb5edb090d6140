"""A Leaderboard Key in the header of an API request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.utils import timezone
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from submissions.keys import verify_api_key
from submissions.models import LeaderboardKey
from submissions.throttle import client_address

if TYPE_CHECKING:
    from rest_framework.views import APIView  # imports this module by way of the settings


class LeaderboardKeyAuthentication(BaseAuthentication):
    """`Authorization: Bearer <key>` or `X-Api-Key: <key>`; `request.auth` is then the key, `request.user` None.

    Raises Refusal `key_invalid` (401) for a key that opens nothing; a request without one stays anonymous.
    """

    def authenticate(self, request: Request) -> tuple[None, LeaderboardKey] | None:
        text = _key_text(request)
        if text is None:
            return None
        return None, verify_api_key(text=text, address=client_address(request._request), at=timezone.now())

    def authenticate_header(self, request: Request) -> str:
        return 'Bearer realm="api"'


class HasLeaderboardKey(BasePermission):
    """For views that need a key; without one the answer is 401."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        return isinstance(request.auth, LeaderboardKey)


class LeaderboardKeyScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    target_class = LeaderboardKeyAuthentication
    name = ["LeaderboardKey", "LeaderboardKeyHeader"]

    def get_security_definition(self, auto_schema: Any) -> list[dict[str, str]]:
        return [
            {"type": "http", "scheme": "bearer"},
            {"type": "apiKey", "in": "header", "name": "X-Api-Key"},
        ]


def _key_text(request: Request) -> str | None:
    header = get_authorization_header(request).split()
    if len(header) == 2 and header[0].lower() == b"bearer":
        return header[1].decode("latin-1")
    return request.headers.get("X-Api-Key")
