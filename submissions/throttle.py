"""How often something may be tried: counters in the database that every process shares.

Counting is one statement that adds and reads back, so no two requests see the same number. Call it outside of a
transaction: a count that is rolled back was never made.
"""

import ipaddress
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.db import connection
from django.http import HttpRequest
from django.utils.translation import gettext as _

from submissions.digests import peppered_digest
from submissions.models import ThrottleCounter
from submissions.refusals import Refusal


@dataclass(frozen=True)
class Limit:
    """At most `count` hits of one subject in each window of `window_s` seconds."""

    name: str
    count: int
    window_s: int


KEY_ATTEMPTS = Limit("key_attempts", 10, 60)
"""Keys entered, by address."""
KEY_FAILURES = Limit("key_failures", 5, 600)
"""Wrong keys, by the public id that they name."""
LOGIN_ATTEMPTS = Limit("login_attempts", 10, 60)
"""Organizers' logins, by address."""
LOGIN_FAILURES = Limit("login_failures", 5, 600)
"""Organizers' failed logins, by user name."""
ACCESS_REQUESTS = Limit("access_requests", 20, 3600)
"""Access requests sent or edited, by address."""


def count_hit(limit: Limit, subject: str, *, at: datetime) -> int:
    """Count one hit and return how many are left in the window. Raises Refusal `throttled` (429) beyond the limit."""
    window = int(at.timestamp()) // limit.window_s
    count = _add_one(limit, subject, window)
    if count == 1:
        _forget_old(limit, at)
    if count > limit.count:
        raise _refusal(limit, window, at)
    return limit.count - count


def is_exhausted(limit: Limit, subject: str, *, at: datetime) -> bool:
    """Whether one more hit would be refused; counts nothing."""
    window = int(at.timestamp()) // limit.window_s
    counter = ThrottleCounter.objects.filter(limit=limit.name, subject=_digest(limit, subject), window=window).first()
    return counter is not None and counter.count >= limit.count


def client_address(request: HttpRequest) -> str:
    """The caller's address as counted: an IPv4 address, or the /64 of an IPv6 one.

    Behind `AML_TRUSTED_PROXY_COUNT` proxies it is that entry from the right of X-Forwarded-For; what stands further
    left was written by the caller and is worth nothing.
    """
    address = request.META.get("REMOTE_ADDR", "")
    proxies = settings.AML_TRUSTED_PROXY_COUNT
    if proxies:
        forwarded = [part.strip() for part in request.META.get("HTTP_X_FORWARDED_FOR", "").split(",")]
        if len(forwarded) >= proxies:
            address = forwarded[-proxies]
    return _counted_form(address)


def _counted_form(address: str) -> str:
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return "unknown"
    if isinstance(ip, ipaddress.IPv6Address):
        if ip.ipv4_mapped:
            return str(ip.ipv4_mapped)
        return str(ipaddress.ip_network((int(ip) >> 64 << 64, 64)))
    return str(ip)


def _add_one(limit: Limit, subject: str, window: int) -> int:
    table = connection.ops.quote_name(ThrottleCounter._meta.db_table)
    window_name = connection.ops.quote_name("window")
    limit_name = connection.ops.quote_name("limit")
    count_name = connection.ops.quote_name("count")
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {table} ({limit_name}, subject, {window_name}, {count_name}) VALUES (%s, %s, %s, 1) "  # noqa: S608
            f"ON CONFLICT ({limit_name}, subject, {window_name}) "
            f"DO UPDATE SET {count_name} = {table}.{count_name} + 1 RETURNING {count_name}",
            [limit.name, _digest(limit, subject), window],
        )
        return int(cursor.fetchone()[0])


def _digest(limit: Limit, subject: str) -> str:
    return peppered_digest(subject, purpose=f"throttle|{limit.name}")


def _forget_old(limit: Limit, at: datetime) -> None:
    oldest = int((at - timedelta(days=1)).timestamp()) // limit.window_s - 1
    ThrottleCounter.objects.filter(limit=limit.name, window__lt=oldest).delete()


def _refusal(limit: Limit, window: int, at: datetime) -> Refusal:
    wait = max(1, (window + 1) * limit.window_s - int(at.timestamp()))
    return Refusal(
        "throttled",
        _("Expected at most %(count)d tries in %(seconds)d seconds. Try again in %(wait)d seconds.")
        % {"count": limit.count, "seconds": limit.window_s, "wait": wait},
        status=429,
        retry_after_s=wait,
    )
