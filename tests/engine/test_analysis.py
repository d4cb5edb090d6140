"""What a run's analysis says: evidence found by hand-worked cases, causes, the sample, and two servers that cheat."""

import json
from typing import Any

import pytest

from benchmarks.datasets.model import Question
from benchmarks.judging.faults import ModelFault
from contract.memories import Memory
from evaluation import budgetcurve
from evaluation.analysispage import charts_of
from evaluation.evidence.replaying import replay_run
from evaluation.models import Item, Job, Result
from evaluation.pipeline.analysis.curve import curve_facts, sample_keys
from evaluation.pipeline.analysis.facts import AnalysisSums, cause_of
from evaluation.pipeline.analysis.found import evidence_ranks
from tests.engine.conftest import Memory as Server
from tests.engine.conftest import job, memory, release  # noqa: F401
from tests.engine.test_run import run_to_end


def question(gold: str = "a red kite", evidence: tuple[str, ...] = ("t1",), *, answerable: bool = True) -> Question:
    return Question("q", "What?", None, gold, "1", "A", evidence, answerable=answerable)


@pytest.mark.parametrize(
    ("gold", "turn", "held", "found"),
    [
        ("blue", "Ann: I bought four apples today", "four apples bought today by Ann", True),  # 5 of 6 tokens
        ("blue", "Ann: I bought four apples today", "Ann bought four of them", False),  # 3 of 6 tokens
        ("red kite", "Look at my red kite over there!", "She owns a red kite.", True),  # the span
        ("red kite", "Look at my red kite over there!", "The kite is red.", False),  # not as a span
        ("7 May 2023", "I went there yesterday", "She went on 7 May 2023", True),  # no turn holds the span
        ("no", "I never eat fish at sea", "there is no way", False),  # too short a span
        ("蓝色", "我最喜欢的颜色是蓝色", "用户喜欢蓝色。", True),  # the span, by character
        ("猫", "我养了一只猫叫小白", "有一只狗", False),  # too short a span
        ("无", "我养了一只猫叫小白", "我养了一只猫叫小黑", True),  # 8 of 9 characters
        ("无", "我养了一只猫叫小白", "我养了狗", False),  # 3 of 9 characters
    ],
)
def test_evidence_is_found_by_enough_tokens_or_by_the_span(gold: str, turn: str, held: str, found: bool) -> None:
    ranks = evidence_ranks(question(gold), {"t1": turn}, [Memory("0", "nothing"), Memory("1", held)])

    assert ranks == ((2,) if found else (None,))


def test_a_span_counts_for_the_turn_that_holds_it_alone() -> None:
    turns = {"t1": "my red kite flew", "t2": "dinner with Bob in Rome"}

    ranks = evidence_ranks(question("red kite", ("t1", "t2")), turns, [Memory("0", "owns a red kite")])

    assert ranks == (1, None)


def test_each_wrong_answer_has_one_cause() -> None:
    def cause(
        asked: Question, *, score: float = 0.2, written: bool = True, ranks: tuple[int | None, ...] = (1,)
    ) -> str:
        return cause_of(asked, score, is_written=written, ranks=ranks)

    assert cause(question(), score=0.5) == ""
    assert cause(question(), written=False) == "never_written"
    assert cause(question(), ranks=(1, None)) == "not_retrieved"
    assert cause(question()) == "retrieved_not_used"
    assert cause(question(evidence=()), ranks=()) == "model_or_label"
    assert cause(question(answerable=False)) == "answered_unanswerable"


def test_recall_is_worked_by_hand() -> None:
    sums = AnalysisSums()
    sums.add(question(evidence=("a", "b")), ranks=(1, 7), returned=8, is_same=False, cause="")
    sums.add(question(), ranks=(None,), returned=0, is_same=False, cause="not_retrieved")

    recall = sums.recall()
    assert recall["n"] == 2
    assert recall["at"]["5"] == {"turns": 0.25, "any": 0.5, "all": 0.0, "ndcg": 0.25}
    assert (recall["at"]["10"]["turns"], recall["at"]["10"]["all"]) == (0.5, 0.5)
    assert sums.attribution()["counts"]["not_retrieved"] == sums.attribution()["wrong"] == 1
    assert sums.signs() == {"empty_share": 0.5, "same_share": 0.0}


def test_the_sample_holds_every_category_and_no_order_changes_it() -> None:
    items = [(f"q{number}", 0, "rare" if number == 3 else "common") for number in range(50)]

    sample = sample_keys(items, seed="s", size=10)

    assert len(sample) == 10
    assert ("q3", 0) in sample
    assert sample == sample_keys(reversed(items), seed="s", size=10) != sample_keys(items, seed="t", size=10)


def test_a_missing_curve_says_why_and_has_no_points() -> None:
    assert curve_facts({5: [1.0]}, seed="ab", missing="model_timeout") == {
        "sample": 0, "seed": "ab", "missing": "model_timeout", "points": [],
    }  # fmt: skip
    assert curve_facts({5: [1.0, 0.0]}, seed="ab")["points"] == [{"memories": 5, "score": 0.5, "n": 2}]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("kind", ["nothing", "everything"])
def test_a_server_that_does_not_search_is_seen_for_what_it_is(job: Job, memory: Server, kind: str) -> None:  # noqa: F811
    said: dict[str, list[dict[str, str]]] = {}

    def answer(path: str, request: dict[str, Any], seen: int) -> tuple[int, bytes] | None:
        kept = said.setdefault(request["user_id"], [])
        if path == "/add":
            kept += [
                {"id": f"{len(kept)}-{n}", "content": each["content"]} for n, each in enumerate(request["messages"])
            ]
            return None
        found = kept[: request["top_k"]] if kind == "everything" else []
        return 200, json.dumps({"data": found}).encode()

    memory.fault = answer
    run_to_end(job)
    assert job.state == "succeeded", job.failure_code
    result = Result.objects.get(job=job)

    assert result.attribution["n"] == result.n == 30
    assert result.budget_curve["missing"] == ""
    assert sum(result.attribution["counts"].values()) == result.attribution["wrong"]
    assert Item.objects.filter(job=job).exclude(attribution="").count() == result.attribution["wrong"]
    notes = [chart.title for chart in charts_of(result)]
    assert "Score by number of memories" in notes
    if kind == "nothing":
        assert (result.efficiency["empty_share"], result.efficiency["context_tokens_mean"]) == (1.0, 0.0)
        assert result.attribution["counts"]["retrieved_not_used"] == 0
    else:
        assert result.efficiency["same_share"] == 0.9  # nine of ten questions of each scope
        assert result.efficiency["context_tokens_p50"] > 0
        assert result.attribution["counts"]["not_retrieved"] == 0
    assert replay_run(job).differences == []
    points = [*result.budget_curve["points"]]
    points[0]["score"] += 0.01
    Result.objects.filter(job=job).update(budget_curve={**result.budget_curve, "points": points}, recall={})
    assert [text.split(":")[0] for text in replay_run(job).differences] == ["result, recall", "result, budget_curve"]


@pytest.mark.django_db(transaction=True)
def test_a_model_that_fails_on_the_curve_costs_the_run_no_score(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    async def fail(*_: Any) -> float:
        raise ModelFault("model_status", "gone", transient=False)

    monkeypatch.setattr(budgetcurve, "score_at", fail)
    run_to_end(job)

    result = Result.objects.get(job=job)
    assert (result.n, result.coverage) == (30, 1.0)
    assert (result.budget_curve["missing"], result.budget_curve["points"]) == ("model_status", [])
