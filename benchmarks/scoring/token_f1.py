"""F1 over stemmed words: `locomo.f1.v1`, `words.f1.v1` for any script, and `memgallery.f1.v1`.

Sources: the public descriptions and outputs of LoCoMo's and Mem-Gallery's evaluation; `words.f1.v1` is this
project's own extension to text that is written without spaces.
"""

import re
import string
from collections.abc import Callable
from typing import Final

from benchmarks.datasets.model import Question
from benchmarks.datasets.words import SINGLE
from benchmarks.scoring.overlap import mean, multiset_f1, stem_words
from benchmarks.scoring.refusals import declines, refuses

__all__ = ["locomo_f1", "memgallery_f1", "normalise_locomo", "normalise_words", "words_f1", "words_refusal"]

_ARTICLES: Final = re.compile(r"\b(a|an|the|and)\b")
_ASCII_PUNCTUATION: Final = str.maketrans("", "", string.punctuation)
_SINGLE: Final = re.compile(f"([{SINGLE}])")
# Full-width forms of ASCII punctuation, and the punctuation of the block CJK Symbols and Punctuation.
_FULL_WIDTH: Final = "".join(
    chr(code)
    for first, last in (
        (0xFF01, 0xFF0F), (0xFF1A, 0xFF20), (0xFF3B, 0xFF40), (0xFF5B, 0xFF65), (0x3001, 0x3003), (0x3008, 0x3011),
        (0x3014, 0x301F), (0x3030, 0x3030), (0x303D, 0x303D), (0x30A0, 0x30A0), (0x30FB, 0x30FB),
    )
    for code in range(first, last + 1)
)  # fmt: skip
_FULL_WIDTH_BLANK: Final = str.maketrans(_FULL_WIDTH, " " * len(_FULL_WIDTH))
# Chinese shares these marks with European text, where locomo.f1.v1 keeps them.
_SHARED_BLANK: Final = str.maketrans("“”…—·", "     ", "‘’")
_LISTING: Final = str.maketrans("，、；", ",,;")
_GALLERY_BLANK: Final = re.compile(r"(?<!\d)\.|\.(?!\d)|[^\w\s.]")

Normalise = Callable[[str], str]


def normalise_locomo(text: str) -> str:
    """Return `text` as `locomo.f1.v1` compares it: lower case, no ASCII punctuation, no articles or "and"."""
    bare = text.replace(",", "").lower().translate(_ASCII_PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", bare).split())


def normalise_words(text: str) -> str:
    """Return `text` as `words.f1.v1` compares it.

    Full-width punctuation becomes spaces, each Han, Hiragana, Katakana or Hangul character stands apart, the rest is
    `locomo.f1.v1`.
    """
    bare = text.translate(_FULL_WIDTH_BLANK)
    if _SINGLE.search(bare):
        bare = _SINGLE.sub(r" \1 ", bare.translate(_SHARED_BLANK))
    return normalise_locomo(bare)


def locomo_f1(question: Question, prediction: str) -> float:
    """Return `locomo.f1.v1`, by the question's category 1 to 5."""
    if question.category == "5":
        return float(refuses(prediction, chinese=False))
    return _by_category(question.category, question.gold, prediction, normalise_locomo)


def words_f1(question: Question, prediction: str) -> float:
    """Return `words.f1.v1`: `locomo.f1.v1` by characters where a script has no spaces.

    Lists may also be separated by full-width commas, and refusals may be Chinese.
    """
    if question.category == "5":
        return float(refuses(prediction))
    gold, said = question.gold.translate(_LISTING), prediction.translate(_LISTING)
    return _by_category(question.category, gold, said, normalise_words)


def words_refusal(question: Question, prediction: str) -> float:
    """Return `words.refusal.v1`: F1 by words, and for an unanswerable question 1 if the answer declines, else 0."""
    if not question.answerable:
        return float(declines(prediction))
    return _f1(prediction, question.gold, normalise_words)


def memgallery_f1(question: Question, prediction: str) -> float:
    """Return `memgallery.f1.v1`, whose punctuation becomes spaces, except a point between digits and "_"."""
    return multiset_f1(stem_words(_normalise_gallery(prediction)), stem_words(_normalise_gallery(question.gold)))


def _by_category(category: str, gold: str, prediction: str, normalise: Normalise) -> float:
    if category == "1":
        return _list_f1(gold, prediction, normalise)
    if category == "3":
        gold = gold.split(";")[0].strip()
    return _f1(prediction, gold, normalise)


def _list_f1(gold: str, prediction: str, normalise: Normalise) -> float:
    """Return the mean over the gold's items of the best F1 over the prediction's items."""
    said = [stem_words(normalise(item)) for item in dict.fromkeys(prediction.split(","))]
    wanted = [stem_words(normalise(item)) for item in gold.split(",")]
    return mean([max(multiset_f1(item, want) for item in said) for want in wanted])


def _f1(prediction: str, gold: str, normalise: Normalise) -> float:
    return multiset_f1(stem_words(normalise(prediction)), stem_words(normalise(gold)))


def _normalise_gallery(text: str) -> str:
    return " ".join(_ARTICLES.sub(" ", _GALLERY_BLANK.sub(" ", text.lower())).split())
