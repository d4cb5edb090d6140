"""Every answer of the case file gets its exact verdict and reason."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from contract.answers import Outcome, read_add, read_search
from contract.messages import AddRequest, SearchRequest
from contract.reasons import REASONS, reason_text
from tests.contract.cases import CASES_DIR, MISSING, body_of, load

CASES = [case for case in load("contract_cases.json") if not case.get("transport_fault")]


def outcome_of(case: dict[str, Any]) -> Outcome:
    status, headers, body = case["status"], case["headers"] or {}, body_of(case)
    if case["endpoint"] == "add":
        add = msgspec.convert(case["request"], AddRequest)
        return read_add(
            status, headers, body, request=add, track=case["track"], add_status_bound=bool(case.get("status_bound"))
        )
    search = msgspec.convert(case["request"], SearchRequest)
    return read_search(status, headers, body, request=search, track=case["track"])


@pytest.mark.skipif(not CASES, reason=MISSING)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_an_answer_gets_its_verdict_and_reason(case: dict[str, Any]) -> None:
    outcome = outcome_of(case)
    assert outcome.verdict == case["verdict"], (case["why"], outcome.reason)
    expected = case["reason_contains"]
    if case["verdict"] == "ok":
        assert outcome.reason is None
        assert not expected or expected in outcome.flags, case["why"]
    elif expected:
        assert outcome.reason is not None
        assert outcome.reason.code == expected, case["why"]


@pytest.mark.skipif(not CASES, reason=MISSING)
def test_every_reason_of_the_case_files_has_its_sentences() -> None:
    codes = {case["reason_contains"] for case in load("contract_cases.json") if case["verdict"] != "ok"}
    codes |= {case["reason"] for case in load("ssrf_cases.json")}
    unknown = {code for code in codes if code and code not in REASONS and not code.startswith("http_")}
    assert not unknown
    assert all(reason_text(code).expected and reason_text(code).advice for code in codes)


def test_the_case_files_are_read_where_the_folder_exists() -> None:
    assert bool(CASES) == (CASES_DIR / "contract_cases.json").is_file()
