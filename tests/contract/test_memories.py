"""Memories are read the quick way where all is well, and one by one where something is not: with one result."""

from __future__ import annotations

import json
import math
from typing import Any
from unittest import mock

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from contract import memories
from contract.answers import SearchOutcome, read_search
from contract.messages import SearchRequest, Track
from contract.verdicts import Verdict

SEARCH = SearchRequest(query="q", user_id="u", top_k=4)
texts = st.text(max_size=4) | st.sampled_from(["m", " ", "\t\n", "\u3000", "x" * 512, "x" * 513, "x" * 64, "x" * 65])
numbers = st.integers() | st.floats() | st.sampled_from([10**400, -(10**400), 2**63, 1e308])
values = st.none() | st.booleans() | numbers | texts | st.lists(st.just({"type": "text", "text": "t"}), max_size=2)
items = st.fixed_dictionaries(
    {"id": texts | values, "content": texts | values},
    optional={"score": values, "created_at": values, "more": values | st.dictionaries(texts, numbers, max_size=2)},
)
good = st.fixed_dictionaries(
    {"id": st.sampled_from("abcd"), "content": st.just("text")},
    optional={"score": numbers | st.none(), "created_at": st.text(max_size=5) | numbers, "more": values},
)
documents = st.fixed_dictionaries(
    {"data": st.lists(good, max_size=5) | st.lists(good | items | values, max_size=5) | values},
    optional={"more": values},
)


def read(body: bytes, track: Track) -> SearchOutcome:
    return read_search(200, {"content-type": "application/json"}, body, request=SEARCH, track=track)


@given(documents, st.sampled_from(["textual", "multimodal"]))
@example({"data": [{"id": "a", "content": "x", "created_at": math.inf}]}, "textual")
@example({"data": [{"id": "a", "content": "x", "score": None, "more": math.inf}]}, "textual")
@example({"data": [{"id": "a", "content": "x"}], "more": -math.inf}, "textual")
def test_the_quick_way_and_the_careful_one_agree(document: dict[str, Any], track: Track) -> None:
    # as a peer may write an infinite number that a reader of JSON takes
    body = json.dumps(document).replace("-Infinity", "-1e999").replace("Infinity", "1e999").encode()
    quick = read(body, track)
    with mock.patch.object(memories, "_read_at_once", return_value=None):
        careful = read(body, track)
    assert quick == careful


@pytest.mark.parametrize("where", ["score", "created_at", "more"])
def test_an_infinite_number_is_refused_wherever_it_stands(where: str) -> None:
    body = json.dumps({"data": [{"id": "a", "content": "x", where: 0}]}).replace(": 0", ": 1e999").encode()
    outcome = read(body, "textual")
    assert outcome.verdict is Verdict.CONTRACT_ERROR
    assert outcome.reason is not None
    assert outcome.reason.code == "non_finite_number"


def test_an_answer_of_text_is_read_without_the_careful_way() -> None:
    body = json.dumps({"data": [{"id": "a", "content": "x", "score": 1, "created_at": "now"}]}).encode()
    with mock.patch.object(memories, "_read_one_by_one", side_effect=AssertionError):
        assert read(body, "textual").verdict is Verdict.OK


ANSWER = (
    '{"data": [{"id": "a", "content": "say \\"hi\\"\\n 你好", "score": 1.5, "created_at": "2024"}, '
    '{"id": "b", "content": "x", "score": 1, "created_at": 7}]}'
).encode()
PIECES = (
    b'"',
    b"\\",
    b'\\"',
    b"\\\\",
    b"\\u0000",
    b"\0",
    b"\xff",
    b"\xed\xa0\x80",
    b"\\ud800",
    b",",
    b"{",
    b"]",
    b"1e999",
)
KEYS = (b'"id": "c", ', b'"score": 2, ', b'"score": null, ', b'"more": {"a": [1e999]}, ', b'"\\u0069d": "c", ')


@given(
    st.lists(st.tuples(st.integers(0, len(ANSWER)), st.integers(0, 3), st.sampled_from(PIECES)), max_size=3),
    st.sampled_from((b"", *KEYS)),
    st.integers(0, 1),
)
def test_both_ways_agree_on_a_body_that_was_tampered_with(
    edits: list[tuple[int, int, bytes]], key: bytes, item: int
) -> None:
    body = ANSWER
    for at, cut, piece in edits:
        body = body[:at] + piece + body[at + cut :]
    opened = (b'{"id": "a"', b'{"id": "b"')[item]
    body = body.replace(opened, b"{" + key + opened[1:])
    quick = read(body, "textual")
    with mock.patch.object(memories, "_read_at_once", return_value=None):
        assert quick == read(body, "textual")


@pytest.mark.parametrize("key", KEYS)
def test_a_field_beside_the_known_ones_or_twice_is_seen_by_counting(key: bytes) -> None:
    body = ANSWER.replace(b'{"id": "b"', b"{" + key + b'"id": "b"')
    assert memories._read_at_once(ANSWER, 4) is not None
    assert memories._read_at_once(body, 4) is None
