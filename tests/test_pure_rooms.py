"""The pure rooms are usable where Django is not installed."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PURE_ROOMS = (
    "contract",
    "benchmarks/datasets",
    "benchmarks/scoring",
    "benchmarks/judging",
    "evaluation/pipeline",
)
BLOCKED = ("django", "rest_framework", "django_q", "psycopg", "environ", "simple_history")
SCRIPT = """
import importlib, sys
for name in sys.argv[1].split(","):
    sys.modules[name] = None
for name in sys.argv[2:]:
    importlib.import_module(name)
loaded = [name for name in sys.argv[1].split(",") if sys.modules.get(name) is not None]
assert not loaded, loaded
print(len(sys.argv) - 2)
"""


def modules_of(room: str) -> list[str]:
    """The dotted names of every module under a room."""
    paths = sorted((ROOT / room).rglob("*.py"))
    names = [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in paths if path.stem != "__main__"]
    return [name.removesuffix(".__init__") for name in names]


@pytest.mark.parametrize("room", PURE_ROOMS)
def test_every_module_of_a_pure_room_imports_with_django_blocked(room: str) -> None:
    names = modules_of(room)
    assert names
    ran = subprocess.run(
        [sys.executable, "-c", SCRIPT, ",".join(BLOCKED), *names], cwd=ROOT, capture_output=True, text=True, timeout=120
    )
    assert ran.returncode == 0, ran.stderr
    assert int(ran.stdout) == len(names)


def test_blocking_django_makes_an_import_of_it_fail() -> None:
    script = SCRIPT.replace("importlib.import_module(name)", "import django")
    ran = subprocess.run([sys.executable, "-c", script, "django", "x"], cwd=ROOT, capture_output=True, text=True)
    assert ran.returncode != 0
    assert "django" in ran.stderr
