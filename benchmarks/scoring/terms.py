"""The terms of a text that carry meaning: stems of English words, characters and pairs of characters of Chinese."""

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from typing import Final

from benchmarks.datasets.words import SINGLE
from benchmarks.scoring.overlap import stem
from benchmarks.scoring.stopwords import STOP_CHARACTERS, STOP_WORDS

__all__ = ["is_han", "terms_of"]

_WORD: Final = re.compile(rf"[{SINGLE}]+|[^\W_]+(?:['’][^\W_]+)?")
_HAN: Final = re.compile(f"[{SINGLE}]")


def is_han(text: str) -> bool:
    """Tell whether `text` has a Han, Hiragana, Katakana or Hangul character."""
    return _HAN.search(text) is not None


@lru_cache(maxsize=16384)
def terms_of(text: str) -> frozenset[str]:
    """Return the terms of `text` that carry meaning."""
    return frozenset(_terms(text))


def _terms(text: str) -> Iterator[str]:
    for match in _WORD.finditer(text.lower()):
        word = match[0]
        if is_han(word):
            yield from (char for char in word if char not in STOP_CHARACTERS)
            yield from (a + b for a, b in pairwise(word) if a not in STOP_CHARACTERS and b not in STOP_CHARACTERS)
            continue
        word = re.split(r"['’]", word)[0]
        if word not in STOP_WORDS:
            yield stem(word)
