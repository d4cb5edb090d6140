"""`make suites`: when it says that a suite's order holds, and what a run of it shows."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings

from aml.demo.ordering import PORTAL, Mark, SuiteLine


def line(**means: tuple[float, float, float]) -> SuiteLine:
    marks = {"no-memory": Mark(0.0, 0.0, 0.1), "bm25": Mark(0.4, 0.3, 0.5), "oracle": Mark(0.5, 0.4, 0.6)}
    changed = {name.replace("_", "-"): Mark(*values) for name, values in means.items()}
    return SuiteLine("hearth", 120, 100, 10, {**marks, **changed, PORTAL: Mark(0.4, 0.3, 0.5)})


@pytest.mark.parametrize(
    ("means", "problems"),
    [
        ({}, []),
        ({"bm25": (0.5, 0.4, 0.6)}, []),
        ({"bm25": (0.51, 0.4, 0.6)}, ["BM25 is above the oracle"]),
        ({"bm25": (0.0, 0.0, 0.0)}, ["no-memory is not below BM25"]),
        ({"no_memory": (0.1, 0.0, 0.4)}, ["the intervals of no-memory and oracle overlap"]),
    ],
)
def test_an_order_that_does_not_hold_is_named(
    means: dict[str, tuple[float, float, float]], problems: list[str]
) -> None:
    assert line(**means).problems() == problems


def test_without_evidence_plain_search_is_the_upper_end() -> None:
    marks = {name: mark for name, mark in line(no_memory=(0.2, 0.1, 0.35)).marks.items() if name != "oracle"}
    assert SuiteLine("songs", 9, 9, 3, marks).problems() == ["the intervals of no-memory and BM25 overlap"]


def test_a_suite_is_evaluated_through_the_portal_and_by_the_arms_and_stands_in_a_table(tmp_path: Path) -> None:
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("DATABASE_", "AML_"))}
    done = subprocess.run(
        [sys.executable, "-m", "aml.demo.suites", "hearth", "--folder", str(tmp_path / "suites")],
        cwd=settings.BASE_DIR, env=environment, capture_output=True, text=True, timeout=240,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    row = next(text.split() for text in done.stdout.splitlines() if text.strip().startswith("hearth"))
    no_memory, _full, bm25, oracle, server = map(float, row[1:6])
    assert (no_memory, row[6]) == (0, "holds")
    assert no_memory < bm25 <= oracle
    assert server == bm25, "the reference server is plain search over the same turns, by another road"
