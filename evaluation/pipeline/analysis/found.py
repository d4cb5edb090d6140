"""`evidence.found.v1`: whether a returned memory holds what a question's gold evidence says.

A memory holds an evidence turn if at least `TOKEN_SHARE` of the turn's distinct tokens stand in it, or if the answer
span stands in it, word after word. The span counts for those evidence turns that hold it themselves, and for each one
where none does (a date that only follows from what was said). Words are compared as `words.f1.v1` compares them:
lower case, stemmed, without articles, each Han character by itself. A span must have `SPAN_LETTERS` letters or
`SPAN_HAN` Han characters, and a question with options has none, since its gold is a letter.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final

from benchmarks.datasets.model import Question
from benchmarks.scoring.overlap import stem_words
from benchmarks.scoring.terms import is_han
from benchmarks.scoring.token_f1 import normalise_words
from contract.memories import Memory
from evaluation.pipeline.answering.model import memory_text

__all__ = ["RULE", "SPAN_HAN", "SPAN_LETTERS", "TOKEN_SHARE", "evidence_ranks"]

RULE: Final = "evidence.found.v1"
TOKEN_SHARE: Final = 0.75
SPAN_LETTERS: Final = 3
SPAN_HAN: Final = 2

Tokens = tuple[frozenset[str], str]
"""The distinct tokens of a text, and all of them in order between spaces."""


def evidence_ranks(question: Question, turns: Mapping[str, str], memories: Sequence[Memory]) -> tuple[int | None, ...]:
    """Return, for each evidence turn of `question`, the place from 1 of the first memory that holds it.

    `turns` holds the text of turns by id. A turn that no memory holds, or that `turns` doesn't have, is None.
    """
    wanted = [_tokens(turns.get(turn, "")) for turn in question.evidence]
    span = _span(question)
    holds = [bool(span) and span in text for _, text in wanted]
    by_span = [held or not any(holds) for held in holds] if span else [False] * len(wanted)
    ranks: list[int | None] = [None] * len(wanted)
    for place, memory in enumerate(memories, 1):
        if None not in ranks:
            break
        words, text = _tokens(memory_text(memory))
        has_span = bool(span) and span in text
        for index, (turn, _) in enumerate(wanted):
            if ranks[index] is None and turn and ((has_span and by_span[index]) or _is_enough(turn, words)):
                ranks[index] = place
    return tuple(ranks)


def _is_enough(turn: frozenset[str], words: frozenset[str]) -> bool:
    return len(turn & words) >= TOKEN_SHARE * len(turn)


def _span(question: Question) -> str:
    """The answer as tokens between spaces; empty where it is too short to tell anything."""
    if question.options:
        return ""
    words, text = _tokens(question.gold)
    letters = sum(len(word) for word in words)
    return text if letters >= (SPAN_HAN if is_han(question.gold) else SPAN_LETTERS) else ""


@lru_cache(maxsize=1024)
def _tokens(text: str) -> Tokens:
    words = stem_words(normalise_words(text))
    return frozenset(words), f" {' '.join(words)} " if words else ""
