"""Whole runs through the portal by its demo: LoCoMo end to end, and the memory of ten times the questions."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.bench.figures import Figure
from tests.engine.talks import write_bundle

__all__ = ["run_figures"]

LOCOMO = Path(os.environ.get("AML_DATA_DIR", Path(__file__).resolve().parents[3] / "shared" / "data")) / "locomo"
_SAID = re.compile(r"wall time ([0-9.]+) s;\s+peak memory of one worker\s+process\s+([0-9]+)\s+MiB")


def run_figures() -> Iterator[Figure]:
    """Yield seconds of the full evaluation of LoCoMo, where the file is, and the growth of a worker's peak memory."""
    if LOCOMO.is_dir():
        seconds, _ = _demo(LOCOMO)
        yield Figure("locomo_end_to_end", seconds, "s", 60, "aim")
    else:
        print(f"No LoCoMo in {LOCOMO.name}/: set AML_DATA_DIR to the folder of public data to measure it.")
    with tempfile.TemporaryDirectory() as folder:
        _, once = _demo(write_bundle(Path(folder) / "once", scopes=20, questions=20))
        _, ten = _demo(write_bundle(Path(folder) / "ten", scopes=200, questions=20))
    print(f"peak memory of a worker: {once:.0f} MiB for 400 questions, {ten:.0f} MiB for 4,000")
    yield Figure("memory_at_ten_times_the_questions", ten / once, "×", 1.1, "hard")


def _demo(bundle: Path) -> tuple[float, float]:
    """Evaluate `bundle` in full; return its seconds and the peak MiB of a worker."""
    with tempfile.TemporaryDirectory() as folder:
        program = [sys.executable, "-m", "aml.demo", "--bundle", str(bundle), "--dataset", "locomo", "--figures"]
        done = subprocess.run(
            [*program, "--folder", str(Path(folder) / "demo")],
            env={**os.environ, "DEMO_EXIT": "1", "COLUMNS": "200"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
    found = _SAID.search(done.stdout)
    if done.returncode or not found:
        raise RuntimeError(f"the demo ended with {done.returncode}:\n{done.stdout[-3000:]}\n{done.stderr[-2000:]}")
    return float(found[1]), float(found[2])
