"""A setting that is missing or malformed ends the start in one line, and a stranger's host name fills no log."""

import logging
import os
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
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_a_bad_setting_ends_the_start_in_one_line(environment: dict[str, str], words: str, tmp_path: Any) -> None:
    ended = start(**{"AML_VAR_DIR": str(tmp_path), **environment})
    assert ended.returncode == 1
    assert ended.stderr.startswith(f"Settings: {words}")
    assert ended.stderr.count("\n") == 1


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
