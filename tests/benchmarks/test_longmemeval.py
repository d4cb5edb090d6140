"""LongMemEval files: the real instance, damaged ones with the place named, and memory that doesn't grow."""

import copy
import json
import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchmarks.datasets import streaming
from benchmarks.datasets.chunking import chunk_session
from benchmarks.datasets.longmemeval import load_longmemeval, parse_haystack_date
from benchmarks.datasets.model import DatasetError


def instance(key: str = "q1") -> dict[str, Any]:
    return {
        "question_id": key,
        "question_type": "multi-session",
        "question": "How many figs?",
        "question_date": "2023/05/30 (Tue) 23:40",
        "answer": 7,
        "answer_session_ids": ["late"],
        "haystack_dates": ["2023/05/21 (Sun) 10:00", "2023/05/20 (Sat) 02:21", "2023/05/22 (Mon) 10:00"],
        "haystack_session_ids": ["late", "early", "empty"],
        "haystack_sessions": [
            [{"role": "user", "content": "Seven figs."}, {"role": "assistant", "content": ""}],
            [{"role": "user", "content": "Good morning."}],
            [],
        ],
    }


def write(path: Path, value: object) -> Path:
    path.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")
    return path


@pytest.mark.data
def test_the_real_instance_is_loaded_chunked_and_counted(data_dir: Path) -> None:
    (scope,) = load_longmemeval(data_dir / "longmemeval" / "longmemeval_single.json")
    chunks = [chunk for session in scope.sessions for chunk in chunk_session(session)]
    (question,) = scope.questions
    assert (len(scope.sessions), sum(len(session.turns) for session in scope.sessions)) == (53, 550)
    assert len(chunks) >= 53
    assert max(len(chunk) for chunk in chunks) <= 20
    assert (question.gold, question.category, question.capability) == (
        "Business Administration", "single-session-user", "A",
    )  # fmt: skip
    assert question.evidence == ("answer_280352e9:4", "answer_280352e9:5")
    assert question.asked_at_ms == parse_haystack_date("2023/05/30 (Tue) 23:40")


def test_sessions_come_by_date_and_an_answer_session_is_evidence_where_no_turn_is_marked(tmp_path: Path) -> None:
    (scope,) = load_longmemeval(write(tmp_path / "a.json", [instance()]))
    assert [session.key for session in scope.sessions] == ["early", "late"]
    assert scope.questions[0].evidence == ("late:0", "late:1")
    assert scope.questions[0].gold == "7"


def test_a_marked_turn_is_the_evidence_and_an_abstention_wants_a_refusal(tmp_path: Path) -> None:
    value = instance("q2_abs")
    value["haystack_sessions"][1][0]["has_answer"] = True
    (scope,) = load_longmemeval(write(tmp_path / "a.json", [value]))
    (question,) = scope.questions
    assert question.evidence == ("early:0",)
    assert (question.answerable, question.capability, question.category) == (False, "H", "multi-session")


Change = Callable[[dict[str, Any]], object]
DAMAGES: dict[str, tuple[Change, str, str]] = {
    "no question": (lambda v: v.pop("question"), "question", "missing"),
    "another type": (lambda v: v.update(question_type="trivia"), "question_type", 'got "trivia"'),
    "a number as type": (lambda v: v.update(question_type=3), "question_type", "expected string, got number"),
    "a wrong date": (
        lambda v: v["haystack_dates"].__setitem__(1, "2023/02/30 (Sat) 02:21"), "haystack_dates[1]", "2023/02/30",
    ),
    "a wrong question date": (lambda v: v.update(question_date="today"), "question_date", 'got "today"'),
    "a date too few": (lambda v: v["haystack_dates"].pop(), "haystack_dates", "3 sessions, got 2"),
    "a third role": (
        lambda v: v["haystack_sessions"][0][0].update(role="tool"), "haystack_sessions[0][0].role", 'got "tool"',
    ),
    "no content": (
        lambda v: v["haystack_sessions"][0][1].pop("content"), "haystack_sessions[0][1].content", "missing",
    ),
    "true as answer": (lambda v: v.update(answer=True), "answer", "got true or false"),
    "a session that is text": (
        lambda v: v["haystack_sessions"].__setitem__(1, "x"), "haystack_sessions[1]", "expected list, got string",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_instance_is_refused_with_file_record_and_field(name: str, tmp_path: Path) -> None:
    change, field, words = DAMAGES[name]
    value = instance("q2")
    change(value)
    with pytest.raises(DatasetError) as caught:
        list(load_longmemeval(write(tmp_path / "a.json", [instance(), value])))
    assert (caught.value.file, caught.value.record, caught.value.field) == ("a.json", "q2", field)
    assert words in str(caught.value)


def test_an_id_that_stands_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"a\.json, q1, question_id: this id stands twice"):
        list(load_longmemeval(write(tmp_path / "a.json", [instance(), instance()])))


@pytest.mark.parametrize("keep", [0.2, 0.5, 0.9])
def test_a_cut_file_is_refused_at_its_end(keep: float, tmp_path: Path) -> None:
    path = write(tmp_path / "a.json", [instance(), instance("q2")])
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * keep)])
    with pytest.raises(DatasetError, match=r"a\.json, line 1, column \d+: expected JSON"):
        list(load_longmemeval(path))


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"[1,]", "dataset_not_json"), (b"[1] 2", "dataset_not_json"), (b"[1 2]", "dataset_not_json"),
        (b"[{]}]", "dataset_not_json"), (b"", "dataset_not_json"), (b"{}", "dataset_not_list"),
        (b"[" * 100_000, "dataset_too_deep"), (b'["\xff"]', "dataset_not_utf8"), (b"[NaN]", "dataset_non_finite"),
        (b'[{"a": 1, "a": 2}]', "dataset_duplicate_key"), (b"[" + b"9" * 5000 + b"]", "dataset_number_too_long"),
    ],
)  # fmt: skip
def test_a_file_that_is_no_such_json_is_refused(content: bytes, code: str, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(content)
    with pytest.raises(DatasetError) as caught:
        list(streaming.read_json_items(path))
    assert caught.value.code == code


def test_a_list_read_piece_by_piece_is_the_list_read_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    value = [1, 'a"],[\\', {"x": [1, 2, "]"], "y": "\\\\"}, "中文", [], {}, "\\"]
    path = write(tmp_path / "a.json", value)
    for block in (1, 3, 7):
        monkeypatch.setattr(streaming, "_BLOCK", block)
        assert list(streaming.read_json_items(path)) == value


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(field=st.sampled_from([*instance(), "role", "content", "has_answer"]), value=JSON)
def test_any_value_in_any_field_is_read_or_refused(tmp_path: Path, field: str, value: object) -> None:
    changed = copy.deepcopy(instance())
    (changed if field in changed else changed["haystack_sessions"][0][0])[field] = value
    path = tmp_path / "any.json"
    path.write_text(json.dumps([changed]), encoding="utf-8")
    with suppress(DatasetError):
        list(load_longmemeval(path))


def test_ten_times_the_instances_need_no_more_memory(tmp_path: Path) -> None:
    def peak(count: int) -> int:
        path = tmp_path / f"{count}.json"
        with path.open("w", encoding="utf-8") as stream:
            stream.write("[")
            for index in range(count):
                value = instance(f"q{index}")
                value["haystack_sessions"][0][0]["content"] = "figs " * 50_000
                stream.write(("," if index else "") + json.dumps(value))
            stream.write("]")
        tracemalloc.start()
        try:
            for _ in load_longmemeval(path):
                pass
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak(2)
    assert peak(100) <= 1.1 * peak(10)
