"""Keeps secrets out of evidence, messages and logs.

A server may return the very credential that it was sent, as it is, encoded, or inside an error. `Redactor` replaces
one known secret in all those forms; `redact` replaces what looks like a key of anybody's; `RedactingFilter` does both
for log records.
"""

from __future__ import annotations

import base64
import json
import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from urllib.parse import quote, quote_plus

__all__ = ["MASK", "RedactingFilter", "Redactor", "live_secret", "redact"]

MASK = "***"
_SHORTEST = 8  # a shorter text would be found by accident
_PATTERNS = (
    re.compile(r"aml_(?:live|test)_[A-Za-z0-9]+"),
    re.compile(r"(?i)(?<=bearer )[A-Za-z0-9._~+/=-]{8,}"),
    re.compile(r"(?i)(?<=authorization: token )\S{8,}"),
    re.compile(r"(?i)(?<=x-api-key: )\S{8,}"),
    re.compile(r"\bsk-[A-Za-z0-9_-]{16,}"),
)
_LIVE: ContextVar[tuple[str, ...]] = ContextVar("live_secrets", default=())


class Redactor:
    """Replaces one secret by ``***``: as it is, in Base64, URL-encoded, in hexadecimal and as JSON may escape it."""

    def __init__(self, secret: str | None) -> None:
        self._secret = secret if secret and len(secret) >= _SHORTEST else ""
        self._forms = tuple(form.encode("utf-8") for form in _forms(self._secret)) if self._secret else ()

    def text(self, text: str) -> str:
        """Return `text` without the secret."""
        return self.data(text.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")

    def data(self, data: bytes) -> bytes:
        """Return `data` without the secret."""
        for form in self._forms:
            if form in data:
                data = data.replace(form, MASK.encode())
        if self._forms and b"\\u00" in data:
            data = _escaped(self._secret).sub(MASK.encode(), data)
        return data


def _escaped(secret: str) -> re.Pattern[bytes]:
    """Return what matches `secret` inside JSON with any of its characters written as an escape."""
    ways = (rf"(?:\\?{re.escape(c)}|\\u(?i:{ord(c):04x}))" for c in secret)
    return re.compile("".join(ways).encode("utf-8"))


def _forms(secret: str) -> tuple[str, ...]:
    raw = secret.encode("utf-8")
    escaped = json.dumps(secret)[1:-1]
    forms = {
        secret,
        escaped,
        escaped.replace("/", "\\/"),
        quote(secret, safe=""),
        quote_plus(secret),
        quote(secret, safe="").lower(),
        raw.hex(),
        raw.hex().upper(),
        *_base64_forms(raw),
    }
    return tuple(sorted((form for form in forms if len(form) >= _SHORTEST), key=len, reverse=True))


def _base64_forms(raw: bytes) -> Iterator[str]:
    """Yield what Base64 makes of `raw` at each of the three places it can have inside a longer text."""
    for shift in range(3):
        padded = base64.b64encode(b"\0" * shift + raw).decode("ascii")
        first = 0 if shift == 0 else shift + 1  # characters that also hold bits of what stands before
        last = (shift + len(raw)) * 8 // 6  # and the last whole one without bits of what follows
        core = padded[first:last]
        yield core
        yield core.replace("+", "-").replace("/", "_")


def redact(text: str) -> str:
    """Return `text` without what looks like a key, and without the secrets in use right now."""
    for secret in _LIVE.get():
        text = Redactor(secret).text(text)
    for pattern in _PATTERNS:
        text = pattern.sub(MASK, text)
    return text


@contextmanager
def live_secret(secret: str) -> Iterator[None]:
    """Have every log record of this task redacted from `secret` while the block runs."""
    token = _LIVE.set((*_LIVE.get(), secret))
    try:
        yield
    finally:
        _LIVE.reset(token)


class RedactingFilter(logging.Filter):
    """Redacts the message and the traceback of every record that passes."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Redact `record` in place; never drops one and never raises."""
        try:
            message = record.getMessage()
        except Exception:  # a wrong format string must not stop the log
            message = str(record.msg)
        record.msg, record.args = redact(message), ()
        if record.exc_info and not record.exc_text:
            record.exc_text = logging.Formatter().formatException(record.exc_info)
        if record.exc_text:
            record.exc_text = redact(record.exc_text)
        if record.stack_info:
            record.stack_info = redact(record.stack_info)
        return True
