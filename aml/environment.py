"""Reads settings from the environment so that a malformed one is named in a sentence."""

from typing import Any

import environ
from django.core.exceptions import ImproperlyConfigured

_WANTED = {int: "a whole number", float: "a number"}


class Environment(environ.Env):
    """An `environ.Env` that raises ImproperlyConfigured with the setting's name, and never shows a value."""

    def get_value(
        self, var: str, cast: Any = None, default: Any = environ.Env.NOTSET, parse_default: bool = False
    ) -> Any:
        try:
            return super().get_value(var, cast=cast, default=default, parse_default=parse_default)
        except (ValueError, TypeError):
            wanted = _WANTED.get(cast, "another form")
            raise ImproperlyConfigured(f"{var} is malformed. Expected {wanted}; .env.example shows one.") from None
