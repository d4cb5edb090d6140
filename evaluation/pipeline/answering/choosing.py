"""Choices without a model: which options the memories speak of; one letter, several, or all in the order of time."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final

from benchmarks.datasets.model import Question
from benchmarks.scoring.refusals import declines
from benchmarks.scoring.terms import terms_of
from evaluation.pipeline.answering.passages import Passage

__all__ = ["choose"]

_LETTERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_LEAST: Final = 0.34
"""Share of an option's own words that one memory must hold for the option to be supported at all."""
_SEVERAL: Final = 0.6
"""The same for an option to be among several right ones, and its least share of the best option's support."""
_ASKED: Final = 0.5
_NEIGHBOUR: Final = 0.25


@dataclass(frozen=True, slots=True)
class _Support:
    """How far the memories speak for an option: a weight, its share of words, and where it is spoken of."""

    weight: float
    share: float
    day: date | None
    place: int


def choose(question: Question, passages: Sequence[Passage]) -> str:
    """Return the letters of the options that the memories support, in parentheses; empty where none is.

    An option that itself says that nothing is known is chosen where none of the others is supported.
    """
    options = (question.options or ())[: len(_LETTERS)]
    found = _supports(question.query, options, passages)
    best = max((support.weight for support in found), default=0.0)
    if not best:
        unknown = [at for at, option in enumerate(options) if declines(option)]
        return _written(unknown[:1]) if unknown and question.kind == "single_choice" else ""
    if question.kind == "ordering":
        return _written(sorted(range(len(options)), key=lambda at: _when(found[at])))
    if question.kind == "multi_select":
        enough = [at for at, one in enumerate(found) if one.share >= _SEVERAL and one.weight >= _SEVERAL * best]
        return _written(enough or [_latest(found)])
    return _written([_latest(found)])


def _supports(query: str, options: Sequence[str], passages: Sequence[Passage]) -> list[_Support]:
    """Weigh every option by the memory that holds most of what tells it apart from the others."""
    terms = [terms_of(option) for option in options]
    common = frozenset.intersection(*terms) if len(terms) > 1 else frozenset()
    asked = terms_of(query)
    return [_support(own - common or own, asked, passages) for own in terms]


def _support(wanted: frozenset[str], asked: frozenset[str], passages: Sequence[Passage]) -> _Support:
    best = _Support(0.0, 0.0, None, len(passages))
    if not wanted:
        return best
    for place, passage in enumerate(passages):
        if not passage.terms & wanted:
            continue
        share, context = len(passage.terms & wanted) / len(wanted), len(passage.terms & asked) / max(len(asked), 1)
        near = max((len(sentence.terms & wanted) for sentence in passage.sentences), default=0) / len(wanted)
        weight = round(share + _NEIGHBOUR * near + _ASKED * context, 6) if share >= _LEAST else 0.0
        if weight > best.weight or (weight and weight == best.weight and _later(passage.day, best.day)):
            best = _Support(weight, share, passage.day, place)
    return best


def _latest(found: Sequence[_Support]) -> int:
    """Return the place of the weightiest option; of equals the one that was spoken of last, then the first."""
    return max(range(len(found)), key=lambda at: (found[at].weight, found[at].day or date.min, -at))


def _later(day: date | None, other: date | None) -> bool:
    return day is not None and (other is None or day > other)


def _when(support: _Support) -> tuple[date, int]:
    return support.day or date.max, support.place


def _written(places: Sequence[int]) -> str:
    return f"({', '.join(_LETTERS[place] for place in places)})" if places else ""
