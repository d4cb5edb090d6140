"""Leaderboard Keys: their form, how one is recognised, and the session that a page keeps instead of the key.

A key reads `aml_live_` or `aml_test_`, 8 characters of public id, 40 of secret (238 random bits) and a CRC32 of all
that in 6, base62: 63 characters. Scanners find it by `\\baml_(live|test)_[0-9A-Za-z]{54}\\b`.
"""

import hmac
import logging
import re
import secrets
import string
import zlib
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Q
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.views.decorators.debug import sensitive_variables

from submissions.digests import peppered_digest
from submissions.models import LeaderboardKey
from submissions.refusals import Refusal
from submissions.throttle import KEY_ATTEMPTS, KEY_FAILURES, count_hit

log = logging.getLogger(__name__)

KEY_LENGTH = 63
SCOPES = ("read", "smoke", "full")
LAST_USED_EVERY = timedelta(minutes=5)
SESSION_NAME = "leaderboard_key"

_ALPHABET = string.digits + string.ascii_uppercase + string.ascii_lowercase
_SYNTAX = re.compile(r"(?P<prefix>aml_(?:live|test)_)(?P<public_id>[0-9A-Za-z]{8})[0-9A-Za-z]{40}[0-9A-Za-z]{6}")


@dataclass(frozen=True)
class NewKey:
    """A key that was just made: its text is shown once and only its digest kept."""

    text: str
    public_id: str
    digest: str

    def __repr__(self) -> str:
        return f"NewKey({self.public_id})"


@sensitive_variables("secret", "body", "text")
def make_key(*, is_test: bool = False) -> NewKey:
    """Make the text of a key; nothing is stored."""
    public_id, secret = _base62(secrets.randbits(47), 8), _base62(secrets.randbits(238), 40)
    body = f"aml_{'test' if is_test else 'live'}_{public_id}{secret}"
    text = body + checksum(body)
    return NewKey(text, public_id, key_digest(text))


@sensitive_variables("text")
def key_digest(text: str) -> str:
    return peppered_digest(text, purpose="leaderboard_key")


@sensitive_variables("body")
def checksum(body: str) -> str:
    """The last 6 characters of a key: CRC32 of what stands before them, in base62."""
    return _base62(zlib.crc32(body.encode()), 6)


@sensitive_variables("text", "match")
def public_id_of(text: str) -> str | None:
    """The public id in a key without typing errors, else None. Reads no table."""
    match = _SYNTAX.fullmatch(text)
    if match is None or not hmac.compare_digest(checksum(text[:-6]), text[-6:]):
        return None
    return match["public_id"]


@sensitive_variables("text")
def authenticate_key(*, text: str, at: datetime) -> LeaderboardKey:
    """The key that `text` is. Raises one Refusal, `key_invalid` (401), for every text that opens nothing."""
    public_id = public_id_of(text)
    if public_id is None:
        raise _invalid()
    key = LeaderboardKey.objects.select_related("team", "cycle").filter(public_id=public_id).first()
    same = hmac.compare_digest(key.digest if key else "0" * 64, key_digest(text))
    if key is None or not same or not is_valid(key, at):
        log.info("refused a Leaderboard Key with public id %s", public_id)
        raise _invalid()
    note_use(key, at=at)
    return key


@sensitive_variables("text")
def verify_key(*, text: str, address: str, at: datetime) -> LeaderboardKey:
    """`authenticate_key` for a key that somebody enters on a page: counts tries by address, failures by public id."""
    count_hit(KEY_ATTEMPTS, address, at=at)
    try:
        return authenticate_key(text=text.strip(), at=at)
    except Refusal:
        _count_failure(text.strip(), at)
        raise


@sensitive_variables("text")
def verify_api_key(*, text: str, address: str, at: datetime) -> LeaderboardKey:
    """`authenticate_key` for a key in a header: only failures count, so a program may call as often as it likes."""
    try:
        return authenticate_key(text=text, at=at)
    except Refusal:
        count_hit(KEY_ATTEMPTS, address, at=at)
        _count_failure(text, at)
        raise


@sensitive_variables("text")
def _count_failure(text: str, at: datetime) -> None:
    """A right key passes whatever others have tried: 238 bits cannot be guessed, and a team must not be locked out
    by a stranger who knows its public id."""
    public_id = public_id_of(text)
    if public_id:
        count_hit(KEY_FAILURES, public_id, at=at)


def is_valid(key: LeaderboardKey, at: datetime) -> bool:
    """Whether `key` opens anything at `at`: neither revoked nor expired."""
    is_revoked = key.revoked_at is not None and key.revoked_at <= at
    is_expired = key.expires_at is not None and key.expires_at <= at
    return not (is_revoked or is_expired)


def require_scope(key: LeaderboardKey, scope: str) -> None:
    """Raise Refusal `scope_missing` (403) unless `key` may do `scope`: read, smoke or full."""
    if scope in key.scopes:
        return
    raise Refusal(
        "scope_missing",
        _("This needs a Leaderboard Key with the scope %(scope)s. Ask the organizers to change the key's scopes.")
        % {"scope": scope},
        status=403,
    )


def note_use(key: LeaderboardKey, *, at: datetime) -> None:
    """Remember that `key` was used, at most every five minutes."""
    if key.last_used_at is not None and key.last_used_at > at - LAST_USED_EVERY:
        return
    stale = Q(last_used_at=None) | Q(last_used_at__lte=at - LAST_USED_EVERY)
    LeaderboardKey.objects.filter(stale, pk=key.pk).update(last_used_at=at)
    key.last_used_at = at


def open_key_session(request: HttpRequest, key: LeaderboardKey) -> None:
    """Let the session name `key` by its id; the key itself is kept neither there nor in the browser."""
    request.session.cycle_key()
    request.session[SESSION_NAME] = key.pk
    request.leaderboard_key = key  # type: ignore[attr-defined]


def close_key_session(request: HttpRequest) -> None:
    request.session.pop(SESSION_NAME, None)
    request.session.cycle_key()
    request.leaderboard_key = None  # type: ignore[attr-defined]


def key_of_session(request: HttpRequest, *, at: datetime) -> LeaderboardKey | None:
    """The key that the session names, read anew: a revoked or expired one is gone at once."""
    pk = request.session.get(SESSION_NAME)
    if pk is None:
        return None
    key = LeaderboardKey.objects.select_related("team", "cycle").valid(at).filter(pk=pk).first()
    if key is None:
        del request.session[SESSION_NAME]
        return None
    note_use(key, at=at)
    return key


def _invalid() -> Refusal:
    return Refusal(
        "key_invalid",
        _("Expected a valid Leaderboard Key. Copy the whole key; if it was revoked or has expired, use the newer one."),
        status=401,
    )


def _base62(number: int, width: int) -> str:
    digits = ""
    while number:
        number, rest = divmod(number, 62)
        digits = _ALPHABET[rest] + digits
    return digits.rjust(width, "0")
