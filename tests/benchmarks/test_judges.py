"""The judges of single datasets over a real connection: their rules, their strict replies, and what is asked twice."""

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest

from benchmarks.datasets.model import Question
from benchmarks.judging.call import prompt_hashes
from benchmarks.judging.chat import ChatReply
from benchmarks.judging.faults import ModelFault
from benchmarks.judging.openai_chat import OpenAIChat
from benchmarks.judging.registry import JUDGES
from benchmarks.judging.verdict import Judgement
from benchmarks.scoring.ordering import ordering_score
from evaluation.evidence.prompts import rebuild_judge_prompt
from tests.loopback_model import LoopbackModel, loopback_model

KEY = b"a run's own key"
FREE = Question("q1", "What does Ada grow?", None, "figs", "single-session-user", "A", ())
RUBRIC = replace(FREE, rubric=("red figs", "green pears", "plums"), category="information_extraction")
ORDER = replace(FREE, rubric=("red figs", "green pears", "plums"), category="event_ordering")


def judged(server: LoopbackModel, judge_id: str, question: Question, answer: str) -> Judgement:
    async def run() -> Judgement:
        async with OpenAIChat(server.base_url, "judge-x", "key", timeout_s=10) as model:
            return await JUDGES[judge_id](model, KEY).judge(question, answer)

    return asyncio.run(run())


class Scripted:
    """A ChatModel that replies with texts in turn, and keeps what it was asked."""

    def __init__(self, *texts: str) -> None:
        self.texts = list(texts)
        self.asked: list[Any] = []

    async def complete(self, messages: Any, *, schema: Any = None, settings: Any = None) -> ChatReply:
        self.asked.append((list(messages), schema))
        return ChatReply(self.texts.pop(0), "m", 1, 1, 1.0, "0" * 64)


def replied(judge_id: str, question: Question, *texts: str) -> tuple[Judgement, Scripted]:
    model = Scripted(*texts)
    return asyncio.run(JUDGES[judge_id](model, KEY).judge(question, "an answer")), model


@pytest.fixture
def server():
    with loopback_model() as running:
        yield running


@pytest.mark.parametrize(
    ("category", "answerable", "says"),
    [
        ("single-session-user", True, "only some of the items is incorrect"),
        ("multi-session", True, "only some of the items is incorrect"),
        ("temporal-reasoning", True, "off by one"),
        ("knowledge-update", True, "old value beside it is fine"),
        ("single-session-preference", True, "need not repeat every point"),
        ("temporal-reasoning", False, "the only correct answer is one that says so"),
    ],
)
def test_longmemeval_is_judged_by_type_and_a_question_without_an_answer_by_its_refusal(
    server: LoopbackModel, category: str, answerable: bool, says: str
) -> None:
    question = replace(FREE, category=category, answerable=answerable)
    judgement = judged(server, "longmemeval.judge.v1", question, "figs")
    assert says in server.requests[0]["messages"][0]["content"]
    assert judgement.score == 1


@pytest.mark.parametrize(
    ("answer", "beam", "clbench", "items"),
    [
        ("red figs, green pears and plums", 1.0, 1.0, (1.0, 1.0, 1.0)),
        ("red figs and green apples", 0.5, 0.0, (1.0, 0.5, 0.0)),
        ("nothing at all", 0.0, 0.0, (0.0, 0.0, 0.0)),
    ],
)
def test_a_rubric_is_judged_item_by_item(
    server: LoopbackModel, answer: str, beam: float, clbench: float, items: tuple[float, ...]
) -> None:
    judgement = judged(server, "beam.rubric.v1", RUBRIC, answer)
    assert (judgement.score, judgement.votes[0].items) == (beam, items)
    assert judgement.verdict == {1.0: "correct", 0.5: "graded", 0.0: "incorrect"}[beam]
    whole = judged(server, "clbench.all.v1", RUBRIC, answer)
    assert (whole.score, whole.votes[0].items) == (clbench, tuple(float(item == 1) for item in items))


@pytest.mark.parametrize(
    ("answer", "order"),
    [
        ("1. red figs\n2. green pears\n3. plums", [0, 1, 2]),
        ("1. plums\n2. green pears\n3. red figs", [2, 1, 0]),
        ("red figs\nblue cheese\nplums", [0, "else", 2]),
        ("blue cheese", ["else"]),
    ],
)
def test_an_order_is_read_out_by_the_judge_and_scored_by_the_formula(
    server: LoopbackModel, answer: str, order: list[Any]
) -> None:
    judgement = judged(server, "beam.rubric.v1", ORDER, answer)
    assert judgement.score == pytest.approx(ordering_score([0, 1, 2], order))
    assert judgement.votes[0].items == tuple(-1 if place == "else" else place for place in order)


def test_a_judge_of_order_does_not_see_the_right_one() -> None:
    question = replace(ORDER, rubric=tuple(f"event {at}" for at in range(12)))
    _, model = replied("beam.rubric.v1", question, '{"events": [], "reason": ""}')
    shown = json.loads(model.asked[0][0][1].content.split("\n")[1])["events"]
    assert sorted(shown.values()) == sorted(question.rubric)
    assert tuple(shown.values()) != question.rubric


BAD_RUBRICS = [
    "",
    "{}",
    '{"items": [], "reason": ""}',
    '{"items": [{"index": 1, "score": 1}, {"index": 2, "score": 1}], "reason": ""}',
    '{"items": [{"index": 1, "score": 1}, {"index": 2, "score": 1}, {"index": 2, "score": 1}], "reason": ""}',
    '{"items": [{"index": 1, "score": 1}, {"index": 2, "score": 1}, {"index": 4, "score": 1}], "reason": ""}',
    '{"items": [{"index": 1, "score": 1}, {"index": 2, "score": 1}, {"index": 3, "score": 0.7}], "reason": ""}',
    '{"items": [{"index": 1, "score": 1}, {"index": 2, "score": 1}, {"index": 3, "score": true}], "reason": ""}',
    '{"items": [{"index": 1, "score": 1}, {"index": 2, "score": 1}, {"index": 3, "score": 1}], "total": 3}',
    '{"items": [{"index": 1, "score": 1}, {"index": 2, "score": 1}, {"index": 3, "score": 1}]} so',
]
GOOD_RUBRIC = '{"items": [{"index": 3, "score": 0}, {"index": 1, "score": 1}, {"index": 2, "score": 1}], "reason": "r"}'


@pytest.mark.parametrize("bad", BAD_RUBRICS)
@pytest.mark.parametrize("judge_id", ["beam.rubric.v1", "clbench.all.v1"])
def test_a_rubric_reply_that_misses_an_item_is_repaired_once_and_then_a_fault(judge_id: str, bad: str) -> None:
    judgement, model = replied(judge_id, RUBRIC, bad, GOOD_RUBRIC)
    assert judgement.votes[0].items == (1.0, 1.0, 0.0)
    assert [message.role for message in model.asked[1][0]] == ["system", "user", "assistant", "user"]
    with pytest.raises(ModelFault) as caught:
        replied(judge_id, RUBRIC, bad, bad)
    assert caught.value.code == "verdict_malformed"


@pytest.mark.parametrize(
    "bad", ['{"events": [1, 1], "reason": ""}', '{"events": [4]}', '{"events": [-1]}', '{"events": 1}']
)
def test_an_order_that_names_an_event_twice_or_none_that_was_shown_is_a_fault(bad: str) -> None:
    with pytest.raises(ModelFault, match="verdict_malformed"):
        replied("beam.rubric.v1", ORDER, bad, bad)


def test_half_a_point_counts_only_where_the_metric_has_it() -> None:
    half = GOOD_RUBRIC.replace('"score": 0', '"score": 0.5')
    assert replied("beam.rubric.v1", RUBRIC, half)[0].score == pytest.approx(2.5 / 3)
    with pytest.raises(ModelFault):
        replied("clbench.all.v1", RUBRIC, half, half)


@pytest.mark.parametrize(("reply", "score"), [(0, 0), (0.5, 0.5), (1, 1)])
def test_atm_takes_three_grades_and_no_other(reply: float, score: float) -> None:
    assert replied("atm.qs.v1", FREE, json.dumps({"score": reply, "reason": ""}))[0].score == score
    with pytest.raises(ModelFault):
        replied("atm.qs.v1", FREE, '{"score": 0.25, "reason": ""}', '{"score": "1", "reason": ""}')


def test_personamem_asks_the_judge_about_free_replies_only(server: LoopbackModel) -> None:
    choice = replace(FREE, options=("plums", "figs"), kind="single_choice")
    judgement = judged(server, "personamem.judge.v1", choice, "(b)")
    assert (judgement.score, judgement.method, server.calls) == (1, "rule", 0)
    judgement = judged(server, "personamem.judge.v1", FREE, "You like figs")
    assert (judgement.score, judgement.method, server.calls) == (1, "judge", 1)
    assert "fits this person best" in server.requests[0]["messages"][0]["content"]


@pytest.mark.parametrize("judge_id", JUDGES)
def test_every_judge_fails_as_a_fault_and_takes_an_empty_answer_for_wrong(judge_id: str) -> None:
    for mode, code in (("prose", "verdict_malformed"), ("http_500", "model_status"), ("empty", "model_empty")):
        with loopback_model(mode=mode) as server, pytest.raises(ModelFault) as caught:
            judged(server, judge_id, RUBRIC, "figs")
        assert caught.value.code == code
    assert JUDGES[judge_id].ruling(RUBRIC, " … ").score == 0  # type: ignore[union-attr]


@pytest.mark.parametrize("judge_id", JUDGES)
@pytest.mark.parametrize("question", [RUBRIC, ORDER, FREE, replace(FREE, answerable=False)])
def test_a_judges_prompt_can_be_built_again(server: LoopbackModel, judge_id: str, question: Question) -> None:
    judgement = judged(server, judge_id, question, "red figs \U0001f347 <|im_end|>")
    baseline = {"judge": {"backend": "openai"}}
    prompt = rebuild_judge_prompt(baseline, KEY, judge_id, question, "red figs \U0001f347 <|im_end|>")
    assert prompt is not None
    assert prompt.sha256 == judgement.votes[0].prompt_sha256
    assert "$" not in prompt.messages[0].content
    assert "gold" not in server.requests[0]["messages"][1]["content"]
    assert rebuild_judge_prompt(baseline, KEY, "locomo.f1.v1", question, "figs") is None


def test_every_prompt_file_of_a_judge_is_hashed() -> None:
    systems = {"system.txt", "system_rubric.txt", "system_order.txt", "system_graded.txt"}
    rules = {f"rule_{name}.txt" for name in ("rubric", "rubric_all", "order", "graded", "persona")}
    assert systems | rules <= set(prompt_hashes())
