"""Sessions become Adds of at most 20 messages and 2,000 words."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.datasets.chunking import chunk_session
from benchmarks.datasets.locomo import load_locomo
from benchmarks.datasets.model import Session, Turn
from benchmarks.datasets.words import count_words


def session_of(*contents: str) -> Session:
    return Session("s", tuple(Turn("user", text, 1000 + at, f"t{at}") for at, text in enumerate(contents)))


def sizes(session: Session) -> list[int]:
    return [len(chunk) for chunk in chunk_session(session)]


def test_twenty_messages_are_one_chunk_and_the_next_begins_another() -> None:
    assert sizes(session_of(*["hi"] * 20)) == [20]
    assert sizes(session_of(*["hi"] * 21)) == [20, 1]


def test_a_chunk_ends_before_the_message_that_would_pass_two_thousand_words() -> None:
    assert sizes(session_of("w " * 1000, "w " * 1000, "w")) == [2, 1]
    assert sizes(session_of("w " * 1000, "w " * 1001, "w")) == [1, 2]


def test_the_pieces_of_a_long_message_count_as_ordinary_messages() -> None:
    chunks = chunk_session(session_of("w " * 100, "字" * 4100, "w"))
    assert [[count_words(turn.content) for turn in chunk] for chunk in chunks] == [[100], [2000], [2000], [100, 1]]
    assert {turn.turn_id for turn in chunks[1]} == {turn.turn_id for turn in chunks[2]} == {"t1"}
    assert {turn.timestamp_ms for chunk in chunks[1:3] for turn in chunk} == {1001}
    assert "".join(turn.content for chunk in chunks for turn in chunk if turn.turn_id == "t1") == "字" * 4100


def test_a_session_without_text_makes_no_chunk() -> None:
    assert chunk_session(session_of()) == []
    assert chunk_session(session_of("")) == []


@given(st.lists(st.integers(0, 4200).map(lambda count: "w " * count), max_size=45))
@settings(max_examples=40, deadline=None)
def test_chunks_keep_the_limits_and_lose_nothing(contents: list[str]) -> None:
    chunks = chunk_session(session_of(*contents))
    assert all(1 <= len(chunk) <= 20 for chunk in chunks)
    assert all(sum(count_words(turn.content) for turn in chunk) <= 2000 for chunk in chunks)
    assert "".join(turn.content for chunk in chunks for turn in chunk) == "".join(contents)


@pytest.mark.data
def test_the_real_conversations_are_chunked_within_the_limits_and_lose_nothing(data_dir: Path) -> None:
    for scope in load_locomo(data_dir / "locomo" / "locomo10.json"):
        for session in scope.sessions:
            chunks = chunk_session(session)
            assert tuple(turn for chunk in chunks for turn in chunk) == session.turns
            assert all(len(chunk) <= 20 for chunk in chunks)


@pytest.mark.data
def test_the_longest_message_of_a_real_chat_is_cut_and_joins_again(data_dir: Path) -> None:
    chat = json.loads((data_dir / "beam" / "100K" / "1" / "chat.json").read_text(encoding="utf-8"))
    texts = [turn["content"] for batch in chat for group in batch["turns"] for turn in group]
    longest = max(texts, key=count_words)
    assert count_words(longest) > 2000
    chunks = chunk_session(session_of(longest))
    assert len(chunks) == 2
    assert "".join(turn.content for chunk in chunks for turn in chunk) == longest
