"""`manage.py check --deploy` names what is unsafe or reaches nobody."""

import pytest

from aml.checks import letters_leave

SMTP = "django.core.mail.backends.smtp.EmailBackend"


def found(settings, backend: str, sender: str = "board@example.org", language: str = "en") -> list[str]:
    settings.EMAIL_BACKEND, settings.DEFAULT_FROM_EMAIL = backend, sender
    settings.AML_ORGANIZER_LANGUAGE = language
    return [str(message.id) for message in letters_leave(None)]


@pytest.mark.parametrize("backend", ["console", "dummy", "locmem"])
def test_letters_that_reach_nobody_are_named(settings, backend: str) -> None:
    assert found(settings, f"django.core.mail.backends.{backend}.EmailBackend") == ["aml.W004"]


def test_a_sender_on_localhost_and_an_unknown_language_are_named(settings) -> None:
    assert found(settings, SMTP, "leaderboard@localhost") == ["aml.W005"]
    assert found(settings, SMTP, "Board <leaderboard@localhost>") == ["aml.W005"]
    assert found(settings, SMTP, language="zh") == ["aml.E002"]


def test_a_mail_server_with_a_sender_of_ones_own_is_fine(settings) -> None:
    assert found(settings, SMTP) == []
