"""Participants' secrets at rest: AES-256-GCM, bound to the version and to the origins that may receive them.

A stored value reads `v1.<key id>.<nonce>.<ciphertext and tag>`, the last two in base64url. The version and its origins
are authenticated with it, so a value that is copied to another row, or whose version gets another URL, never opens.
"""

import base64
import hashlib
import os
import re
from collections import Counter
from dataclasses import dataclass
from urllib.parse import urlsplit

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from django.db import transaction
from django.utils.translation import gettext as _
from django.views.decorators.debug import sensitive_variables

from submissions.keyring import KeyRing, key_ring
from submissions.models import MemorySystemKey, Version
from submissions.refusals import Refusal

SECRET_SYNTAX = re.compile(r"[\x21-\x7e]{8,512}")
"""What a Memory System Key may look like: it becomes the value of a header."""

NONCE_BYTES = 12
_DEFAULT_PORTS = {"http": 80, "https": 443}


class SecretUnavailable(Exception):
    """The secret cannot be had: a fault of the platform's set-up or of a changed URL, never "no authentication".

    `code` says why: `secret_missing`, `secret_key_unknown` (its key left the ring) or `secret_undecryptable` (another
    row, other URLs, or damaged).
    """

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


@dataclass(frozen=True)
class Rotation:
    """What a rotation did: rows encrypted anew, rows that do not open, and rows for each encryption key."""

    renewed: int
    failed: tuple[str, ...]
    by_key_id: dict[str, int]


@sensitive_variables("secret")
def check_secret(secret: str) -> None:
    """Raise Refusal `secret_malformed` unless `secret` can be sent as the value of a header."""
    if SECRET_SYNTAX.fullmatch(secret):
        return
    raise Refusal(
        "secret_malformed",
        _("Expected a Memory System Key of 8 to 512 visible ASCII characters without spaces. Copy it once more."),
        status=422,
    )


@sensitive_variables("secret")
@transaction.atomic
def store_memory_system_key(*, version: Version, secret: str) -> MemorySystemKey:
    """Encrypt `secret` for `version` and its present URLs, in place of any older one."""
    check_secret(secret)
    ring = key_ring()
    stored, _created = MemorySystemKey.objects.update_or_create(
        version=version,
        defaults={
            "ciphertext": seal(secret, version=version, ring=ring),
            "key_id": ring.primary,
            "fingerprint": hashlib.sha256(secret.encode()).hexdigest()[:8],
        },
    )
    return stored


def open_memory_system_key(*, version: Version) -> str:
    """The secret of `version` for the URLs that it has now. Raises SecretUnavailable."""
    stored = MemorySystemKey.objects.filter(version_id=version.pk).first()
    if stored is None:
        raise SecretUnavailable("secret_missing")
    return unseal(stored.ciphertext, version=version, ring=key_ring())


def forget_memory_system_key(*, version: Version) -> bool:
    """Delete the secret of `version`; False when there was none."""
    deleted, _by_model = MemorySystemKey.objects.filter(version_id=version.pk).delete()
    return deleted > 0


@sensitive_variables("secret")
def rotate_secrets() -> Rotation:
    """Encrypt with the ring's first key whatever another key of the ring encrypted.

    Can be interrupted and repeated: a row is written only if it still holds the ciphertext that was read.
    """
    ring = key_ring()
    renewed, failed = 0, []
    for stored in MemorySystemKey.objects.exclude(key_id=ring.primary).select_related("version").iterator():
        try:
            secret = unseal(stored.ciphertext, version=stored.version, ring=ring)
        except SecretUnavailable as error:
            failed.append(f"{stored.version_id}: {error.code}")
            continue
        renewed += MemorySystemKey.objects.filter(pk=stored.pk, ciphertext=stored.ciphertext).update(
            ciphertext=seal(secret, version=stored.version, ring=ring), key_id=ring.primary
        )
    by_key_id = Counter(MemorySystemKey.objects.values_list("key_id", flat=True))
    return Rotation(renewed, tuple(failed), dict.fromkeys(ring.keys, 0) | dict(by_key_id))


@sensitive_variables("secret")
def seal(secret: str, *, version: Version, ring: KeyRing) -> str:
    """Return the stored form of `secret`, under the ring's first key."""
    nonce = os.urandom(NONCE_BYTES)
    sealed = AESGCM(ring.keys[ring.primary]).encrypt(nonce, secret.encode(), _binding(version))
    return f"v1.{ring.primary}.{_encoded(nonce)}.{_encoded(sealed)}"


def unseal(ciphertext: str, *, version: Version, ring: KeyRing) -> str:
    """Return the secret in `ciphertext`. Raises SecretUnavailable."""
    parts = ciphertext.split(".")
    if len(parts) != 4 or parts[0] != "v1":
        raise SecretUnavailable("secret_undecryptable")
    key = ring.keys.get(parts[1])
    if key is None:
        raise SecretUnavailable("secret_key_unknown")
    try:
        return AESGCM(key).decrypt(_decoded(parts[2]), _decoded(parts[3]), _binding(version)).decode()
    except (InvalidTag, ValueError):
        raise SecretUnavailable("secret_undecryptable") from None


def origins_of(version: Version) -> tuple[str, ...]:
    """The origins that may receive the secret: those of Add, Search and Add-status, sorted. Health gets none."""
    urls = (version.add_url, version.search_url, version.add_status_url)
    return tuple(sorted({_origin(url) for url in urls if url}))


def _binding(version: Version) -> bytes:
    return f"aml|v1|memory_system_key|{version.pk}|{','.join(origins_of(version))}".encode()


def _origin(url: str) -> str:
    """Scheme, host and port of a URL that the guard has already put into its plain form."""
    parts = urlsplit(url)
    scheme, host = parts.scheme.lower(), (parts.hostname or "").lower()
    host = f"[{host}]" if ":" in host else host
    return f"{scheme}://{host}:{parts.port or _DEFAULT_PORTS.get(scheme, 0)}"


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def _decoded(text: str) -> bytes:
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
