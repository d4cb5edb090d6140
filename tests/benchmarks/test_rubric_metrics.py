"""Rubrics by their words, and resolved patches, beside hand-worked cases."""

from dataclasses import replace
from typing import Any

import pytest

from benchmarks.datasets.model import Question
from benchmarks.judging.rules import RuleJudge
from benchmarks.scoring.coding import Attempt, Status, resolved
from benchmarks.scoring.ordering import ordering_score
from benchmarks.scoring.registry import score
from benchmarks.scoring.rubrics import _grades, order_in


def asked(gold: str, category: str = "4") -> Question:
    return Question("q", "?", None, gold, category, "A", ())


ITEMS = (
    "LLM response should state: 1,200 calls per day",
    "The response should mention: red figs on the roof",
    "回答应提到：三棵银杏",
)


@pytest.mark.parametrize(
    ("prediction", "grades"),
    [
        ("1200 calls per day, red figs on the roof, 种了三棵银杏", [1, 1, 1]),
        ("It was 1,200 calls each day", [0.5, 0, 0]),
        ("Figs are red", [0, 0.5, 0]),
        ("三棵树", [0, 0, 0.5]),
        ("The response should state and mention", [0, 0, 0]),
        ("No information available", [0, 0, 0]),
        ("", [0, 0, 0]),
    ],
)
def test_a_rubric_is_scored_by_the_share_of_each_items_words(prediction: str, grades: list[float]) -> None:
    question = replace(asked("x", "summarization"), rubric=ITEMS)
    assert _grades(ITEMS, prediction) == grades
    assert score("rubric.words.v1", question, prediction) == pytest.approx(sum(grades) / 3)
    assert score("rubric.all.v1", question, prediction) == (grades == [1, 1, 1])
    reason = RuleJudge("rubric.all.v1").decide(question, prediction).reason
    assert float(reason) == pytest.approx(grades.count(1) / 3, abs=1e-4)


def test_a_rubric_question_without_an_answer_wants_a_refusal_and_one_without_items_its_gold() -> None:
    unanswerable = replace(asked("", "abstention"), rubric=ITEMS, answerable=False)
    for metric in ("rubric.words.v1", "rubric.all.v1"):
        assert score(metric, unanswerable, "There is no information on that.") == 1
        assert score(metric, unanswerable, "1,200 calls per day") == 0
        assert score(metric, asked("red figs"), "red figs") == 1
        assert score(metric, asked(""), "red figs") == 0


@pytest.mark.parametrize(
    ("prediction", "order"),
    [
        ("1. Debounce\n2. Response times\n3. Dropdown menus", [0, 1, 2]),
        ("first the dropdown menus, then response times; last debounce", [2, 1, 0]),
        ("Debounce and dropdown menus", [0, 2]),
        ("nothing of that", []),
        ("", []),
    ],
)
def test_events_are_found_in_an_answer_in_its_order(prediction: str, order: list[int]) -> None:
    items = ("Debounce delay", "API response times", "Dropdown menus")
    assert order_in(items, prediction) == order
    question = replace(asked("", "event_ordering"), rubric=items)
    assert score("rubric.words.v1", question, prediction) == pytest.approx(ordering_score([0, 1, 2], order))


PASSED: dict[str, Status] = {"fix": "passed", "keep": "passed"}


@pytest.mark.parametrize(
    ("tests", "changes", "expected"),
    [
        ({}, {}, "resolved"),
        ({"keep": "skipped"}, {}, "resolved"),
        ({"other": "failed"}, {"exit_code": 1}, "resolved"),
        ({"fix": "skipped"}, {}, "unresolved"),
        ({"fix": "failed"}, {"exit_code": 1}, "unresolved"),
        ({"fix": "error"}, {"exit_code": 1}, "unresolved"),
        ({"keep": "failed"}, {"exit_code": 1}, "unresolved"),
        ({"fix": None}, {}, "unresolved"),
        ({"keep": None}, {}, "unresolved"),
        ({}, {"applied": False}, "invalid"),
        ({}, {"ran": False}, "invalid"),
        ({}, {"exit_code": 2}, "invalid"),
        ({"fix": "failed"}, {"applied": False, "exit_code": 1}, "invalid"),
    ],
)
def test_a_patch_is_resolved_only_by_tests_that_ran_and_passed(
    tests: dict[str, Any], changes: dict[str, Any], expected: str
) -> None:
    found = {name: status for name, status in {**PASSED, **tests}.items() if status}
    attempt = replace(Attempt(applied=True, ran=True, exit_code=0, tests=found), **changes)
    assert resolved(["fix"], ["keep"], attempt) == expected
