"""PersonaMem files of both versions: read, cut where a question stands, and damaged ones with the place named."""

import csv
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchmarks.datasets.model import DatasetError
from benchmarks.datasets.personamem import load_personamem, load_personamem2

MESSAGES = [
    {"role": "system", "content": "The user is Ada."},
    {"role": "user", "content": "I like figs."},
    {"role": "assistant", "content": "Noted."},
    {"role": "user", "content": "Now I prefer plums."},
]


def row(key: str = "q1", end: int = 2) -> dict[str, Any]:
    return {
        "question_id": key,
        "question_type": "recall_user_shared_facts",
        "user_question_or_message": "A fruit for me?",
        "correct_answer": "(b)",
        "all_options": "['(a) Pears', \"(b) Figs\", '(c) Plums', '(d) Limes']",
        "shared_context_id": "c1",
        "end_index_in_shared_context": str(end),
        "evidence": "[1]",
    }


def row2(key: str = "r1") -> dict[str, Any]:
    return {
        "question_id": key,
        "pref_type": "ask_to_forget",
        "user_query": "{'role': 'user', 'content': 'A fruit for me?'}",
        "correct_answer": "Figs",
        "incorrect_answers": '["Pears", "Plums", "Limes"]',
        "chat_history_32k_link": "data/ada.json",
        "related_conversation_snippet": json.dumps([MESSAGES[1]]),
    }


def write(folder: Path, rows: list[dict[str, Any]]) -> tuple[str, ...]:
    with (folder / "questions_32k.csv").open("w", encoding="utf-8", newline="") as stream:
        table = csv.DictWriter(stream, list(rows[0]))
        table.writeheader()
        table.writerows(rows)
    (folder / "data").mkdir(exist_ok=True)
    (folder / "data" / "ada.json").write_text(json.dumps({"chat_history": MESSAGES}), encoding="utf-8")
    (folder / "shared_contexts_32k.jsonl").write_text(json.dumps({"c1": MESSAGES}) + "\n", encoding="utf-8")
    return ("questions_32k.csv", "shared_contexts_32k.jsonl")


FILES2 = ("data/ada.json", "questions_32k.csv")


def test_a_question_is_asked_before_what_comes_after_its_place(tmp_path: Path) -> None:
    (scope,) = load_personamem(tmp_path, write(tmp_path, [row("q2", 4), row("q1", 2)]))
    assert [question.key for question in scope.questions] == ["q1", "q2"]
    seen = [turn.turn_id for session in scope.written_before(scope.questions[0]) for turn in session.turns]
    assert seen == ["m0", "m1"]
    assert [turn.turn_id for session in scope.sessions for turn in session.turns] == ["m0", "m1", "m2", "m3"]
    assert scope.sessions[0].turns[0].role == "user"


def test_options_lose_their_letters_and_the_right_one_is_named_by_letter(tmp_path: Path) -> None:
    (scope,) = load_personamem(tmp_path, write(tmp_path, [row()]))
    (question,) = scope.questions
    assert (question.options, question.gold, question.kind) == (
        ("Pears", "Figs", "Plums", "Limes"), "(b)", "single_choice",
    )  # fmt: skip
    assert (question.evidence, question.capability) == (("m1",), "A")


def test_version_two_has_choices_in_a_fixed_order_and_replies(tmp_path: Path) -> None:
    write(tmp_path, [row2(), {**row2("r2"), "incorrect_answers": ""}])
    (scope,) = load_personamem2(tmp_path, FILES2)
    choice, reply = scope.questions
    # the order by SHA-256 of the question's id, worked out once: a change would move the options of every release
    assert choice.options == ("Plums", "Limes", "Pears", "Figs")
    assert next(iter(load_personamem2(tmp_path, FILES2))).questions[0].options == choice.options
    assert (choice.query, choice.gold, choice.evidence, choice.capability) == ("A fruit for me?", "Figs", ("m1",), "D")
    assert (reply.options, reply.kind) == (None, "preference")
    assert [turn.turn_id for turn in scope.sessions[0].turns] == ["m1", "m2", "m3"]


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("end_index_in_shared_context", "5", 'from 1 to 4, got "5"'),
        ("end_index_in_shared_context", "x", "whole number"),
        ("all_options", "['(a) Pears'", "a list of 4 to 4 texts"),
        ("all_options", "['(a) A', '(b) A', '(c) B', '(d) C']", "options that differ"),
        ("correct_answer", "(e)", "letter of an option"),
        ("user_question_or_message", " ", "blank"),
        ("evidence", "[3]", "before the question's place"),
    ],
)
def test_a_damaged_row_is_refused_with_file_record_and_field(
    field: str, value: str, words: str, tmp_path: Path
) -> None:
    with pytest.raises(DatasetError) as caught:
        list(load_personamem(tmp_path, write(tmp_path, [row(), {**row("q2"), field: value}])))
    assert (caught.value.file, caught.value.record, caught.value.field) == ("questions_32k.csv", "q2", field)
    assert words in str(caught.value)


def test_a_doubled_id_an_unknown_context_and_a_missing_history_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"questions_32k\.csv, row 3, question_id: this id stands twice"):
        list(load_personamem(tmp_path, write(tmp_path, [row(), row()])))
    with pytest.raises(DatasetError, match=r"row 2, shared_context_id: no file has a context"):
        list(load_personamem(tmp_path, write(tmp_path, [{**row(), "shared_context_id": "c9"}])))
    write(tmp_path, [{**row2(), "chat_history_32k_link": "data/ben.json"}])
    with pytest.raises(DatasetError, match=r'chat_history_32k_link: the bundle has no file "data/ben\.json"'):
        list(load_personamem2(tmp_path, FILES2))


def test_a_cut_table_and_a_missing_column_are_refused(tmp_path: Path) -> None:
    files = write(tmp_path, [row()])
    path = tmp_path / files[0]
    whole = path.read_bytes()
    path.write_bytes(whole[: whole.index(b"Plums")])
    with pytest.raises(DatasetError, match=r"questions_32k\.csv, (byte|row)"):
        list(load_personamem(tmp_path, files))
    path.write_bytes(whole.replace(b"question_type,", b"kind,", 1))
    with pytest.raises(DatasetError, match=r"q1, question_type: the field is missing"):
        list(load_personamem(tmp_path, files))


VALUES = st.text(max_size=12) | st.sampled_from(["[" * 300, "{'content': 3}", "[1]", "null", "1e9", "[]", "[true]"])


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(version=st.sampled_from([1, 2]), at=st.integers(0, 7), value=VALUES)
def test_any_cell_is_read_or_refused(tmp_path: Path, version: int, at: int, value: str) -> None:
    cells = row() if version == 1 else row2()
    cells[list(cells)[at % len(cells)]] = value.encode("utf-8", "replace").decode()
    files = write(tmp_path, [cells])
    with suppress(DatasetError):
        list(load_personamem(tmp_path, files) if version == 1 else load_personamem2(tmp_path, FILES2))
