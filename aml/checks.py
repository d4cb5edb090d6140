"""System checks that name what is unsafe in the settings. `manage.py serve` shows them, and stops at an error."""

from collections.abc import Sequence
from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register

from evaluation.pipeline.answering.counting import CounterMissing, counter_for


@register(Tags.security, deploy=True)
def real_use(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[CheckMessage]:
    """What a public portal must not run with."""
    found: list[CheckMessage] = []
    if settings.DEBUG:
        found.append(
            Error(
                "DEBUG is on: error pages show settings and code, and the secrets are the public ones for development.",
                hint="Set DEBUG=off in the environment or in .env, and the secrets that .env.example lists.",
                id="aml.E001",
            )
        )
    if settings.AML_SITE_URL.startswith("http://") and not settings.DEBUG:
        found.append(
            Warning(
                "AML_SITE_URL begins with http://: letters and permalinks lead to an unencrypted address.",
                hint="Set AML_SITE_URL to the https:// address that people use.",
                id="aml.W001",
            )
        )
    return found


@register(Tags.security, deploy=True)
def private_targets(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[CheckMessage]:
    """Submitted URLs may reach private addresses: right for a company's internal board, wrong for a public one."""
    if not settings.AML_ALLOWED_PRIVATE_TARGETS:
        return []
    return [
        Warning(
            f"Submitted URLs may call these private targets: {', '.join(settings.AML_ALLOWED_PRIVATE_TARGETS)}.",
            hint="Empty AML_ALLOWED_PRIVATE_TARGETS unless this is an internal board.",
            id="aml.W002",
        )
    ]


@register(Tags.compatibility)
def tokenizer_is_there(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[CheckMessage]:
    """A tokenizer that can't be read would stop every run."""
    if not settings.AML_ANSWER_TOKENIZER:
        return []
    try:
        counter_for(settings.AML_ANSWER_TOKENIZER)
    except CounterMissing as error:
        return [Error(str(error), hint="Name a tokenizer.json on this machine, or leave it empty.", id="aml.E003")]
    return []


@register(Tags.security, deploy=True)
def letters_leave(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[CheckMessage]:
    """Letters that are printed reach nobody, and a sender on localhost is refused by most mail servers."""
    found: list[CheckMessage] = []
    if settings.EMAIL_BACKEND.rpartition(".")[0].rpartition(".")[2] in {"console", "dummy", "locmem"}:
        found.append(
            Warning(
                "Letters are printed or dropped: nobody is told of decisions, results and rotated keys.",
                hint="Set EMAIL_URL to a mail server, such as smtp+tls://user:password@mail.example.org:587.",
                id="aml.W004",
            )
        )
    elif settings.DEFAULT_FROM_EMAIL.rstrip(">").endswith("@localhost"):
        found.append(
            Warning(
                "DEFAULT_FROM_EMAIL is an address on localhost, which mail servers refuse.",
                hint="Set DEFAULT_FROM_EMAIL to an address of your own.",
                id="aml.W005",
            )
        )
    if settings.AML_ORGANIZER_LANGUAGE not in dict(settings.LANGUAGES):
        found.append(
            Error(
                f"AML_ORGANIZER_LANGUAGE is {settings.AML_ORGANIZER_LANGUAGE!r}. Expected en or zh-hans.",
                hint="Set it to a language of the site.",
                id="aml.E002",
            )
        )
    return found


@register(Tags.database, deploy=True)
def database_for_many(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[CheckMessage]:
    """SQLite is the embedded default: one machine, few writers."""
    if settings.DATABASES["default"]["ENGINE"] != "django.db.backends.sqlite3":
        return []
    return [
        Warning(
            "The database is SQLite, which serves one machine.",
            hint="Set DATABASE_URL=postgres://user:password@host:5432/name for an official board.",
            id="aml.W003",
        )
    ]


@register(Tags.compatibility)
def lease_and_heartbeat(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[CheckMessage]:
    """A lease that runs out between two beats is lost by a worker that is well."""
    if 2 * settings.AML_HEARTBEAT_S <= settings.AML_LEASE_S:
        return []
    return [
        Error(
            f"AML_HEARTBEAT_S is {settings.AML_HEARTBEAT_S:g} and AML_LEASE_S {settings.AML_LEASE_S:g}: "
            "one late beat loses the lease of a run that goes well.",
            hint="Set AML_LEASE_S to at least twice AML_HEARTBEAT_S.",
            id="aml.E002",
        )
    ]
