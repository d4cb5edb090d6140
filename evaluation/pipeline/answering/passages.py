"""Memories taken apart for the offline answerer: date, speaker, sentences and their terms."""

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import lru_cache
from typing import Final

from benchmarks.scoring.terms import is_han, terms_of
from contract.answers import Memory
from evaluation.pipeline.answering.model import memory_text

__all__ = ["Passage", "Sentence", "is_han", "read_passage", "terms_of"]

_DATED: Final = re.compile(r"\[?(\d{4})-(\d{2})-(\d{2})(?:[T ]\d{2}:\d{2}(?::\d{2})?Z?)?\]?:?\s*")
_SPEAKER: Final = re.compile(r"([^\W\d_][\w .'·-]{0,39}?)\s*[:：]\s*")
_SENTENCE: Final = re.compile(r"[^.!?。！？\n]+(?:[.!?。！？]+(?![^\s\"'”’)。！？])|[.!?]|\n|$)|[^\s]")
_MAX_SENTENCES: Final = 60
_READ: Final = 20_000
"""Characters of a memory that are read: about 3,500 English words, more than the sentences that are kept."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence with its terms: stems of English content words, characters and pairs of characters
    of Chinese."""

    text: str
    terms: frozenset[str]


@dataclass(frozen=True, slots=True)
class Passage:
    """One memory: the day on which it was said and who said it, where it tells, and its sentences."""

    day: date | None
    speaker: str
    sentences: tuple[Sentence, ...]
    terms: frozenset[str]


def read_passage(memory: Memory) -> Passage:
    """Return the memory taken apart; its date is the one it begins with, else its `created_at`."""
    return _passage(memory_text(memory)[:_READ], memory.created_at)


@lru_cache(maxsize=32768)
def _passage(text: str, created_at: str | float | None) -> Passage:
    day = _created_day(created_at)
    dated = _DATED.match(text)
    if dated:
        day = _day(int(dated[1]), int(dated[2]), int(dated[3])) or day
        text = text[dated.end() :]
    spoken = _SPEAKER.match(text)
    speaker = ""
    if spoken:
        speaker, text = spoken[1], text[spoken.end() :]
    pieces = [piece.strip() for piece in _SENTENCE.findall(text)[:_MAX_SENTENCES]]
    sentences = tuple(Sentence(piece, terms_of(piece)) for piece in pieces if any(map(str.isalnum, piece)))
    everything: frozenset[str] = frozenset().union(*(sentence.terms for sentence in sentences))
    return Passage(day, speaker, sentences, everything)


def _created_day(created_at: str | float | None) -> date | None:
    """Return the day of a date or of Unix time in s or ms, UTC; None for anything else."""
    if isinstance(created_at, str):
        match = re.match(r"(\d{4})-(\d{2})-(\d{2})", created_at)
        return _day(int(match[1]), int(match[2]), int(match[3])) if match else None
    if created_at is None or not 0 < created_at < 1e14:
        return None
    return datetime.fromtimestamp(created_at / 1000 if created_at > 1e11 else created_at, UTC).date()


def _day(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None
