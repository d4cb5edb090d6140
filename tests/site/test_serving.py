"""The commands that start the portal: for real use with real settings, and the demo's road when it is blocked."""

import base64
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.conftest import ROOT

pytestmark = pytest.mark.xdist_group("portal")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def real_settings(tmp_path: Path) -> dict[str, str]:
    """An environment as an official board has it, but on SQLite, which only earns a warning."""
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith("AML_")},
        "DEBUG": "off",
        "SECRET_KEY": secrets.token_urlsafe(50),
        "ALLOWED_HOSTS": "leaderboard.example.org",
        "AML_SITE_URL": "https://leaderboard.example.org",
        "AML_SECRETS_KEYS": "k1:" + base64.b64encode(secrets.token_bytes(32)).decode(),
        "AML_KEY_PEPPER": secrets.token_urlsafe(32),
        "AML_VAR_DIR": str(tmp_path),
        "DATABASE_URL": f"sqlite:///{tmp_path}/aml.sqlite3",
    }


def manage(environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_serve_wants_the_migrations_first(real_settings: dict[str, str]) -> None:
    ended = manage(real_settings, "serve", "--port", str(free_port()))
    assert ended.returncode != 0
    assert "manage.py migrate" in ended.stderr


def test_serve_refuses_debug(real_settings: dict[str, str]) -> None:
    ended = manage({**real_settings, "DEBUG": "on"}, "serve", "--port", str(free_port()))
    assert ended.returncode != 0
    assert "aml.E001" in ended.stderr


@pytest.fixture
def served(real_settings: dict[str, str]) -> Iterator[tuple[subprocess.Popen[str], int]]:
    assert manage(real_settings, "migrate", "--verbosity", "0").returncode == 0
    port = free_port()
    command = [sys.executable, "manage.py", "serve", "--port", str(port), "--web-workers", "1"]
    process = subprocess.Popen(
        command, cwd=ROOT, env=real_settings, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    yield process, port
    if process.poll() is None:
        process.kill()
    process.communicate()


def test_serve_starts_with_the_settings_it_is_for(served: tuple[subprocess.Popen[str], int]) -> None:
    process, port = served
    assert process.stdout is not None
    deadline = time.monotonic() + 90
    for line in process.stdout:
        if line.startswith("Serving https://leaderboard.example.org"):
            break
        assert time.monotonic() < deadline, line
    else:
        pytest.fail(f"serve ended with exit code {process.wait()}")
    site = f"http://127.0.0.1:{port}"
    proxied = {"Host": "leaderboard.example.org"}
    assert httpx.get(f"{site}/readyz", trust_env=False).json()["status"] == "ready"
    assert httpx.get(f"{site}/en/", headers=proxied, trust_env=False).headers["location"].startswith("https://")
    assert httpx.get(f"{site}/en/", headers={"Host": "evil.example"}, trust_env=False).status_code == 400
    process.send_signal(signal.SIGTERM)
    process.wait(20)
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{site}/healthz", trust_env=False)


def test_the_demo_says_why_a_server_does_not_get_through(tmp_path: Path) -> None:
    port = free_port()
    server = subprocess.Popen(
        [sys.executable, "-m", "aml.command", "serve", "--fault", "content_missing", "--port", str(port)],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
    )
    try:
        ended = subprocess.run(
            [sys.executable, "-m", "aml.demo", "--server", f"http://127.0.0.1:{port}", "--folder", str(tmp_path)],
            cwd=ROOT,
            env={**os.environ, "DEMO_EXIT": "1", "COLUMNS": "200"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=150,
            check=False,
        )
    finally:
        server.terminate()
        server.wait(10)
    assert ended.returncode == 1
    assert "The demo stopped." in ended.stdout
    for word in ("content_missing", "participant", "expected:", "what to do:", "/en/evaluation/runs/", "aml_live_"):
        assert word in ended.stdout
