"""Answers scored against a list of what they must hold, by words alone: `rubric.words.v1` and `rubric.all.v1`.

This project's own stand-ins, for a release without a judge model, for BEAM's and CL-Bench's judged rubrics. They see
whether an item's words are there and not what is said with them, so that an item that forbids something is beyond
them.
"""

import re
from collections.abc import Sequence
from typing import Final

from benchmarks.datasets.model import Question
from benchmarks.scoring.ordering import ordering_score
from benchmarks.scoring.overlap import mean
from benchmarks.scoring.refusals import declines, without_refusals
from benchmarks.scoring.terms import terms_of

__all__ = ["ORDERED", "order_in", "rubric_all", "rubric_items", "rubric_ratio", "rubric_words"]

ORDERED: Final = "event_ordering"
"""The category whose rubric lists events in their right order."""

_READ: Final = 20_000
"""Characters of an answer that are read."""
_HOLDS: Final = 0.8
_HALF: Final = 0.4
_FOUND: Final = 0.5
# "LLM response should state: 29 March", "回答应提到：3月29日": what is to be found stands behind the colon.
_LEAD: Final = re.compile(r"[^:：]{0,60}(?:\b(?:should|must)\b|应|须|需要)[^:：]{0,30}[:：]\s*", re.IGNORECASE)
_IN_NUMBER: Final = re.compile(r"(?<=\d),(?=\d{3})")
_PART: Final = re.compile(r"[\n,;.!?，；、。！？>→]+|\b\d{1,2}\)")


def rubric_items(question: Question) -> tuple[str, ...]:
    """Return what a right answer holds: the rubric, or the reference answer where there is none."""
    return question.rubric or ((question.gold,) if question.gold else ())


def rubric_words(question: Question, prediction: str) -> float:
    """Return `rubric.words.v1`: the mean over the items of 1, 0.5 or 0.

    An item gives 1 where the answer has at least 80% of its content words, 0.5 from 40%. Event ordering: the ordering
    formula over the items that are found in the answer. An unanswerable question: 1 if the answer declines, else 0.
    """
    if not question.answerable:
        return float(declines(prediction))
    items = rubric_items(question)
    if question.category == ORDERED:
        return ordering_score(range(len(items)), order_in(items, prediction))
    return mean(_grades(items, prediction)) if items else 0.0


def rubric_all(question: Question, prediction: str) -> float:
    """Return `rubric.all.v1`: 1 if every item gives 1 by the rule of `rubric.words.v1`, else 0."""
    return float(rubric_ratio(question, prediction) == 1.0)


def rubric_ratio(question: Question, prediction: str) -> float:
    """Return the share of items that give 1; 0 without items."""
    items = rubric_items(question)
    if not question.answerable or not items:
        return float(not question.answerable and declines(prediction))
    return sum(grade == 1.0 for grade in _grades(items, prediction)) / len(items)


def order_in(items: Sequence[str], prediction: str) -> list[int]:
    """Return the places in `items` of those that the answer holds, in the answer's order.

    An item stands where the part of the answer is, between marks or line breaks, that has most of its words, and at
    least half of them; items of one part follow each other as their first words do.
    """
    parts = [part for part in _PART.split(_readable(prediction)) if part.strip()]
    terms = [terms_of(part) for part in parts]
    found = []
    for place, item in enumerate(items):
        wanted = _item_terms(item)
        share, at = max(((len(wanted & part) / len(wanted), -at) for at, part in enumerate(terms)), default=(0.0, 0))
        if share >= _FOUND:
            found.append((-at, _first_place(wanted, parts[-at]), place))
    return [place for _, _, place in sorted(found)]


def _first_place(wanted: frozenset[str], part: str) -> int:
    words = re.finditer(r"\w+", part)
    return next((match.start() for match in words if terms_of(match[0]) & wanted), len(part))


def _grades(items: Sequence[str], prediction: str) -> list[float]:
    said = terms_of(_readable(prediction)) | _plain(prediction)
    shares = (len(wanted & said) / len(wanted) for wanted in map(_item_terms, items))
    return [1.0 if share >= _HOLDS else 0.5 if share >= _HALF else 0.0 for share in shares]


def _item_terms(item: str) -> frozenset[str]:
    """Return an item's content words; all its words where none carries meaning, and itself where it has none."""
    lead = _LEAD.match(item)
    wanted = item[lead.end() :] if lead and item[lead.end() :].strip() else item
    return terms_of(_readable(wanted)) or _plain(wanted) or frozenset({wanted})


def _plain(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", text[:_READ].lower()))


def _readable(text: str) -> str:
    return _IN_NUMBER.sub("", without_refusals(text[:_READ]))
