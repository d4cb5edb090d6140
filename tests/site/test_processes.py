"""The portal's programs side by side: ended with whoever started them, alone on their port and in their folder."""

import os
import signal
import socket
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from aml.claims import somebody_listens
from aml.processes import StartFailed, web_server

ROOT = Path(__file__).resolve().parent.parent.parent


def run(code: str, **options: Any) -> "subprocess.Popen[str]":
    """Python with `code`, whose output can be read."""
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
        **options,
    )


@pytest.mark.parametrize("name", ["SIGKILL", "SIGTERM", "SIGINT", "SIGHUP"])
def test_programs_end_with_their_starter_however_that_ends(name: str) -> None:
    starter = run("""
        import signal, time
        from aml.processes import Fleet, python
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job begins with it ignored
        with Fleet() as fleet:
            for number in range(2):
                # it keeps our pipe open as long as it lives
                fleet.start("sleeper", python("-c", "import time; time.sleep(300)"), log=None)
            print("up", flush=True)
            time.sleep(300)
    """)
    assert starter.stdout is not None
    assert starter.stdout.readline() == "up\n"
    starter.send_signal(signal.Signals[name])
    starter.communicate(timeout=20)  # the pipe ends when the last of them is gone


def test_a_port_that_somebody_listens_on_is_refused_with_a_sentence() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        other.listen(1)
        port = other.getsockname()[1]
        with pytest.raises(StartFailed, match=f"127.0.0.1:{port} already"):
            web_server(host="127.0.0.1", port=port, workers=1)


def test_a_port_that_was_served_a_moment_ago_is_free() -> None:
    with socket.socket() as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind(("127.0.0.1", 0))
        server.listen(1)
        port = server.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)):
            server.accept()[0].close()  # the side that closes first lingers
    assert not somebody_listens("127.0.0.1", port)


def test_two_starters_at_once_never_share_a_port_or_a_folder(tmp_path: Path) -> None:
    """Neither listens yet while the other looks."""
    claim = f"""
        import sys
        from pathlib import Path
        from aml.demo.__main__ import free_port, own_folder
        import aml.demo.__main__ as demo
        demo.PROJECT = Path({str(tmp_path)!r})
        print(free_port(48731), own_folder(None), flush=True)
        sys.stdin.read()
    """
    starters = [run(claim, stdin=subprocess.PIPE) for _ in range(3)]
    claimed = [starter.stdout.readline().split() for starter in starters if starter.stdout]
    assert len({port for port, _ in claimed}) == 3
    assert {folder for _, folder in claimed} == {str(tmp_path / "var" / name) for name in ("demo", "demo-2", "demo-3")}
    for starter in starters:
        starter.communicate(timeout=20)
    again = run(claim, stdin=subprocess.PIPE)
    assert again.communicate(timeout=20)[0].split() == ["48731", str(tmp_path / "var" / "demo")]


def test_a_folder_that_was_asked_for_and_is_in_use_is_not_emptied(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    asked = f"Path({str(tmp_path / 'kept')!r})"
    claim = f"from pathlib import Path; from aml.demo.__main__ import own_folder; own_folder({asked})"
    first = run(f"{claim}; print('mine', flush=True); input()", stdin=subprocess.PIPE)
    assert first.stdout is not None
    assert first.stdout.readline() == "mine\n"
    second = run(claim, stderr=subprocess.PIPE)
    assert "Another demo works in" in second.communicate(timeout=20)[1]
    assert second.returncode != 0
    first.communicate("\n", timeout=20)
