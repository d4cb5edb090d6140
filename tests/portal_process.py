"""The whole portal as its users meet it: web server, worker and memory server, on a database of their own."""

import contextlib
import json
import os
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent


@contextlib.contextmanager
def running_portal(folder: Path, *arguments: str, within_s: float = 150.0) -> Iterator[dict[str, Any]]:
    """Start `python -m aml.demo` in `folder` and give its facts (addresses and logins) once everything is up."""
    facts_file = folder / "facts.json"
    log = folder / "demo.log"
    folder.mkdir(parents=True, exist_ok=True)
    facts_file.unlink(missing_ok=True)
    with _database(folder) as database, log.open("wb") as output:
        command = ["-m", "aml.demo", "--folder", str(folder / "portal"), "--facts", str(facts_file), *database]
        demo = subprocess.Popen(
            [sys.executable, *command, *arguments],
            cwd=ROOT,
            env={name: value for name, value in os.environ.items() if not name.startswith("AML_")},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        try:
            yield _wait_for_facts(demo, facts_file, log, within_s)
        finally:
            demo.terminate()
            demo.wait(30)


def _wait_for_facts(demo: subprocess.Popen[bytes], facts_file: Path, log: Path, within_s: float) -> dict[str, Any]:
    deadline = time.monotonic() + within_s
    while not facts_file.exists():
        if demo.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"The portal did not start (exit code {demo.poll()}):\n{log.read_text()[-4000:]}")
        time.sleep(0.1)
    facts: dict[str, Any] = json.loads(facts_file.read_text())
    return facts


@contextlib.contextmanager
def _database(folder: Path) -> Iterator[list[str]]:
    """With PostgreSQL under test, a database of its own; otherwise the demo's SQLite file."""
    address = os.environ.get("DATABASE_URL", "")
    if not address.startswith("postgres"):
        yield []
        return
    import psycopg

    name = f"portal_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')
        try:
            yield ["--database", f"{address.rpartition('/')[0]}/{name}"]
        finally:
            connection.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')
