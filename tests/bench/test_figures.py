"""What `make bench` keeps, and when it fails."""

from __future__ import annotations

import json
from pathlib import Path

from contract.answers import read_search
from contract.verdicts import Verdict
from tests.bench.figures import Figure, markdown, missed, table, write
from tests.bench.samples import HEADERS, SEARCH, pictures_answer, text_answer

FAST = Figure("fast", 0.5, "×", 1.0, "hard")
SLOW = Figure("slow", 1.5, "×", 1.0, "hard")
HOPED = Figure("hoped", 1.5, "×", 1.0, "aim")
BROAD = Figure("broad", 300, "MB/s", 200, "aim", more_is_better=True)


def test_only_a_hard_figure_that_is_missed_fails_the_run() -> None:
    assert missed([FAST, HOPED, BROAD]) == []
    assert missed([FAST, SLOW, HOPED]) == [SLOW]


def test_the_figures_are_kept_by_name_with_goal_and_verdict(tmp_path: Path) -> None:
    write([SLOW, BROAD], tmp_path / "var" / "bench.json")
    kept = json.loads((tmp_path / "var" / "bench.json").read_text(encoding="utf-8"))
    assert kept["slow"] == {"value": 1.5, "unit": "×", "goal": "≤ 1", "kind": "hard", "met": False, "limit": 1.0}
    assert (kept["broad"]["goal"], kept["broad"]["met"]) == ("≥ 200", True)


def test_the_table_tells_a_missed_goal_from_a_missed_aim() -> None:
    lines = table([FAST, SLOW, HOPED]).splitlines()
    assert [line.split()[-1] for line in lines] == ["met", "MISSED", "met"]
    assert lines[2].endswith("not met")


def test_the_answers_that_are_measured_are_good_ones() -> None:
    for body, track in ((text_answer(), "textual"), (pictures_answer(2, 1000), "multimodal")):
        outcome = read_search(200, HEADERS, body, request=SEARCH, track=track)  # type: ignore[arg-type]
        assert (outcome.verdict, outcome.flags) == (Verdict.OK, ())


def test_the_figures_are_a_table_in_markdown_too() -> None:
    lines = markdown([SLOW, BROAD]).splitlines()
    assert len(lines) == 4
    assert lines[2] == "| slow | 1.50 × | ≤ 1 × | hard | missed |"
