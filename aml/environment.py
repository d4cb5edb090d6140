"""Reads settings from the environment so that a malformed or senseless one is named in a sentence."""

import math
import re
import warnings
from collections.abc import Callable, Mapping
from typing import Any, Final
from urllib.parse import urlsplit

import environ
from django.core.exceptions import ImproperlyConfigured

_WANTED = {int: "a whole number", float: "a number"}
_YES_OR_NO: Final = {*environ.Env.BOOLEAN_TRUE_STRINGS, "false", "off", "no", "n", "0", ""}

Rule = tuple[Callable[[Any], bool], str]


def _is_web_address(text: str) -> bool:
    try:
        parts = urlsplit(text)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


_WEB_ADDRESS: Final[Rule] = (_is_web_address, "an address that begins with https:// or http://")
_MODEL_ADDRESS: Final[Rule] = (lambda text: not text or _is_web_address(text), _WEB_ADDRESS[1])
_SOME_TIME: Final[Rule] = (lambda seconds: seconds > 0, "a number of seconds above zero")
_COUNT: Final[Rule] = (lambda number: number >= 0, "zero or more")
_RULES: Final[Mapping[str, Rule]] = {
    "AML_SITE_URL": _WEB_ADDRESS,
    "AML_ANSWER_BASE_URL": _MODEL_ADDRESS,
    "AML_JUDGE_BASE_URL": _MODEL_ADDRESS,
    "AML_ADMIN_PATH": (
        lambda text: bool(re.fullmatch(r"/*[A-Za-z0-9_-]+(/[A-Za-z0-9_-]+)*/*", text)),
        "words of letters, digits, - and _, with / between them",
    ),
    "AML_WORKERS": (lambda number: number >= 1, "one or more"),
    "AML_BROKER_URL": (
        lambda text: not text or (urlsplit(text).scheme in {"redis", "rediss"} and bool(urlsplit(text).hostname)),
        "an address such as redis://:password@host:6379/0",
    ),
    "AML_LEASE_S": _SOME_TIME,
    "AML_HEARTBEAT_S": _SOME_TIME,
    "AML_SLICE_S": _SOME_TIME,
    "AML_REAPER_S": _SOME_TIME,
    "AML_MODEL_TIMEOUT_S": _SOME_TIME,
    "AML_TRUSTED_PROXY_COUNT": _COUNT,
    "AML_EVIDENCE_DAYS": _COUNT,
    "CONN_MAX_AGE": _COUNT,
    "LOG_LEVEL": (
        lambda text: text in {"DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"},
        "DEBUG, INFO, WARNING, ERROR or CRITICAL",
    ),
}


class Environment(environ.Env):
    """An `environ.Env` that raises ImproperlyConfigured with the setting's name, and never shows a value."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]

    def get_value(
        self, var: str, cast: Any = None, default: Any = environ.Env.NOTSET, parse_default: bool = False
    ) -> Any:
        if cast is bool and str(self.ENVIRON.get(var, "")).strip().lower() not in _YES_OR_NO:
            raise _malformed(var, "on or off")  # anything else would count as off
        try:
            value = super().get_value(var, cast=cast, default=default, parse_default=parse_default)
        except (ValueError, TypeError):
            raise _malformed(var, _WANTED.get(cast, "another form")) from None
        if isinstance(value, float) and not math.isfinite(value):
            raise _malformed(var, "a number")
        holds, wanted = _RULES.get(var, (None, ""))
        if holds is not None and not holds(value):
            raise _malformed(var, wanted)
        return value

    def database(self, var: str, *, default: str) -> dict[str, Any]:
        """Django's settings for the database at an address."""
        wanted = "postgres://user:password@host:5432/name, or sqlite:///path"
        found = self._read(super().db_url, var, wanted, default)
        if found.get("ENGINE") not in {"django.db.backends.postgresql", "django.db.backends.sqlite3"}:
            raise _malformed(var, wanted)
        return found

    def cache_at(self, var: str, *, default: str) -> dict[str, Any]:
        """Django's settings for the cache at an address."""
        return self._read(super().cache_url, var, "an address such as redis://host:6379/0", default)

    def mail_at(self, var: str, *, default: str) -> dict[str, Any]:
        """Django's settings for mail through an address."""
        return self._read(super().email_url, var, "an address such as smtp+tls://user:password@host:587", default)

    def _read(self, read: Any, var: str, wanted: str, default: str) -> dict[str, Any]:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # they show the address, which holds a password
                found = dict(read(var, default=default))
        except (ImproperlyConfigured, ValueError, KeyError, TypeError):
            found = {}
        if not found:
            raise _malformed(var, wanted)
        return found


def in_time(redis_url: str) -> str:
    """The address with time limits, so that no request waits for a Redis that is away; one's own in it stand."""
    missing = [
        limit for limit in ("socket_connect_timeout=3", "socket_timeout=10") if limit.split("=")[0] not in redis_url
    ]
    return redis_url + ("&" if "?" in redis_url else "?") + "&".join(missing) if missing else redis_url


def _malformed(var: str, wanted: str) -> ImproperlyConfigured:
    return ImproperlyConfigured(f"{var} is malformed. Expected {wanted}; .env.example shows one.")
