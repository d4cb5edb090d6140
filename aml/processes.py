"""Runs the portal's programs side by side: started in groups of their own, watched, and ended together."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType, TracebackType
from typing import Self

import httpx

from aml import leash
from aml.bodies import WEB_THREADS
from aml.claims import Taken, claim_port
from aml.leash import ENDS_WITHIN_S, RELEASED


class StartFailed(RuntimeError):
    """A program ended, or did not answer in time; the message holds the end of its log."""


@dataclass(frozen=True, slots=True)
class Program:
    name: str
    process: subprocess.Popen[bytes]
    log: Path | None


class Fleet:
    """Programs that live as long as a `with` block. SIGTERM and SIGHUP end the block as Ctrl-C does.

    A leash, one more process, ends them when this one is killed outright.
    """

    def __init__(self) -> None:
        self._programs: list[Program] = []
        self._leash: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        for name in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(name, _interrupt)
        self._leash = subprocess.Popen(  # noqa: S603  the arguments are this project's own
            python(leash.__file__),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for program in reversed(self._programs):
            if program.process.poll() is None:
                program.process.send_signal(signal.SIGTERM)
        deadline = time.monotonic() + ENDS_WITHIN_S
        for program in reversed(self._programs):
            with contextlib.suppress(subprocess.TimeoutExpired):
                program.process.wait(max(0.1, deadline - time.monotonic()))
            # The group goes in any case: a program that ended in a hurry may have left children.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(program.process.pid, signal.SIGKILL)
            program.process.wait()
        self._tell_leash(RELEASED)
        if self._leash is not None and self._leash.stdin is not None:
            with contextlib.suppress(OSError):
                self._leash.stdin.close()
            self._leash.wait()

    def start(
        self, name: str, arguments: Sequence[str], *, environment: Mapping[str, str] | None = None, log: Path | None
    ) -> Program:
        """Start a program; its output goes to `log`, or to this terminal when there is none."""
        with contextlib.ExitStack() as stack:
            output = None
            if log is not None:
                log.parent.mkdir(parents=True, exist_ok=True)
                output = stack.enter_context(log.open("wb"))
            process = subprocess.Popen(  # noqa: S603  the arguments are this project's own
                [*arguments],
                env={**os.environ, **(environment or {})},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT if output else None,
                start_new_session=True,
            )
        program = Program(name, process, log)
        self._programs.append(program)
        self._tell_leash(str(process.pid))
        return program

    def wait_until_answers(self, program: Program, url: str, *, within_s: float = 90.0) -> None:
        """Return when `url` answers 2xx; raise `StartFailed` when the program ends first or time runs out."""
        deadline = time.monotonic() + within_s
        while time.monotonic() < deadline:
            if program.process.poll() is not None:
                raise StartFailed(
                    f"{program.name} ended with exit code {program.process.returncode}.\n{_tail(program)}"
                )
            with contextlib.suppress(httpx.HTTPError):
                if httpx.get(url, trust_env=False, timeout=2.0).is_success:
                    return
            time.sleep(0.1)
        raise StartFailed(f"{program.name} did not answer at {url} within {within_s:.0f} s.\n{_tail(program)}")

    def wait_for_any_end(self) -> Program:
        """Block until one of the programs ends, and return it."""
        while True:
            for program in self._programs:
                if program.process.poll() is not None:
                    return program
            time.sleep(0.5)

    def _tell_leash(self, line: str) -> None:
        if self._leash is None or self._leash.stdin is None:
            return
        with contextlib.suppress(OSError):  # somebody has ended the leash: the programs run on
            self._leash.stdin.write(line + "\n")
            self._leash.stdin.flush()


def python(*arguments: str) -> list[str]:
    """A command line that runs this very Python."""
    return [sys.executable, *arguments]


def web_server(*, host: str, port: int, workers: int) -> list[str]:
    """The command line of the web server, for `Fleet.start`. Claims the port; raises `StartFailed` when it is taken."""
    try:
        claim_port(host, port)
    except Taken as error:
        raise StartFailed(str(error)) from error
    return python(
        *("-m", "granian", "aml.wsgi:application", "--interface", "wsgi", "--no-ws", "--respawn-failed-workers"),
        *("--host", host, "--port", str(port), "--workers", str(workers), "--blocking-threads", str(WEB_THREADS)),
        # Each open connection takes one of these places, also while it is idle, until no new head comes in time.
        *("--backpressure", "512", "--http1-header-read-timeout", "10000", "--log-level", "warning"),
    )


def _interrupt(signum: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _tail(program: Program) -> str:
    if program.log is None or not program.log.exists():
        return ""
    return "\n".join(program.log.read_text(errors="replace").splitlines()[-15:])
