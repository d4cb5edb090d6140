"""The suite that the project ships: its shape, its counts, and that its answers follow from its evidence."""

import json
import re
from collections import Counter
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from benchmarks.datasets.bundle import inspect_bundle, load_bundle
from benchmarks.datasets.locomo import parse_session_date
from benchmarks.scoring.overlap import stem_words
from benchmarks.scoring.registry import score
from benchmarks.scoring.token_f1 import normalise_words

SUITE = Path(__file__).parents[2] / "benchmarks" / "suites" / "hearth"
SAMPLES: list[dict[str, Any]] = json.loads((SUITE / "hearth.json").read_text(encoding="utf-8"))
QUESTIONS = [(sample, question) for sample in SAMPLES for question in sample["qa"]]
QUESTION_IDS = [f"{sample['sample_id']}-q{index}" for sample in SAMPLES for index in range(len(sample["qa"]))]

MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
ORDINALS = (
    "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh",
    "twelfth", "thirteenth", "fourteenth", "fifteenth", "sixteenth", "seventeenth", "eighteenth", "nineteenth",
)  # fmt: skip
HAN_DIGITS = "零一二三四五六七八九"
HAN_WEEKDAYS = "一二三四五六日"
FUNCTION_WORDS = {"of", "in", "on", "to", "at", "for", "with", "by", "from"} | set("的了在是和与个一不有")

_MONTH = "|".join(MONTHS)
_WEEKDAY = "|".join(WEEKDAYS)
_EN_STATED = re.compile(
    rf"(?P<weekday>{_WEEKDAY}),? the (?P<day>\w+)(?: of) (?P<month>{_MONTH})"
    rf"|the (?P<day2>\w+) of (?P<month2>{_MONTH}),? a (?P<weekday2>{_WEEKDAY})"
)
_HAN_NUMBER = r"[\d一二三四五六七八九十]+"
_ZH_WEEKDAY = "(?:星期|周|礼拜)([一二三四五六日天])"
_ZH_STATED = re.compile(rf"(?:({_HAN_NUMBER})月)?({_HAN_NUMBER})[日号]，?是?{_ZH_WEEKDAY}")
_EN_DATE = re.compile(rf"(\d+) ({_MONTH}) (\d{{4}})")
_ZH_DATE = re.compile(r"(\d{4})年(\d+)月(\d+)日")


def is_chinese(sample: dict[str, Any]) -> bool:
    return "-zh-" in sample["sample_id"]


def session_numbers(sample: dict[str, Any]) -> list[int]:
    found = (re.fullmatch(r"session_(\d+)", name) for name in sample["conversation"])
    return sorted(int(match[1]) for match in found if match)


def session_day(sample: dict[str, Any], number: int) -> date:
    stamp = parse_session_date(sample["conversation"][f"session_{number}_date_time"])
    assert stamp is not None
    return datetime.fromtimestamp(stamp / 1000, UTC).date()


def turns_of(sample: dict[str, Any]) -> dict[str, dict[str, str]]:
    numbers = session_numbers(sample)
    return {turn["dia_id"]: turn for n in numbers for turn in sample["conversation"][f"session_{n}"]}


def evidence_of(sample: dict[str, Any], question: dict[str, Any]) -> list[tuple[date, str]]:
    """Return day and text, with the caption, of each turn that a question names."""
    turns = turns_of(sample)
    return [
        (session_day(sample, int(key[1:].split(":")[0])), f"{turns[key]['text']} {turns[key].get('blip_caption', '')}")
        for key in question["evidence"]
    ]


def tokens(text: str) -> set[str]:
    return set(stem_words(normalise_words(re.sub("[,，、]", " , ", text))))


def gold_of(question: dict[str, Any]) -> str:
    """Return what an answer is compared with; of an adversarial question, what it tempts to say."""
    if question["category"] == 5:
        return str(question["adversarial_answer"])
    return re.split("[;；]", question["answer"])[0] if question["category"] == 3 else str(question["answer"])


def gold_date(question: dict[str, Any]) -> date | None:
    gold = gold_of(question)
    if match := _EN_DATE.fullmatch(gold):
        return date(int(match[3]), MONTHS.index(match[2]) + 1, int(match[1]))
    if match := _ZH_DATE.fullmatch(gold):
        return date(int(match[1]), int(match[2]), int(match[3]))
    return None


def number_of(word: str) -> int:
    """Return a day or month that is written as "14th", "fourteenth", "14" or "十四"."""
    if match := re.match(r"\d+", word):
        return int(match[0])
    if word in ORDINALS:
        return ORDINALS.index(word) + 1
    if "十" in word:
        tens, ones = word.split("十")
        return 10 * (HAN_DIGITS.index(tens) if tens else 1) + (HAN_DIGITS.index(ones) if ones else 0)
    return HAN_DIGITS.index(word)


def han_weekday(word: str) -> int:
    return HAN_WEEKDAYS.index(word.replace("天", "日"))


def stated_weekdays(text: str, day: date) -> list[tuple[date, int]]:
    """Return each date that a turn of `day` gives together with its weekday, and that weekday from 0 for Monday."""
    found = []
    for match in _EN_STATED.finditer(text):
        said = [match[name] or match[f"{name}2"] for name in ("day", "month", "weekday")]
        found.append((date(day.year, MONTHS.index(said[1]) + 1, number_of(said[0])), WEEKDAYS.index(said[2])))
    for match in _ZH_STATED.finditer(text):
        # A day without a month is one of the next month: 十四号是星期天, after 下月十四号.
        month = number_of(match[1]) if match[1] else day.month + 1
        found.append((date(day.year, month, number_of(match[2])), han_weekday(match[3])))
    return found


def dates_meant(text: str, day: date) -> set[date]:
    """Return the dates that the relative words in a turn said on `day` stand for."""
    meant = set()
    if "the day before yesterday" in text or re.search("(?<!大)前天", text):
        meant.add(day - timedelta(days=2))
    elif "yesterday" in text or "昨天" in text:
        meant.add(day - timedelta(days=1))
    for match in re.finditer(rf"(?:last|on) ({_WEEKDAY})\b", text):
        meant.add(day - timedelta(days=(day.weekday() - WEEKDAYS.index(match[1]) - 1) % 7 + 1))
    monday = day - timedelta(days=day.weekday())
    for which, weekday in re.findall(f"(上|这)个?{_ZH_WEEKDAY}", text):
        meant.add(monday + timedelta(days=han_weekday(weekday) - (7 if which == "上" else 0)))
    for word in re.findall(f"下个?月({_HAN_NUMBER})号", text):
        meant.add(date(day.year, day.month + 1, number_of(word)))
    return meant


def dates_moved(evidence: list[tuple[date, str]]) -> set[date]:
    """Return the dates of a plan moved within a month that an earlier turn names: "moved it to the thirteenth"."""
    months = [MONTHS.index(name) + 1 for _, text in evidence for name in re.findall(_MONTH, text)]
    moved = [(day, word) for day, text in evidence for word in re.findall(r"move it to the (\w+)", text)]
    return {date(day.year, month, number_of(word)) for month in months for day, word in moved}


def test_the_manifest_agrees_with_the_file_it_describes() -> None:
    facts = inspect_bundle(SUITE)
    assert (facts.manifest.name, facts.manifest.title, facts.manifest.title_zh) == ("hearth", "Hearth", "炉边")
    assert (facts.manifest.dataset, facts.manifest.metric, facts.manifest.licence) == (
        "locomo", "words.f1.v1", "CC-BY-4.0",
    )  # fmt: skip
    assert facts.manifest.sha256 == dict(facts.files)
    assert (facts.scopes, facts.sessions, facts.turns, facts.questions, facts.answerable) == (10, 50, 474, 120, 100)
    assert facts.by_category == {"1": 20, "2": 30, "3": 10, "4": 40, "5": 20}


def test_a_smoke_test_has_one_conversation_of_each_language() -> None:
    assert [scope.key for scope in load_bundle(SUITE, smoke=True)] == ["hearth-en-1", "hearth-zh-1"]


def test_half_of_the_conversations_are_english_and_half_chinese() -> None:
    ids = [f"hearth-{language}-{number}" for language in ("en", "zh") for number in range(1, 6)]
    assert [sample["sample_id"] for sample in SAMPLES] == ids
    for sample in SAMPLES:
        for turn in turns_of(sample).values():
            assert bool(re.search("[\u4e00-\u9fff]", turn["text"])) == is_chinese(sample), turn
        for question in sample["qa"]:
            assert bool(re.search("[\u4e00-\u9fff]", question["question"])) == is_chinese(sample), question


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample["sample_id"])
def test_a_conversation_has_dated_sessions_of_two_speakers(sample: dict[str, Any]) -> None:
    conversation = sample["conversation"]
    numbers = session_numbers(sample)
    assert numbers == list(range(1, len(numbers) + 1))
    assert 4 <= len(numbers) <= 6
    stamps = [parse_session_date(conversation[f"session_{number}_date_time"]) for number in numbers]
    assert None not in stamps
    assert stamps == sorted(set(stamps), key=lambda stamp: stamp or 0)
    for number in numbers:
        turns = conversation[f"session_{number}"]
        assert 8 <= len(turns) <= 14
        assert [turn["dia_id"] for turn in turns] == [f"D{number}:{index}" for index in range(1, len(turns) + 1)]
        assert {turn["speaker"] for turn in turns} == {conversation["speaker_a"], conversation["speaker_b"]}
        assert all(turn.keys() <= {"speaker", "dia_id", "text", "blip_caption"} for turn in turns)


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample["sample_id"])
def test_a_turn_is_long_enough_to_be_searched_for(sample: dict[str, Any]) -> None:
    for turn in turns_of(sample).values():
        if is_chinese(sample):
            assert 25 <= len(re.findall(r"[\u4e00-\u9fff]|\w+", turn["text"])) <= 75, turn
        else:
            assert 15 <= len(turn["text"].split()) <= 42, turn


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample["sample_id"])
def test_a_conversation_has_twelve_questions_in_the_five_categories(sample: dict[str, Any]) -> None:
    assert Counter(question["category"] for question in sample["qa"]) == {1: 2, 2: 3, 3: 1, 4: 4, 5: 2}
    assert len({question["question"] for question in sample["qa"]}) == 12
    for question in sample["qa"]:
        answer = "adversarial_answer" if question["category"] == 5 else "answer"
        assert question.keys() == {"question", "evidence", "category", answer}, question
        assert gold_of(question).strip() == gold_of(question) != ""


@pytest.mark.parametrize(("sample", "question"), QUESTIONS, ids=QUESTION_IDS)
def test_a_questions_evidence_are_turns_of_its_conversation(sample: dict[str, Any], question: dict[str, Any]) -> None:
    assert question["evidence"]
    assert set(question["evidence"]) <= turns_of(sample).keys()
    assert len(set(question["evidence"])) == len(question["evidence"])


@pytest.mark.parametrize(("sample", "question"), QUESTIONS, ids=QUESTION_IDS)
def test_an_answer_stands_in_its_evidence_and_not_in_its_question(
    sample: dict[str, Any], question: dict[str, Any]
) -> None:
    gold = tokens(gold_of(question))
    assert not gold & tokens(question["question"]) - FUNCTION_WORDS
    if question["category"] in (1, 4, 5) or (question["category"] == 2 and gold_date(question) is None):
        said = set().union(*(tokens(text) for _, text in evidence_of(sample, question)))
        assert gold <= said


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample["sample_id"])
def test_a_list_is_asked_for_that_more_than_one_item_answers(sample: dict[str, Any]) -> None:
    lists = [question for question in sample["qa"] if question["category"] == 1]
    assert all(len(re.split("[,，]", question["answer"])) >= 2 for question in lists)
    assert all(len(question["evidence"]) >= 2 for question in lists)


@pytest.mark.parametrize(("sample", "question"), QUESTIONS, ids=QUESTION_IDS)
def test_a_date_that_is_asked_for_follows_from_its_evidence(sample: dict[str, Any], question: dict[str, Any]) -> None:
    gold = gold_date(question) if question["category"] == 2 else None
    if gold is not None:
        evidence = evidence_of(sample, question)
        assert gold in dates_moved(evidence).union(*(dates_meant(text, day) for day, text in evidence))


def test_dates_with_a_weekday_agree_with_the_calendar() -> None:
    stated = [
        pair
        for sample in SAMPLES
        for key, turn in turns_of(sample).items()
        for pair in stated_weekdays(turn["text"], session_day(sample, int(key[1:].split(":")[0])))
    ]
    assert [day.weekday() for day, _ in stated] == [weekday for _, weekday in stated]
    assert {day.isoformat() for day, _ in stated} == {"2024-12-14", "2025-06-14", "2024-03-16", "2025-12-14"}


def test_the_right_answer_scores_one_and_a_refusal_only_where_nothing_was_said() -> None:
    for scope in load_bundle(SUITE):
        refusal = "没有提到" if "-zh-" in scope.key else "Not mentioned"
        for question in scope.questions:
            right = re.split("[;；]", question.gold)[0] if question.answerable else refusal
            assert score("words.f1.v1", question, right) == 1.0, question
            assert score("words.f1.v1", question, refusal) == (not question.answerable), question
