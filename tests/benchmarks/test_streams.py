"""Streaming plans: what is asked between what is written, and asked again later."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchmarks.datasets.model import DatasetError, Question, Session
from benchmarks.datasets.streams import load_streams
from evaluation.pipeline.ids import RunIds
from evaluation.pipeline.plan import PlannedSearch, count_events, plan_scope, search_ordinals


def add(user: str, session: str, *contents: str) -> dict[str, Any]:
    messages = [{"role": "user", "content": content, "timestamp": 1_760_000_000_000} for content in contents]
    return {"user": user, "kind": "add", "session": session, "messages": messages}


def ask(user: str, key: str, answer: str, category: str = "update", **more: Any) -> dict[str, Any]:
    return {
        "user": user, "kind": "search", "id": key, "query": "Where is the bicycle?", "answer": answer,
        "category": category, **more,
    }  # fmt: skip


EVENTS = [
    ask("ann", "bike", "", "unknown"),
    add("ann", "monday", "My bicycle is in the shed."),
    add("bo", "monday", "I walk."),
    ask("ann", "bike", "shed", evidence=["monday:1"]),
    ask("ann", "spare", "shed"),
    add("ann", "monday", "Rain.", "I moved it to the hall."),
    ask("ann", "bike", "hall", evidence=["monday:3"], asked_at=1_760_000_000_000),
    add("ann", "tuesday", "Nothing new."),
]


def write(path: Path, events: list[Any]) -> Path:
    path.write_text("".join(f"{json.dumps(event)}\n" for event in events))
    return path


def test_questions_stand_where_they_are_asked_and_a_repeated_one_has_the_next_step(tmp_path: Path) -> None:
    ann, bo = load_streams(write(tmp_path / "s.jsonl", EVENTS))

    order = [due.key if isinstance(due, Session) else (due.key, due.step, due.gold) for due in ann.in_order()]
    assert order == [
        ("ann-bike", 0, ""),
        "monday",
        ("ann-bike", 1, "shed"),
        ("ann-spare", 0, "shed"),
        "monday+2",
        ("ann-bike", 2, "hall"),
        "tuesday",
    ]
    assert [(question.answerable, question.capability) for question in ann.questions] == [
        (False, "H"), (True, "D"), (True, "D"), (True, "D"),
    ]  # fmt: skip
    assert [turn.turn_id for session in ann.sessions for turn in session.turns] == [
        "monday:1", "monday:2", "monday:3", "tuesday:1",
    ]  # fmt: skip
    assert ann.questions[3].evidence == ("monday:3",)
    assert (bo.key, bo.questions, bo.asked_after) == ("bo", (), ())


def test_what_is_written_before_a_question_is_known(tmp_path: Path) -> None:
    ann = next(load_streams(write(tmp_path / "s.jsonl", EVENTS)))
    assert [len(ann.written_before(question)) for question in ann.questions] == [0, 1, 1, 2]


def test_the_plan_mixes_adds_and_searches_and_is_the_same_each_time(tmp_path: Path) -> None:
    ann = next(load_streams(write(tmp_path / "s.jsonl", EVENTS)))
    ids = RunIds("run")
    plan = list(plan_scope(ann, dataset="s", ids=ids, top_k=5))

    assert "".join("S" if isinstance(event, PlannedSearch) else "A" for event in plan) == "SASSASA"
    assert [event.ordinal for event in plan] == list(range(7))
    assert [event.ordinal for event in plan if isinstance(event, PlannedSearch)] == search_ordinals(ann) == [0, 2, 3, 5]
    assert count_events(ann) == (3, 4)
    assert plan == list(plan_scope(ann, dataset="s", ids=ids, top_k=5))
    assert len({event.request.request_id for event in plan if not isinstance(event, PlannedSearch)}) == 3


@pytest.mark.parametrize(
    ("event", "code", "place"),
    [
        ({"kind": "add"}, "dataset_field_missing", "line 9, user"),
        ({"user": "ann", "kind": "sing"}, "dataset_kind", "line 9, kind"),
        ({"user": "ann", "kind": "add", "session": "x"}, "dataset_field_missing", "line 9, messages"),
        ({"user": "ann", "kind": "add", "session": "x", "messages": []}, "dataset_list_empty", "line 9, messages"),
        (add("ann", "monday+2", "Again."), "dataset_duplicate_id", "line 9, session"),
        (ask("ann", "q", "yes", "mood"), "dataset_category", "line 9, category"),
        (ask("ann", "q", ""), "dataset_text_blank", "line 9, answer"),
        (ask("ann", "q", "yes", evidence=["monday:9"]), "dataset_evidence", "line 9, evidence"),
        (ask("ann", "q", "yes", asked_at=10**18), "dataset_date", "line 9, asked_at"),
        (
            {"user": "ann", "kind": "add", "session": "x", "messages": [{"role": "narrator", "content": "x"}]},
            "dataset_role",
            "line 9, messages[0].role",
        ),
    ],
)
def test_what_is_off_is_named_with_its_place(tmp_path: Path, event: Any, code: str, place: str) -> None:
    with pytest.raises(DatasetError) as caught:
        list(load_streams(write(tmp_path / "s.jsonl", [*EVENTS, event])))
    assert caught.value.code == code
    assert str(caught.value).startswith(f"s.jsonl, {place}: ")


def test_a_file_that_breaks_off_is_named_with_its_line(tmp_path: Path) -> None:
    path = write(tmp_path / "s.jsonl", EVENTS)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(DatasetError, match="line 8"):
        list(load_streams(path))


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150)
@given(st.integers(0, len(EVENTS) - 1), st.data())
def test_any_value_in_any_field_is_read_or_refused(tmp_path: Path, index: int, data: st.DataObject) -> None:
    event: dict[str, Any] = dict(EVENTS[index])
    event[data.draw(st.sampled_from(sorted(event)))] = data.draw(anything)
    try:
        scopes = list(load_streams(write(tmp_path / "s.jsonl", [*EVENTS[:index], event, *EVENTS[index + 1 :]])))
    except DatasetError:
        return
    assert all(isinstance(question, Question) for scope in scopes for question in scope.questions)
