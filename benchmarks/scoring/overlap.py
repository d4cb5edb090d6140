"""Overlap of stemmed words: the multiset F1 that several metrics are built on."""

from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Final

__all__ = ["mean", "multiset_f1", "stem", "stem_words"]

# NLTK looks at a "y" by recursion over those before it, so that a long run of them would exhaust the stack.
_LONGEST_WORD: Final = 200


@lru_cache(maxsize=1)
def _porter() -> Callable[[str], str]:
    # Imported at first use: NLTK takes over a second to import, and most of the portal never scores.
    from nltk.stem.porter import PorterStemmer

    return PorterStemmer().stem  # type: ignore[no-any-return, unused-ignore]


def stem(word: str) -> str:
    """Return Porter's stem of `word`, in NLTK's default mode (its extensions on, lower-cased).

    A run of more than 200 characters is no word of a language and only becomes lower-case.
    """
    return _stem(word) if len(word) <= _LONGEST_WORD else word.lower()


@lru_cache(maxsize=65536)
def _stem(word: str) -> str:
    return _porter()(word)


def stem_words(normalised: str) -> list[str]:
    """Return the stems of the words of an already normalised text."""
    return [stem(word) for word in normalised.split()]


def multiset_f1(prediction: Sequence[str], gold: Sequence[str]) -> float:
    """Return the F1 of two multisets of words, 0 without overlap."""
    same = sum((Counter(prediction) & Counter(gold)).values())
    if same == 0:
        return 0.0
    precision, recall = same / len(prediction), same / len(gold)
    return 2 * precision * recall / (precision + recall)


def mean(values: Sequence[float]) -> float:
    """Return the mean of up to 128 values, added in numpy's order so that the last digit agrees with it.

    Longer sequences are added from the left. Raises ValueError for none.
    """
    if not values:
        raise ValueError("a mean needs at least one value")
    if not 8 <= len(values) <= 128:
        return _add(values) / len(values)
    whole = len(values) - len(values) % 8
    lanes = [_add(values[lane:whole:8]) for lane in range(8)]
    paired = ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) + ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]))
    return _add([paired, *values[whole:]]) / len(values)


def _add(values: Sequence[float]) -> float:
    """Add from the left without compensation, which sum() has since Python 3.12."""
    total = 0.0
    for value in values:
        total += value
    return total
