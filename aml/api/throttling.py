"""How often the API may be called: by key where there is one, by address otherwise.

A view may name another scope with `throttle_scope`. These limits keep one caller from crowding out the others; each
process counts for itself. What guards keys and quotas is counted in the database instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from rest_framework.permissions import SAFE_METHODS
from rest_framework.request import Request
from rest_framework.throttling import SimpleRateThrottle

from submissions.models import LeaderboardKey
from submissions.throttle import client_address

if TYPE_CHECKING:
    from rest_framework.views import APIView  # imports this module by way of the settings

RATES: Mapping[str, str] = {"read": "1200/min", "write": "120/min"}


class _ScopedThrottle(SimpleRateThrottle):
    subject: str

    def __init__(self) -> None:
        """The rate is known with the request, see `allow_request`."""

    def allow_request(self, request: Request, view: APIView) -> bool:
        default = "read" if request.method in SAFE_METHODS else "write"
        self.scope = getattr(view, "throttle_scope", None) or default
        self.rate = RATES[self.scope]
        self.num_requests, self.duration = self.parse_rate(self.rate)
        return super().allow_request(request, view)

    def get_cache_key(self, request: Request, view: APIView) -> str | None:
        ident = self.identify(request)
        return f"api_throttle:{self.subject}:{self.scope}:{ident}" if ident else None

    def identify(self, request: Request) -> str | None:
        """Who is counted; None when this throttle does not count the request."""
        raise NotImplementedError


class KeyThrottle(_ScopedThrottle):
    """Counts requests with a Leaderboard Key, through its rotations."""

    subject = "key"

    def identify(self, request: Request) -> str | None:
        return str(request.auth.lineage) if isinstance(request.auth, LeaderboardKey) else None


class AddressThrottle(_ScopedThrottle):
    """Counts requests without a key."""

    subject = "address"

    def identify(self, request: Request) -> str | None:
        return None if isinstance(request.auth, LeaderboardKey) else client_address(request._request)
