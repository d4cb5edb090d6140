"""Digests of things that only their holder knows: keys, receipts, and the addresses that the throttle counts."""

import hashlib
import hmac

from django.conf import settings


def peppered_digest(text: str, *, purpose: str) -> str:
    """HMAC-SHA256 of `text` under the pepper, as 64 hex digits; `purpose` keeps digests of different things apart."""
    message = f"{purpose}|{text}".encode()
    return hmac.new(settings.AML_KEY_PEPPER.encode(), message, hashlib.sha256).hexdigest()
