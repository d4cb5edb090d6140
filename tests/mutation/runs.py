"""Runs tests in a copy of the tree that was edited."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from tests.contract.cases import CASES_DIR, ROOT
from tests.mutation.guards import Mutation

__all__ = ["baseline", "copy_tree", "survives"]

FAILED = 1  # pytest: tests were collected and run, and some failed
LEFT_OUT = shutil.ignore_patterns("__pycache__", ".hypothesis", ".pytest_cache")


def copy_tree(tree: Path) -> Path:
    """Copy what the contract's tests need into `tree`, and return it."""
    (tree / "tests").mkdir(parents=True)
    shutil.copytree(ROOT / "contract", tree / "contract", ignore=LEFT_OUT)
    shutil.copytree(ROOT / "tests" / "contract", tree / "tests" / "contract", ignore=LEFT_OUT)
    shutil.copy(ROOT / "tests" / "__init__.py", tree / "tests")
    (tree / "pytest.ini").write_text("[pytest]\naddopts = -q -p no:cacheprovider\n")
    return tree


def baseline(tree: Path, mutations: Iterable[Mutation]) -> str:
    """Run every test that a mutation names on the unchanged copy; return the output when one fails, else ""."""
    tests = dict.fromkeys(test for mutation in mutations for test in mutation.tests)
    done = _pytest(tree, tests)
    return "" if done.returncode == 0 else done.stdout[-4000:]


def survives(tree: Path, mutation: Mutation) -> str:
    """Apply `mutation`, run its tests and undo it; return why it was not noticed, "" when it was."""
    before: dict[Path, str] = {}
    try:
        for edit in mutation.edits:
            file = tree / edit.file
            source = file.read_text(encoding="utf-8")
            if source.count(edit.old) != 1:
                return f"{edit.old.strip()!r} stands {source.count(edit.old)} times in {edit.file}"
            before.setdefault(file, source)
            changed = source.replace(edit.old, edit.new)
            compile(changed, edit.file, "exec")
            _write(file, changed)
        done = _pytest(tree, mutation.tests)
    finally:
        for file, source in before.items():
            _write(file, source)
    if done.returncode == FAILED:
        return ""
    return "no test failed" if done.returncode == 0 else f"pytest ended with {done.returncode}:\n{done.stdout[-2000:]}"


def _write(file: Path, source: str) -> None:
    """Write a module and forget its compiled form: a change of the same size in the same second would not be seen."""
    file.write_text(source, encoding="utf-8")
    for compiled in file.parent.glob(f"__pycache__/{file.stem}.*.pyc"):
        compiled.unlink()


def _pytest(tree: Path, tests: Iterable[str]) -> subprocess.CompletedProcess[str]:
    settings = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "AML_CASES_DIR": str(CASES_DIR)}
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "PYTHON"))}
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-x", *tests],
        cwd=tree,
        env=kept | settings,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
    )
