"""An extractive answerer that needs no model and no network (`offline.extract.v1`).

It ranks the sentences of the retrieved memories by the weight of the terms that they share with the question, and
takes from the best one the part that the question asks for: a date, a name, a number, or the words behind the match.
Where too little is shared, or only with what somebody else said, it says that there is no information. It is plain on
purpose: the same text always gives the same answer, and better memories give better answers.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from time import perf_counter
from typing import Final

from benchmarks.datasets.model import Question
from benchmarks.scoring.terms import is_han, terms_of
from contract.answers import Memory
from evaluation.pipeline.answering.choosing import choose
from evaluation.pipeline.answering.dates import Moment, find_moment, without_dates
from evaluation.pipeline.answering.model import Answer
from evaluation.pipeline.answering.passages import Passage, Sentence, read_passage
from evaluation.pipeline.answering.spans import Kind, asks_for_list, kind_of, pick_span

__all__ = ["NOTHING_KNOWN", "OfflineAnswerer"]

NOTHING_KNOWN: Final = "No information available"
NOTHING_KNOWN_ZH: Final = "没有提到相关信息"

_CONTEXT: Final = 0.5
_RANK: Final = 2.0
_OTHER_SPEAKER: Final = 0.6
_ASKS_BACK: Final = 0.5
_OTHER_TIME: Final = 0.5
_MIN_COVERAGE: Final = 0.2
# Characters and pairs make more terms of a question, and more of them only join words.
_MIN_COVERAGE_ZH: Final = 0.12
_MIN_LEAD: Final = 0.75
_TRIED: Final = 5
_AMONG: Final = 100
_GRAIN: Final = 1000
_LISTED: Final = 3
_LIST_SHARE: Final = 0.6
_TOLD: Final = 6
_TOLD_SHARE: Final = 0.4
_WHOLE: Final = frozenset({"long_form", "preference", "ordering"})
"""Kinds of question that want sentences rather than a few words."""


@dataclass(frozen=True, slots=True)
class _Hit:
    """A sentence that shares terms with the question."""

    weight: float
    coverage: float
    own: bool
    sentence: Sentence
    passage: Passage


class OfflineAnswerer:
    """The Answerer without a model; it reads every memory, so that none is ever cut."""

    id = "offline.extract.v1"

    async def answer(self, question: Question, memories: Sequence[Memory]) -> Answer:
        """Return the extracted answer; it never waits and never fails."""
        return self.extract(question, memories)

    def extract(self, question: Question, memories: Sequence[Memory]) -> Answer:
        """Return the same answer outside an event loop."""
        began = perf_counter()
        text = _extract(question, [read_passage(memory) for memory in memories])
        return Answer(
            text=text,
            model=self.id,
            prompt_sha256="",
            prompt_tokens=0,
            completion_tokens=0,
            latency_ms=(perf_counter() - began) * 1000,
            memories_used=len(memories),
            memories_cut=0,
        )


def _extract(question: Question, passages: Sequence[Passage]) -> str:
    query = question.query
    refusal = NOTHING_KNOWN_ZH if is_han(query) else NOTHING_KNOWN
    if question.options:
        return choose(question, passages) or refusal
    hits = _ranked(query, passages)
    if not _supported(hits, _MIN_COVERAGE_ZH if is_han(query) else _MIN_COVERAGE):
        return refusal
    if question.kind in _WHOLE:
        return _told(hits, in_time=question.kind == "ordering")
    kind = kind_of(query)
    if kind == "yes_no":
        return "是" if is_han(query) else "Yes"
    if kind == "what" and asks_for_list(query):
        return _listed(hits, query) or refusal
    best = hits[:_TRIED]
    texts = (_from_hit(wanted, hit, query) for wanted in (kind, "what") for hit in best)
    return next(filter(None, texts), refusal)


def _told(hits: Sequence[_Hit], *, in_time: bool) -> str:
    """Return the best sentences whole, one a line: as they were ranked, or one of each memory in the order of time."""
    enough = [hit for hit in hits if hit.own and hit.weight >= _TOLD_SHARE * hits[0].weight]
    if not in_time:
        return "\n".join(dict.fromkeys(hit.sentence.text for hit in enough[:_TOLD]))
    of_each: dict[int, _Hit] = {}
    for hit in enough:
        of_each.setdefault(id(hit.passage), hit)
    first = sorted(list(of_each.values())[:_TOLD], key=lambda hit: hit.passage.day or date.max)
    return "\n".join(f"{number}. {hit.sentence.text}" for number, hit in enumerate(first, 1))


def _listed(hits: Sequence[_Hit], query: str) -> str:
    """Return what several memories say, with commas between."""
    comma = "，" if is_han(query) else ", "
    enough = [hit for hit in hits if hit.own and hit.weight >= _LIST_SHARE * hits[0].weight]
    texts = (pick_span("what", hit.sentence.text, query) for hit in enough[:_LISTED])
    return comma.join(dict.fromkeys(text for text in texts if text))


def _from_hit(kind: Kind, hit: _Hit, query: str) -> str:
    if kind != "when":
        return pick_span(kind, hit.sentence.text, query)
    day = hit.passage.day
    named = (find_moment(sentence.text, day) for sentence in (hit.sentence, *hit.passage.sentences))
    moment = next((moment for moment in named if moment), None)
    if moment is None and day:
        moment = Moment(day, "day")
    return moment.text(chinese=is_han(query)) if moment else ""


def _ranked(query: str, passages: Sequence[Passage]) -> list[_Hit]:
    """Return the sentences that share something with the question, the weightiest first."""
    named = {passage.speaker for passage in passages if passage.speaker and passage.speaker in query}
    time = find_moment(query, None)
    asked = terms_of(without_dates(query)).difference(*(terms_of(name) for name in named))
    weights = _weights(asked, passages)
    total = sum(weights.values())
    hits = []
    for rank, passage in enumerate(passages):
        around = passage.terms & asked
        if not around:
            continue
        own = not named or not passage.speaker or passage.speaker in named
        context = sum(weights[term] for term in around)
        fits = 1.0 if own else _OTHER_SPEAKER
        if time and passage.day and not time.holds(passage.day):
            fits *= _OTHER_TIME
        for sentence in passage.sentences:
            direct = sum(weights[term] for term in sentence.terms & asked)
            weight = (direct + _CONTEXT * (context - direct)) * fits * _firmness(sentence) + _RANK * _GRAIN / (rank + 2)
            hits.append(_Hit(weight, fits * context / total, own, sentence, passage))
    hits.sort(key=lambda hit: -hit.weight)
    return hits


def _firmness(sentence: Sentence) -> float:
    return _ASKS_BACK if sentence.text.endswith(("?", "？")) else 1.0


def _weights(asked: frozenset[str], passages: Sequence[Passage]) -> dict[str, int]:
    """Return how much each term of the question tells the memories apart.

    Few memories are weighed as if they stood among a hundred, and a term that none has weighs like one that a single
    memory has, so that coverage means the same for any number of memories. Whole numbers add up to the same in any
    order, which sets don't keep from one process to the next.
    """
    seen = Counter(term for passage in passages for term in passage.terms & asked)
    among = max(len(passages), _AMONG)
    return {term: round(_GRAIN * math.log(1 + among / max(seen[term], 1))) for term in asked}


def _supported(hits: Sequence[_Hit], least: float) -> bool:
    """Tell whether the best memory holds enough of the question, and was said by the one who is asked about."""
    own = max((hit.coverage for hit in hits if hit.own), default=0.0)
    other = max((hit.coverage / _OTHER_SPEAKER for hit in hits if not hit.own), default=0.0)
    return own > 0 and own >= least and own >= _MIN_LEAD * other
