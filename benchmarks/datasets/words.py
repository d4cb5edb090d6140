"""The published word counter `words.v1`, and the cut of a message that is too long for one chunk.

A word is a maximal run of characters between Unicode white space, except that each Han, Hiragana, Katakana or
Hangul character is a word by itself. Punctuation that stands against such a character is no word of its own, and
neither is a mark that only changes how the character before it is written.
Source: the wire contract, chunking; scripts as of Unicode 14.0.0, the database of Python 3.11.
"""

import re
from bisect import bisect_left
from typing import Final

from benchmarks.datasets.unicode14 import HAN, HANGUL, HIRAGANA, KATAKANA, PUNCTUATION, WHITE_SPACE, Ranges

__all__ = ["COUNTER_ID", "MAX_WORDS", "SINGLE", "count_words", "cut_message", "word_spans"]

COUNTER_ID: Final = "words.v1"
MAX_WORDS: Final = 2000

# Marks that belong to the character before them: variation selectors, ideographic tone marks, kana voicing marks.
_MARKS: Final[Ranges] = ((0x302A, 0x302D), (0x3099, 0x309A), (0xFE00, 0xFE0F), (0xE0100, 0xE01EF))


def _class(*tables: Ranges) -> str:
    """Return the inside of a regular expression's character class for the tables."""
    return "".join(f"\\U{first:08x}-\\U{last:08x}" for table in tables for first, last in table)


# The class of characters that are words by themselves, for use inside [...].
SINGLE: Final = _class(HAN, HIRAGANA, KATAKANA, HANGUL)
_SPACE: Final = _class(WHITE_SPACE)
_WORD: Final = re.compile(f"[{SINGLE}]|[^{_SPACE}{SINGLE}]+")
_SPACES: Final = re.compile(f"[{_SPACE}]")
_IS_SINGLE: Final = re.compile(f"[{SINGLE}]")
_ONLY_PUNCTUATION: Final = re.compile(f"[{_class(PUNCTUATION, _MARKS)}]+")


def word_spans(text: str) -> list[tuple[int, int]]:
    """Return (start, end) of each word of `text`, in characters, in order."""
    if _IS_SINGLE.search(text) is None:
        return [match.span() for match in _WORD.finditer(text)]
    return [match.span() for match in _WORD.finditer(text) if not _is_attached(text, *match.span())]


def _is_attached(text: str, start: int, end: int) -> bool:
    """Tell whether text[start:end] is punctuation that stands against a character which is a word by itself."""
    if _ONLY_PUNCTUATION.fullmatch(text, start, end) is None:
        return False
    before = start > 0 and _IS_SINGLE.match(text, start - 1)
    return bool(before or _IS_SINGLE.match(text, end))


def count_words(text: str) -> int:
    """Return the number of `words.v1` words in `text`."""
    return len(word_spans(text))


def cut_message(text: str, limit: int = MAX_WORDS) -> list[str]:
    """Cut `text` into pieces of at most `limit` words, which joined together are `text` again.

    A piece reaches as far as it can, then is cut after the last white space within its final tenth of words, or
    where word `limit` + 1 begins if there is none. Text within the limit is one piece. The words of the pieces add
    up to the words of the text. Raises ValueError for a limit below 1.
    """
    if limit < 1:
        raise ValueError(f"a piece holds at least one word, got a limit of {limit}")
    spans = word_spans(text)
    starts = [start for start, _ in spans]
    pieces: list[str] = []
    begin = first = 0
    while len(spans) - first > limit:
        end = _cut_point(text, spans, first, limit)
        pieces.append(text[begin:end])
        begin, first = end, bisect_left(starts, end)
    return [*pieces, text[begin:]]


def _cut_point(text: str, spans: list[tuple[int, int]], first: int, limit: int) -> int:
    """Return where the piece that begins with word `first` ends."""
    last_end = spans[first + limit][0]
    tail = max(limit // 10, 1)
    tail_begin = spans[first + limit - tail - 1][1] if limit > tail else spans[first][1]
    spaces = [match.end() for match in _SPACES.finditer(text, tail_begin, last_end)]
    return spaces[-1] if spaces else last_end
