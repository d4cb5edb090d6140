"""Our own suites in LongMemEval's and PersonaMem's formats: counts, hashes, and that they tell memories apart."""

from pathlib import Path
from statistics import mean

import pytest

from benchmarks.datasets.bundle import inspect_bundle, load_bundle
from benchmarks.datasets.model import Question, Scope
from benchmarks.scoring.registry import score
from evaluation.pipeline.answering.offline import OfflineAnswerer
from evaluation.pipeline.arms import open_arm

SUITES = Path(__file__).parents[2] / "benchmarks" / "suites"
COUNTS = {
    "attic": (30, 366, 1464, 30, 26),
    "facets": (12, 36, 84, 48, 48),
    "likeness": (12, 12, 36, 36, 36),
}
METRICS = {"attic": "words.refusal.v1", "facets": "personamem.mcq.v1", "likeness": "personamem.words.v1"}


def asked(name: str) -> list[tuple[Scope, Question]]:
    return [(scope, question) for scope in load_bundle(SUITES / name) for question in scope.questions]


@pytest.mark.parametrize("name", COUNTS)
def test_a_manifest_agrees_with_its_files(name: str) -> None:
    facts = inspect_bundle(SUITES / name)
    assert facts.manifest.sha256 == dict(facts.files)
    assert (facts.scopes, facts.sessions, facts.turns, facts.questions, facts.answerable) == COUNTS[name]
    assert facts.manifest.licence == "CC-BY-4.0"
    assert [scope.key for scope in load_bundle(SUITES / name, smoke=True)] == list(facts.manifest.smoke_scopes)


@pytest.mark.parametrize("name", COUNTS)
def test_half_of_a_suite_is_english_and_half_chinese(name: str) -> None:
    keys = [scope.key for scope in load_bundle(SUITES / name)]
    assert sum("-en-" in key for key in keys) == sum("-zh-" in key for key in keys) == len(keys) / 2


@pytest.mark.parametrize("name", COUNTS)
def test_every_question_names_turns_that_hold_its_answer(name: str) -> None:
    for scope, question in asked(name):
        turns = {turn.turn_id for session in scope.written_before(question) for turn in session.turns}
        assert question.evidence
        assert set(question.evidence) <= turns, question


@pytest.mark.parametrize("name", COUNTS)
def test_the_right_answer_scores_one_and_a_refusal_only_where_nothing_was_said(name: str) -> None:
    for scope, question in asked(name):
        refusal = "没有提到相关信息" if "-zh-" in scope.key else "No information available"
        right = question.gold
        if question.options and right in question.options:
            right = f"({'abcd'[question.options.index(right)]})"
        assert score(METRICS[name], question, right if question.answerable else refusal) == 1.0, question
        assert score(METRICS[name], question, refusal) == (not question.answerable), question


@pytest.mark.parametrize("name", COUNTS)
def test_no_memory_knows_nothing_and_the_evidence_knows_most(name: str) -> None:
    answerer = OfflineAnswerer()

    def reach(arm: str) -> float:
        scores = []
        for scope in load_bundle(SUITES / name):
            recall = open_arm(arm, scope, top_k=10, token_budget=100_000)
            for question in scope.questions:
                if question.answerable:
                    text = answerer.extract(question, recall(question).memories).text
                    scores.append(score(METRICS[name], question, text))
        return mean(scores)

    assert reach("no-memory") < 0.05 < 0.3 < reach("bm25") <= reach("oracle")
