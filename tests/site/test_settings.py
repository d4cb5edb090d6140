"""A setting that is missing or malformed ends the start in one line, and a stranger's host name fills no log."""

import logging
import os
import re
import subprocess
import sys
from typing import Any

import pytest
from django.test import Client

from tests.conftest import ROOT


def start(**environment: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("AML_") and name != "SECRET_KEY"}
    return subprocess.run(
        [sys.executable, "manage.py", "check"],
        cwd=ROOT,
        env={**kept, **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize(
    ("environment", "words"),
    [
        ({"DEBUG": "off", "SECRET_KEY": ""}, "SECRET_KEY is not set."),
        ({"AML_WORKERS": "two"}, "AML_WORKERS is malformed. Expected a whole number"),
        ({"AML_LEASE_S": "soon"}, "AML_LEASE_S is malformed. Expected a number"),
        ({"AML_VAR_DIR": "/proc/none/var"}, "AML_VAR_DIR can't be made"),
        ({"AML_WORKERS": "0"}, "AML_WORKERS is malformed. Expected one or more"),
        ({"AML_SLICE_S": "-5"}, "AML_SLICE_S is malformed. Expected a number of seconds above zero"),
        ({"AML_MODEL_TIMEOUT_S": "inf"}, "AML_MODEL_TIMEOUT_S is malformed. Expected a number"),
        ({"AML_TRUSTED_PROXY_COUNT": "-1"}, "AML_TRUSTED_PROXY_COUNT is malformed. Expected zero or more"),
        ({"AML_HTTPS": "onn"}, "AML_HTTPS is malformed. Expected on or off"),
        ({"DEBUG": "maybe"}, "DEBUG is malformed. Expected on or off"),
        ({"DATABASE_URL": "nosql://aml:pass-word@host/aml"}, "DATABASE_URL is malformed. Expected postgres://"),
        (
            {"AML_BROKER_URL": "amqp://aml:pass-word@host"},
            "AML_BROKER_URL is malformed. Expected an address such as redis",
        ),
        ({"CACHE_URL": "none://"}, "CACHE_URL is malformed."),
        ({"EMAIL_URL": "mail.example.org"}, "EMAIL_URL is malformed."),
        ({"LOG_LEVEL": "LOUD"}, "LOG_LEVEL is malformed. Expected DEBUG, INFO"),
        ({"AML_ADMIN_PATH": "/"}, "AML_ADMIN_PATH is malformed. Expected words"),
        ({"AML_SITE_URL": "leaderboard.example.org"}, "AML_SITE_URL is malformed. Expected an address"),
        ({"AML_ANSWER_BASE_URL": "ftp://models"}, "AML_ANSWER_BASE_URL is malformed. Expected an address"),
        ({"AML_SECRETS_KEYS": "k1:AAAA"}, "AML_SECRETS_KEYS: the key k1 has 3 bytes."),
        ({"AML_ALLOWED_PRIVATE_TARGETS": "127.0.0.1"}, "AML_ALLOWED_PRIVATE_TARGETS: expected host:port"),
        ({"AML_OUTBOUND_DENY_NETWORKS": "intranet"}, "AML_OUTBOUND_DENY_NETWORKS holds 'intranet'."),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_a_bad_setting_ends_the_start_in_one_line(environment: dict[str, str], words: str, tmp_path: Any) -> None:
    ended = start(**{"AML_VAR_DIR": str(tmp_path), **environment})
    assert ended.returncode == 1
    assert ended.stderr.startswith(f"Settings: {words}")
    assert ended.stderr.count("\n") == 1
    assert "pass-word" not in ended.stderr


def test_a_heartbeat_that_is_too_slow_for_the_lease_is_named(tmp_path: Any) -> None:
    ended = start(AML_VAR_DIR=str(tmp_path), AML_LEASE_S="20", AML_HEARTBEAT_S="15")
    assert ended.returncode == 1
    assert "aml.E002" in ended.stderr


def test_a_wrong_host_is_one_warning_without_a_traceback(client: Client, capsys: Any) -> None:
    records: list[logging.LogRecord] = []
    handler = logging.Handler()
    handler.emit = records.append  # type: ignore[method-assign]
    logging.getLogger().addHandler(handler)
    try:
        response = client.get("/en/", headers={"Host": "scanner.example.net"})
    finally:
        logging.getLogger().removeHandler(handler)
    assert response.status_code == 400
    [record] = [record for record in records if record.name.startswith("django")]
    assert (record.levelname, record.exc_info) == ("WARNING", None)
    assert "scanner.example.net" in record.getMessage()


def test_every_setting_that_is_read_stands_in_the_example() -> None:
    code = (ROOT / "aml" / "settings.py").read_text()
    read = set(re.findall(r"""(?:env\.\w+|_secret)\(\s*["']([A-Z_]+)["']""", code))
    shown = set(re.findall(r"^#?([A-Z_]+)=", (ROOT / ".env.example").read_text(), re.MULTILINE))
    assert len(read) >= 40
    assert shown == read
