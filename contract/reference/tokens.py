"""Cuts text into terms for search: words, and single Han characters with their pairs."""

from __future__ import annotations

import re

__all__ = ["tokenise"]

_HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"
_TERMS = re.compile(rf"[{_HAN}]+|[^\W_{_HAN}]+(?:['’][^\W_{_HAN}]+)*")
_IS_HAN = re.compile(rf"[{_HAN}]")


def tokenise(text: str) -> list[str]:
    """Return the terms of `text` in order.

    Words are folded to lower case and lose a possessive or plural s. A run of Han characters gives each character
    and each pair of neighbours, since nothing marks where a Chinese word ends.
    """
    terms: list[str] = []
    for run in _TERMS.findall(text.casefold()):
        if _IS_HAN.match(run):
            terms += run
            terms += (run[at : at + 2] for at in range(len(run) - 1))
        else:
            terms.append(_singular(run.replace("’", "'").removesuffix("'s")))
    return terms


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")) else word
