"""The counter words.v1 and the cut of long messages."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from benchmarks.datasets.words import count_words, cut_message

VECTORS: dict[str, Any] = json.loads((Path(__file__).parent / "vectors" / "words.v1.json").read_text(encoding="utf-8"))
TEXT = st.text(st.sampled_from("ab你好かカ한，。、 \n\t\u3000\u00a0.-—́ー\U000e0100")) | st.text()


@pytest.mark.parametrize("vector", VECTORS["count"], ids=lambda vector: vector["why"])
def test_a_text_has_the_committed_number_of_words(vector: dict[str, Any]) -> None:
    assert count_words(vector["text"]) == vector["words"]


@pytest.mark.parametrize("vector", VECTORS["cut"], ids=lambda vector: vector["why"])
def test_a_text_is_cut_into_the_committed_pieces(vector: dict[str, Any]) -> None:
    assert cut_message(vector["text"], vector["limit"]) == vector["pieces"]


@given(TEXT, st.integers(1, 12))
@example("a ，你", 1)
@example("你，abc好", 1)
def test_pieces_join_to_the_text_and_keep_its_words(text: str, limit: int) -> None:
    pieces = cut_message(text, limit)
    assert "".join(pieces) == text
    assert all(count_words(piece) <= limit for piece in pieces)
    assert sum(map(count_words, pieces)) == count_words(text)


def test_a_text_of_words_with_spaces_is_cut_at_the_limit() -> None:
    pieces = cut_message("word " * 4500)
    assert [count_words(piece) for piece in pieces] == [2000, 2000, 500]


def test_a_text_without_spaces_is_cut_at_the_limit() -> None:
    pieces = cut_message("记" * 4500)
    assert [len(piece) for piece in pieces] == [2000, 2000, 500]


def test_a_cut_takes_the_last_space_of_the_final_tenth_and_none_before_it() -> None:
    late, early = "字" * 1900 + " " + "字" * 300, "字" * 1700 + " " + "字" * 500
    assert len(cut_message(late)[0]) == 1901
    assert count_words(cut_message(early)[0]) == 2000


def test_a_limit_below_one_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one word"):
        cut_message("text", 0)
