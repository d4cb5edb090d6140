"""The settings of real use for what is measured: with DEBUG on, Django keeps every statement and caches no page."""

from __future__ import annotations

import base64
import os
import secrets
from pathlib import Path

__all__ = ["environment"]


def environment(folder: Path, **more: str) -> dict[str, str]:
    """The environment of a program that works in `folder`, with a database of its own in it."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(("AML_", "DATABASE_URL"))}
    return env | {
        "DJANGO_SETTINGS_MODULE": "aml.settings",
        "DEBUG": "off",
        "AML_HTTPS": "off",
        "SECRET_KEY": secrets.token_urlsafe(50),
        "ALLOWED_HOSTS": "127.0.0.1",
        "AML_SITE_URL": "http://127.0.0.1",
        "AML_KEY_PEPPER": secrets.token_urlsafe(32),
        "AML_SECRETS_KEYS": "bench:" + base64.b64encode(secrets.token_bytes(32)).decode(),
        "AML_VAR_DIR": str(folder),
        "DATABASE_URL": f"sqlite:///{folder / 'bench.sqlite3'}",
        "LOG_LEVEL": "ERROR",
        **more,
    }
