"""The keys that encrypt participants' secrets: read from `AML_SECRETS_KEYS`, checked when the portal starts."""

import base64
import binascii
import re
from dataclasses import dataclass, field
from functools import lru_cache

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

KEY_BYTES = 32
_KEY_ID = re.compile(r"[0-9A-Za-z_-]{1,8}")


@dataclass(frozen=True)
class KeyRing:
    """`primary` encrypts, every key decrypts. The keys stay out of `repr`."""

    primary: str
    keys: dict[str, bytes] = field(repr=False)


def key_ring() -> KeyRing:
    """The ring of the settings; raises ImproperlyConfigured with a sentence that shows no key."""
    return parse_key_ring(settings.AML_SECRETS_KEYS)


@lru_cache(maxsize=8)
def parse_key_ring(text: str) -> KeyRing:
    """Read `k2:<base64 of 32 bytes>,k1:<...>`; the first encrypts."""
    keys: dict[str, bytes] = {}
    for position, entry in enumerate(filter(None, (part.strip() for part in text.split(","))), start=1):
        key_id, colon, encoded = entry.partition(":")
        if not colon or not _KEY_ID.fullmatch(key_id):
            raise _malformed(f"entry {position} has no name of 1 to 8 letters, digits, - or _ before a colon")
        if key_id in keys:
            raise _malformed(f"the name {key_id} stands twice")
        keys[key_id] = _decoded(key_id, encoded)
    if not keys:
        raise _malformed("it holds no key")
    if len(set(keys.values())) != len(keys):
        raise _malformed("two names have the same key")
    return KeyRing(primary=next(iter(keys)), keys=keys)


def _decoded(key_id: str, encoded: str) -> bytes:
    try:
        key = base64.b64decode(encoded.replace("-", "+").replace("_", "/"), validate=True)
    except (binascii.Error, ValueError):
        raise _malformed(f"the key {key_id} is not base64") from None
    if len(key) != KEY_BYTES:
        raise _malformed(f"the key {key_id} has {len(key)} bytes")
    return key


def _malformed(what: str) -> ImproperlyConfigured:
    return ImproperlyConfigured(
        f"AML_SECRETS_KEYS: {what}. Expected name:base64 of 32 bytes, separated by commas, newest first; "
        ".env.example shows how to make one."
    )
