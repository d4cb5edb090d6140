"""Metrics beside hand-worked cases, a second implementation, and any text at all."""

import json
import re
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.stats as stats
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.datasets.model import Question
from benchmarks.judging.agreement import krippendorff_nominal
from benchmarks.judging.rules import RuleJudge
from benchmarks.scoring.choices import _bracketed, _listed_letters, _names_option
from benchmarks.scoring.ordering import ordering_score
from benchmarks.scoring.overlap import mean, stem
from benchmarks.scoring.proportions import mcnemar_exact, wilson95
from benchmarks.scoring.registry import METRICS, score
from benchmarks.scoring.retrieval import ndcg, recall_all, recall_any
from benchmarks.scoring.token_f1 import normalise_locomo, normalise_words

stem("warm")  # loads the stemmer before anything is timed
WILD = st.characters(exclude_categories=())  # lone surrogates and U+0000 among them
ANY_TEXT = (
    st.text()
    | st.text(WILD)
    | st.text(st.sampled_from("abcdefABCDEF()[]{},.;:\\ 你好，。0159_-"))
    | st.just("\\boxed{(A)}")
)
KINDS = st.sampled_from(["free", "single_choice", "multi_select", "ordering"])
CATEGORIES = st.sampled_from(["1", "2", "3", "4", "5", "", "event_ordering", "abstention"])


def asked(gold: str, category: str = "4", kind: str = "free") -> Question:
    return Question("q", "?", None, gold, category, "A", (), kind)


@pytest.mark.parametrize("metric", METRICS)
@given(
    question=st.builds(
        Question,
        key=st.just("q"),
        query=st.just("?"),
        options=st.none() | st.lists(ANY_TEXT, max_size=6).map(tuple),
        gold=ANY_TEXT,
        category=CATEGORIES,
        capability=st.just("A"),
        evidence=st.just(()),
        kind=KINDS,
        answerable=st.booleans(),
        rubric=st.lists(ANY_TEXT, max_size=5).map(tuple),
    ),
    prediction=ANY_TEXT,
)
def test_no_text_makes_a_metric_raise_or_leave_its_range(metric: str, question: Question, prediction: str) -> None:
    judgement = RuleJudge(metric).decide(question, prediction)
    assert isinstance(judgement.score, float)
    assert 0 <= judgement.score <= 1


BOMBS = [
    "(",
    "[",
    "([",
    ")",
    "()",
    "\\boxed{",
    "(a. \n",
    "a. ",
    "y",
    "Y ",
    ",",
    "a,",
    "a;",
    "not mentioned ",
    "1,",
    "<final_answer>",
]
BOMBS += [
    "final answer:",
    "</think>",
    "(A)(",
    "[A][",
    "应",
    "：",
    "你好，",
    "’",
    " ",
    "\x00",
    "\ud800",
    "should: ",
    "1) ",
    "the ",
]


@pytest.mark.parametrize("metric", METRICS)
def test_long_repeats_are_scored_in_bounded_time(metric: str) -> None:
    rubric = ("red figs on the roof", "应提到：三棵银杏")
    listed = replace(asked("red, figs, plums", "1", "multi_select"), rubric=rubric)
    ordered = replace(asked("B", "event_ordering", "single_choice"), rubric=rubric)
    began = time.process_time()
    for bomb in BOMBS:
        text = bomb * (20_000 // len(bomb))
        assert 0 <= score(metric, listed, text) <= 1
        assert 0 <= score(metric, ordered, f"(a{text})") <= 1
    assert time.process_time() - began < 10


@given(st.text(st.characters(max_codepoint=0x2DFF)), st.text(st.characters(max_codepoint=0x10FF)), CATEGORIES)
def test_words_f1_is_locomo_f1_where_no_character_is_a_word_by_itself(
    gold: str, prediction: str, category: str
) -> None:
    gold, prediction = (
        "".join(char for char in text if not 0x1100 <= ord(char) <= 0x11FF) for text in (gold, prediction)
    )
    question = asked(gold, category)
    assert score("words.f1.v1", question, prediction) == score("locomo.f1.v1", question, prediction)


@pytest.mark.parametrize(
    ("category", "gold", "prediction", "expected"),
    [
        ("4", "菜市场", "在菜市场", 2 * (3 / 4) * 1 / (3 / 4 + 1)),
        ("4", "2023年5月7日", "2023年5月7日。", 1.0),
        ("4", "两只猫", "狗", 0.0),
        ("4", "“团团”和“圆圆”", "团团和圆圆", 1.0),
        ("4", "用Python写的", "python", 2 * 1 * (1 / 4) / (1 + 1 / 4)),
        ("1", "茶叶、月饼", "月饼，茶叶", 1.0),
        ("1", "茶叶、月饼", "茶叶", 0.5),
        ("3", "会；她喜欢海", "会", 1.0),
        ("5", "", "对话里没有提到这件事", 1.0),
        ("5", "", "Not mentioned.", 1.0),
        ("5", "", "她去了上海", 0.0),
        ("2", "7 May 2023", "May 7, 2023", 1.0),
    ],
)
def test_words_f1_measures_chinese_by_characters(category: str, gold: str, prediction: str, expected: float) -> None:
    assert score("words.f1.v1", asked(gold, category), prediction) == pytest.approx(expected, abs=1e-12)


def test_locomo_f1_knows_no_chinese_refusal() -> None:
    assert score("locomo.f1.v1", asked("", "5"), "没有提到") == 0
    assert score("locomo.f1.v1", asked("", "5"), "No Information Available!") == 1


def test_normalising_deletes_commas_before_it_looks_for_articles() -> None:
    assert normalise_locomo("The 1,200 cats, and a dog's-tail") == "1200 cats dogstail"
    assert normalise_words("我有两只cats，and the dog") == "我 有 两 只 cats dog"


@given(st.lists(st.floats(0, 1), min_size=1, max_size=128))
def test_a_mean_agrees_with_numpy_to_the_last_digit(values: list[float]) -> None:
    assert mean(values) == float(np.mean(values))


def test_a_mean_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one"):
        mean([])


@pytest.mark.parametrize(
    ("kind", "gold", "prediction", "expected"),
    [
        ("single_choice", "B", "b", 1),
        ("single_choice", "B", "The answer is B.", 0),
        ("single_choice", "B", "The answer is (B).", 1),
        ("single_choice", "B", "[B]", 1),
        ("single_choice", "B", "(B: the red one)", 1),
        ("single_choice", "B", "(because it is red) so (B)", 1),
        ("single_choice", "B", "(dead end) so (B)", 1),
        ("single_choice", "B", "(dead) so (B)", 0),
        ("single_choice", "B", "(A)(B)", 0),
        ("single_choice", "B", "[A][B]", 0),
        ("single_choice", "B", "(A) (B)", 0),
        ("single_choice", "B", "(B) and (B)", 1),
        ("single_choice", "B", "\\boxed{A} then \\box{B}", 1),
        ("single_choice", "B", "\\boxed{B", 1),
        ("single_choice", "B", "FINAL ANSWER: (B)", 1),
        ("single_choice", "B", "I think (A)</think>(B)", 1),
        ("single_choice", "B", "(A) final answer: hm</think>(B)", 1),
        ("single_choice", "G", "(G)", 0),
        ("multi_select", "A,C", "(C, A)", 1),
        ("multi_select", "A,C", "(B) no, (A, C)", 1),
        ("multi_select", "A,C", "(A, C) or (A)", 0),
        ("multi_select", "A,C", "", 0),
        ("ordering", "C,A,B", "(A, C, B)", 0),
        ("ordering", "C,A,B", "\\boxed{C, A, B}", 1),
        ("ordering", "C,A,B", "c a b", 1),
    ],
)
def test_scriptmem_reads_letters_only_where_an_answer_commits_itself(
    kind: str, gold: str, prediction: str, expected: float
) -> None:
    assert score("scriptmem.mcq.v1", asked(gold, "", kind), prediction) == expected


@pytest.mark.parametrize(
    ("prediction", "expected"),
    [
        ("<final_answer>(c)", 1),
        ("(a)? No. <final_answer> (C) </final_answer>", 1),
        ("c", 1),
        ("Option c fits best", 1),
        ("a fits, c too", 0),
        ("(c) or (d)", 0),
        ("a (c)", 1),
        ("cc", 0),
        ("", 0),
    ],
)
def test_personamem_wants_the_one_gold_letter(prediction: str, expected: float) -> None:
    assert score("personamem.mcq.v1", asked("(c)"), prediction) == expected


@pytest.mark.data
def test_the_real_choice_questions_score_one_by_their_own_letters_and_zero_by_others(data_dir: Path) -> None:
    lines = (data_dir / "scriptmem" / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    rows: list[dict[str, Any]] = [json.loads(line) for line in lines]
    assert len(rows) == 457
    for row in rows:
        letters = row["answer_letters"]
        question = asked(",".join(letters), "", row["qa_type"])
        wrong = [letter for letter in "ABCDEF" if letter not in letters] or letters[:1]
        assert score("scriptmem.mcq.v1", question, f"({', '.join(letters)})") == 1
        assert score("scriptmem.mcq.v1", question, f"({', '.join(wrong)})") == 0


@given(st.text(st.sampled_from("()[]abcf. ,\n:;")))
def test_brackets_are_found_as_a_regular_expression_would(text: str) -> None:
    by_pattern = [match[1] or match[2] or "" for match in re.finditer(r"\(([^)]*)\)|\[([^\]]*)\]", text)]
    assert list(_bracketed(text)) == by_pattern
    last = re.findall(r"[(\[]([^)\]]*)[)\]]", text)
    content = last[-1] if last else text
    assert _listed_letters(text) == [char.upper() for char in content if char in "abcdefABCDEF"]
    token = text.strip()
    labelled = re.fullmatch(r"[a-f]\s*[.:]\s*.+", token, re.IGNORECASE) is not None
    plain = re.fullmatch(r"[a-f][a-z ]*", token, re.IGNORECASE) is not None and len(token.replace(" ", "")) <= 5
    assert _names_option(token) == (labelled or plain)


@pytest.mark.parametrize(
    ("gold", "prediction", "expected"),
    [
        ("a quiet cafe", "(c)", 1),
        ("a quiet cafe", "<final_answer>(C)</final_answer>", 1),
        ("a quiet cafe", "(a)", 0),
        ("a quiet cafe", "(a) or (c)", 0),
        ("a quiet cafe", "(d)", 1),
        ("a quiet cafe", "a quiet cafe", 0),
    ],
)
def test_personamem_goes_by_the_text_that_the_letter_stands_for(gold: str, prediction: str, expected: float) -> None:
    options = ("a loud bar", "a park", "a quiet cafe", "a quiet cafe")
    question = replace(asked(gold), options=options)
    assert score("personamem.mcq.v1", question, prediction) == expected
    assert score("personamem.words.v1", question, prediction) == expected
    assert score("personamem.words.v1", asked(gold), "a quiet cafe") == 1


@pytest.mark.parametrize(
    ("answerable", "gold", "prediction", "expected"),
    [
        (True, "red figs", "figs", 2 / 3),
        (True, "red figs", "No information available", 0),
        (False, "You never said", "No information available", 1),
        (False, "", "That was never mentioned.", 1),
        (False, "", "I don’t know.", 1),
        (False, "", "没有提到相关信息", 1),
        (False, "", "不知道", 1),
        (False, "red figs", "red figs", 0),
        (False, "", "", 0),
    ],
)
def test_words_refusal_wants_words_or_a_refusal(answerable: bool, gold: str, prediction: str, expected: float) -> None:
    question = replace(asked(gold, "temporal-reasoning"), answerable=answerable)
    assert score("words.refusal.v1", question, prediction) == pytest.approx(expected)


@given(st.lists(st.integers(0, 6), min_size=1, unique=True), st.lists(st.integers(0, 9), min_size=1, unique=True))
def test_an_order_agrees_with_scipy(gold: list[int], prediction: list[int]) -> None:
    union = sorted({*gold, *prediction})
    ranks = [
        [items.index(one) + 1 if one in items else len(union) + 1 for one in union] for items in (gold, prediction)
    ]
    tau = stats.kendalltau(*ranks, variant="b").statistic if len(union) > 1 else float("nan")
    f1 = 2 * len({*gold} & {*prediction}) / (len(gold) + len(prediction))
    norm = float(gold == prediction) if tau != tau else (tau + 1) / 2
    assert ordering_score(gold, prediction) == pytest.approx(norm * f1, abs=1e-12)


@given(st.lists(st.sampled_from([0, 1]), max_size=12), st.integers(1, 12))
def test_retrieval_measures_agree_with_a_second_reckoning(relevance: list[int], k: int) -> None:
    head, wanted = np.array(relevance[:k], dtype=float), sum(relevance)
    assert recall_any(relevance, k) == float(head.sum() > 0)
    assert recall_all(relevance, wanted, k) == float(head.sum() == wanted)
    discounts = np.concatenate([[1.0], np.log2(np.arange(2, max(k, 2) + 1))])
    ideal = np.sort(np.array(relevance, dtype=float))[::-1][:k]
    best = float((ideal / discounts[: len(ideal)]).sum())
    expected = float((head / discounts[: len(head)]).sum()) / best if best else 0.0
    assert ndcg(relevance, k) == pytest.approx(expected)


def test_a_long_run_of_one_letter_is_no_word_to_be_stemmed() -> None:
    assert stem("Y" * 5000) == "y" * 5000
    assert stem("agencies") == "agenc"


def test_an_order_is_scored_by_agreement_and_overlap() -> None:
    assert ordering_score(["a"], ["a"]) == 1
    assert ordering_score(["a"], ["b"]) == 0
    assert ordering_score([], []) == 0
    assert ordering_score("abc", "ab") == pytest.approx((1 + 1) / 2 * 0.8)
    assert ordering_score("abc", "ba") < ordering_score("abc", "ab")


@given(st.lists(st.integers(0, 5)), st.lists(st.integers(0, 5)))
def test_an_order_never_leaves_its_range(gold: list[int], prediction: list[int]) -> None:
    assert 0 <= ordering_score(gold, prediction) <= 1
    assert ordering_score(gold, gold) == (1 if gold else 0)


def test_retrieval_measures_look_at_the_first_k_only() -> None:
    assert recall_any([0, 0, 1], 2) == 0
    assert recall_any([0, 0, 1], 3) == 1
    assert recall_all([1, 0, 1], 2, 2) == 0
    assert recall_all([1, 0, 1], 2, 3) == 1
    assert ndcg([0, 0], 10) == 0
    assert ndcg([0, 0, 1], 2) == 0


@given(st.integers(0, 300), st.integers(1, 300))
def test_an_interval_holds_its_share(successes: int, n: int) -> None:
    successes = min(successes, n)
    low, high = wilson95(successes, n)
    assert 0 <= low <= successes / n <= high <= 1


@given(st.integers(0, 400), st.integers(0, 400))
def test_a_paired_test_is_symmetric_and_a_probability(b: int, c: int) -> None:
    assert 0 < mcnemar_exact(b, c) <= 1
    assert mcnemar_exact(b, c) == mcnemar_exact(c, b)


def test_measures_of_certainty_refuse_what_is_no_count() -> None:
    for successes, n in ((1, 0), (-1, 3), (4, 3)):
        with pytest.raises(ValueError, match="successes"):
            wilson95(successes, n)
    with pytest.raises(ValueError, match="0 or more"):
        mcnemar_exact(-1, 2)
    with pytest.raises(ValueError, match="two votes"):
        krippendorff_nominal([[1], []])


def test_agreement_is_one_when_all_agree_and_leaves_out_single_votes() -> None:
    assert krippendorff_nominal([[1, 1], [1, 1]]) == 1
    assert krippendorff_nominal([[1, 1], [0, 0], [1]]) == 1
    assert krippendorff_nominal([[1, 0], [0, 1]]) < 0
