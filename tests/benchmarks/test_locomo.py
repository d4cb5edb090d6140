"""LoCoMo files: the real one with its oddities, and damaged ones with the place named."""

from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from benchmarks.datasets.locomo import load_locomo, parse_session_date
from benchmarks.datasets.model import CAPABILITIES, DatasetError, Turn
from tests.benchmarks.locomo_files import sample, write


def ms(*when: int) -> int:
    return int(datetime(*when, tzinfo=UTC).timestamp() * 1000)  # type: ignore[misc, arg-type]


@pytest.mark.data
def test_the_real_file_has_its_published_counts(data_dir: Path) -> None:
    scopes = list(load_locomo(data_dir / "locomo" / "locomo10.json"))
    questions = [question for scope in scopes for question in scope.questions]
    assert len(scopes) == 10
    assert sum(len(scope.sessions) for scope in scopes) == 272
    assert sum(len(session.turns) for scope in scopes for session in scope.sessions) == 5882
    assert Counter(question.category for question in questions) == {"1": 282, "2": 321, "3": 96, "4": 841, "5": 446}
    assert len({question.key for question in questions}) == 1986


@pytest.mark.data
def test_every_real_question_can_be_asked_and_scored(data_dir: Path) -> None:
    for scope in load_locomo(data_dir / "locomo" / "locomo10.json"):
        turns = {turn.turn_id for session in scope.sessions for turn in session.turns}
        assert all(turn.timestamp_ms for session in scope.sessions for turn in session.turns)
        for question in scope.questions:
            assert question.answerable == (question.category != "5")
            assert question.gold or not question.answerable
            assert set(question.evidence) <= turns
            assert question.capability in CAPABILITIES


@pytest.mark.data
def test_the_real_evidence_that_holds_several_ids_is_taken_apart(data_dir: Path) -> None:
    scope = next(load_locomo(data_dir / "locomo" / "locomo10.json"))
    assert scope.questions[37].evidence == ("D8:6", "D9:17")


def test_sessions_come_by_number_and_dates_without_a_session_are_passed_over(tmp_path: Path) -> None:
    (scope,) = load_locomo(write(tmp_path / "a.json", [sample()]))
    assert [session.key for session in scope.sessions] == ["session_2", "session_10"]


def test_a_turn_has_role_name_caption_and_the_date_of_its_session(tmp_path: Path) -> None:
    (scope,) = load_locomo(write(tmp_path / "a.json", [sample()]))
    when = ms(2023, 5, 8, 13, 56)
    assert scope.sessions[0].turns == (
        Turn("user", "Ada: I grow figs.", when, "D2:1"),
        Turn("assistant", "Ben: Look! [image: a photo of a boat]", when, "D2:2"),
    )


def test_questions_keep_the_oddities_of_answers_and_evidence(tmp_path: Path) -> None:
    (scope,) = load_locomo(write(tmp_path / "a.json", [sample()]))
    assert [question.gold for question in scope.questions] == ["figs", "2023", "No; figs", "", "No"]
    assert [question.answerable for question in scope.questions] == [True, True, True, False, False]
    assert scope.questions[1].evidence == ("D2:1", "D10:1", "D2:2")
    assert [question.key for question in scope.questions] == [f"chat-1-q{at}" for at in range(5)]


def test_chinese_text_and_names_are_read(tmp_path: Path) -> None:
    value = sample("谈话-1")
    value["conversation"].update(speaker_a="小林", speaker_b="阿珍", session_10=[])
    value["conversation"]["session_2"] = [{"speaker": "阿珍", "dia_id": "D2:1", "text": "我去了菜市场。"}]
    (scope,) = load_locomo(write(tmp_path / "a.json", [value]))
    assert scope.sessions[0].turns[0].content == "阿珍: 我去了菜市场。"
    assert scope.sessions[0].turns[0].role == "assistant"


def test_a_session_without_a_date_has_no_timestamps(tmp_path: Path) -> None:
    value = sample()
    del value["conversation"]["session_2_date_time"]
    (scope,) = load_locomo(write(tmp_path / "a.json", [value]))
    assert scope.sessions[0].turns[0].timestamp_ms is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1:56 pm on 8 May, 2023", ms(2023, 5, 8, 13, 56)),
        ("12:05 am on 9 May, 2023", ms(2023, 5, 9, 0, 5)),
        ("12:00 pm on 29 February, 2024", ms(2024, 2, 29, 12)),
        ("8:30 am on 1 january 2023", ms(2023, 1, 1, 8, 30)),
        ("13:00 pm on 8 May, 2023", None),
        ("0:10 am on 8 May, 2023", None),
        ("1:60 pm on 8 May, 2023", None),
        ("1:56 pm on 30 February, 2023", None),
        ("1:56 pm on 8 Floreal, 2023", None),
        ("2023-05-08", None),
    ],
)
def test_a_session_date_is_read_as_utc_or_not_at_all(text: str, expected: int | None) -> None:
    assert parse_session_date(text) == expected


Change = Callable[[dict[str, Any]], object]
DAMAGES: dict[str, tuple[Change, str, str]] = {
    "a missing text": (
        lambda s: s["conversation"]["session_2"][0].pop("text"),
        "conversation.session_2[0].text",
        "missing",
    ),
    "a number as text": (
        lambda s: s["conversation"]["session_2"][1].update(speaker=7),
        "conversation.session_2[1].speaker",
        "expected string, got number",
    ),
    "a blank text": (
        lambda s: s["conversation"]["session_2"][0].update(text="  "),
        "conversation.session_2[0].text",
        "blank",
    ),
    "a third speaker": (
        lambda s: s["conversation"]["session_2"][0].update(speaker="Cem"),
        "conversation.session_2[0].speaker",
        'Ada, Ben, got "Cem"',
    ),
    "two speakers of one name": (lambda s: s["conversation"].update(speaker_b="Ada"), "conversation.speaker_b", "same"),
    "a turn id twice": (
        lambda s: s["conversation"]["session_10"][0].update(dia_id="D2:1"),
        "conversation.dia_id",
        "D2:1 stands twice",
    ),
    "another form of date": (
        lambda s: s["conversation"].update(session_2_date_time="8.5.2023"),
        "conversation.session_2_date_time",
        'got "8.5.2023"',
    ),
    "a session that is no list": (
        lambda s: s["conversation"].update(session_2={}),
        "conversation.session_2",
        "expected list, got object",
    ),
    "a conversation that is null": (lambda s: s.update(conversation=None), "conversation", "expected object, got null"),
    "no question text": (lambda s: s["qa"][0].pop("question"), "qa[0].question", "missing"),
    "an unknown category": (lambda s: s["qa"][1].update(category=6), "qa[1].category", "from 1 to 5, got 6"),
    "a category as text": (lambda s: s["qa"][1].update(category="2"), "qa[1].category", "expected number, got string"),
    "a missing answer": (lambda s: s["qa"][2].pop("answer"), "qa[2].answer", "missing"),
    "a list as answer": (lambda s: s["qa"][2].update(answer=[]), "qa[2].answer", "expected string, got list"),
    "true as answer": (lambda s: s["qa"][2].update(answer=True), "qa[2].answer", "got true or false"),
    "a number as evidence": (lambda s: s["qa"][0].update(evidence=[3]), "qa[0].evidence", "expected string"),
    "questions that are no list": (lambda s: s.update(qa="none"), "qa", "expected list, got string"),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_sample_is_refused_with_file_record_and_field(name: str, tmp_path: Path) -> None:
    change, field, words = DAMAGES[name]
    value = sample("chat-2")
    change(value)
    with pytest.raises(DatasetError) as caught:
        list(load_locomo(write(tmp_path / "talks.json", [sample(), value])))
    error = caught.value
    assert (error.file, error.record, error.field) == ("talks.json", "chat-2", field)
    assert words in str(error)
    assert str(error).startswith(f"talks.json, chat-2, {field}: ")


@pytest.mark.parametrize(
    ("content", "code", "place"),
    [
        (b'[{"sample_id": "a", "conv', "dataset_not_json", "line 1, column 21"),
        (b'[{"sample_id": "a", "sample_id": "b"}]', "dataset_duplicate_key", "sample_id"),
        (b'[{"sample_id": "a", "qa": NaN}]', "dataset_non_finite", "NaN"),
        (b"[" * 100_000, "dataset_too_deep", "a.json"),
        (b'["\xff"]', "dataset_not_utf8", "a.json"),
        (b"{}", "dataset_not_list", "a.json"),
        (b"[7]", "dataset_field_type", "#0"),
        (b"[{}]", "dataset_field_missing", "#0, sample_id"),
    ],
)
def test_a_file_that_is_no_such_json_is_refused(content: bytes, code: str, place: str, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(content)
    with pytest.raises(DatasetError) as caught:
        list(load_locomo(path))
    assert caught.value.code == code
    assert place in caught.value.place


def test_a_sample_id_that_stands_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"a\.json, chat-1, sample_id: this id stands twice"):
        list(load_locomo(write(tmp_path / "a.json", [sample(), sample()])))


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"none\.json: the file can't be read: No such file"):
        list(load_locomo(tmp_path / "none.json"))


@pytest.mark.data
def test_a_cut_copy_of_the_real_file_names_the_place_where_it_breaks_off(data_dir: Path, tmp_path: Path) -> None:
    path = tmp_path / "locomo10.json"
    path.write_bytes((data_dir / "locomo" / "locomo10.json").read_bytes()[:1_000_000])
    with pytest.raises(DatasetError, match=r"locomo10\.json, line \d+, column \d+: expected JSON"):
        list(load_locomo(path))
