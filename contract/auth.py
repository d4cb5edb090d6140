"""How the platform proves itself to a participant's server."""

from __future__ import annotations

import re
from enum import StrEnum

__all__ = ["AuthScheme", "auth_header", "is_usable_secret"]

_SECRET = re.compile(r"[\x21-\x7e]{8,512}")


class AuthScheme(StrEnum):
    """The header that carries the Memory System Key; `none` is for smoke runs only."""

    NONE = "none"
    TOKEN = "token"  # noqa: S105 - the name of a scheme
    BEARER = "bearer"
    X_API_KEY = "x_api_key"


def is_usable_secret(secret: str) -> bool:
    """Tell whether `secret` can stand in a header: 8 to 512 visible ASCII characters."""
    return bool(_SECRET.fullmatch(secret))


def auth_header(scheme: AuthScheme, secret: str) -> tuple[str, str] | None:
    """Return the name and value of the header for `scheme`, None for `none`.

    The secret must be usable: a line break in it would add a header of its own.
    """
    if scheme is AuthScheme.TOKEN:
        return "Authorization", f"Token {secret}"
    if scheme is AuthScheme.BEARER:
        return "Authorization", f"Bearer {secret}"
    return ("X-Api-Key", secret) if scheme is AuthScheme.X_API_KEY else None
