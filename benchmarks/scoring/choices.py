"""Choice questions, scored by the letters that an answer commits itself to: 0 or 1.

Sources: the public descriptions and outputs of ScriptMem's and PersonaMem's evaluation.
"""

import re
from collections.abc import Iterator
from typing import Final

from benchmarks.datasets.model import Question
from benchmarks.scoring.token_f1 import words_refusal

__all__ = ["personamem_mcq", "personamem_words", "scriptmem_mcq"]

_BOX: Final = re.compile(r"\\box(?:ed)?\{([^}]*)")
_FINAL_ANSWER: Final = re.compile(r"final answer:", re.IGNORECASE)
_THINK_END: Final = "</think>"
_ADJACENT: Final = re.compile(r"\(\s*[a-f]\s*\)\(\s*[a-f]\s*\)|\[\s*[a-f]\s*\]\[\s*[a-f]\s*\]", re.IGNORECASE)
_OPENING: Final = re.compile(r"[(\[]")
_CLOSING: Final = {"(": ")", "[": "]"}
_LAST_BRACKET: Final = re.compile(r"[(\[]([^)\]]*)[)\]]")
_LETTERS: Final = re.compile(r"[a-f]{1,5}", re.IGNORECASE)
_LABEL: Final = re.compile(r"[a-f]\s*[.:]", re.IGNORECASE)
_LETTERS_AND_SPACES: Final = re.compile(r"[a-f][a-z ]*", re.IGNORECASE)
_MAX_LETTERS: Final = 5

_PERSONA_ANSWER: Final = "<final_answer>"
_PERSONA_BRACKETED: Final = re.compile(r"\(([a-d])\)")
_PERSONA_BARE: Final = re.compile(r"\b([a-d])\b")


def scriptmem_mcq(question: Question, prediction: str) -> float:
    """Return `scriptmem.mcq.v1` by the question's kind: single_choice, multi_select or ordering.

    `gold` holds the right letters A to F, with a comma between them. Malformed or missing letters score 0.
    """
    gold = [letter.strip().upper() for letter in question.gold.split(",")]
    text = _answer_text(prediction)
    if question.kind in {"multi_select", "ordering"}:
        letters = _listed_letters(text)
        right = letters == gold if question.kind == "ordering" else set(letters) == set(gold)
        return float(right and len(set(letters)) == len(letters))
    return float(_single_letters(text) == set(gold) and len(gold) == 1)


def personamem_mcq(question: Question, prediction: str) -> float:
    """Return `personamem.mcq.v1`: 1 if the answer's letters (a) to (d) are the one right letter, else 0.

    Where `gold` is the text of an option, the text that the letter stands for must be equal to it.
    """
    text = prediction.rsplit(_PERSONA_ANSWER, 1)[-1].lower()
    letters = set(_PERSONA_BRACKETED.findall(text)) or set(_PERSONA_BARE.findall(text))
    options = question.options or ()
    if question.gold not in options:
        return float(letters == {question.gold.lower().strip("() ")})
    places = ["abcd".index(letter) for letter in letters]
    return float(len(places) == 1 and places[0] < len(options) and options[places[0]] == question.gold)


def personamem_words(question: Question, prediction: str) -> float:
    """Return `personamem.words.v1`: a choice by its letter, a free answer by the words of the right option."""
    return personamem_mcq(question, prediction) if question.options else words_refusal(question, prediction)


def _answer_text(prediction: str) -> str:
    """Return the part of a reply that is its answer: the last box, else what follows the announcements."""
    text = prediction.strip()
    boxes = _BOX.findall(text)
    if boxes:
        return str(boxes[-1]).strip()
    announced = _FINAL_ANSWER.search(text)
    if announced:
        text = text[announced.end() :]
    return text.partition(_THINK_END)[2].strip() if _THINK_END in text else text.strip()


def _single_letters(text: str) -> set[str]:
    """Return the letters that a single choice names; none where it is malformed."""
    if _LETTERS.fullmatch(text):
        return set(text.upper())
    if _ADJACENT.search(text):
        return set()
    return {token[0].upper() for token in map(str.strip, _bracketed(text)) if _names_option(token)}


def _bracketed(text: str) -> Iterator[str]:
    """Yield what stands between each bracket and the next one that closes it, in time linear in the text."""
    at, closed = 0, {"(": text.rfind(")"), "[": text.rfind("]")}
    while opening := _OPENING.search(text, at):
        at = opening.end()
        if closed[opening[0]] >= at:
            end = text.index(_CLOSING[opening[0]], at)
            yield text[at:end]
            at = end + 1


def _names_option(token: str) -> bool:
    label = _LABEL.match(token)
    if label and token[label.end() :] and "\n" not in token[label.end() :].lstrip():
        return True
    return _LETTERS_AND_SPACES.fullmatch(token) is not None and len(token.replace(" ", "")) <= _MAX_LETTERS


def _listed_letters(text: str) -> list[str]:
    """Return every letter A to F of the last bracket, or of the whole text without one, in order."""
    brackets = _LAST_BRACKET.findall(text[: max(text.rfind(")"), text.rfind("]")) + 1])
    content = brackets[-1] if brackets else text
    return [letter.upper() for letter in content if letter in "abcdefABCDEF"]
