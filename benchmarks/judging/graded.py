"""Judges that grade: by a rubric item by item (BEAM, CL-Bench), by the order of events, or as a whole (ATM-Bench).

Sources: the public descriptions of BEAM's, CL-Bench's and ATM-Bench's evaluation, followed in words of their own.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from hashlib import sha256
from typing import Any, Final, TypeVar

import msgspec

from benchmarks.datasets.model import Question
from benchmarks.judging.call import CallJudge, Finding, Task
from benchmarks.judging.verdict import MAX_REASON, malformed_verdict, read_reply, verdict_of
from benchmarks.scoring.ordering import ordering_score
from benchmarks.scoring.overlap import mean
from benchmarks.scoring.rubrics import ORDERED, rubric_items

__all__ = ["AtmJudge", "BeamJudge", "ClBenchJudge"]

_GRADES: Final = (0.0, 0.5, 1.0)
_WHOLE: Final = (0.0, 1.0)
_ELSE: Final = 0
"""The number of an event that isn't among those that are shown."""


class _Item(msgspec.Struct, forbid_unknown_fields=True):
    index: int
    score: float


class _Rubric(msgspec.Struct, forbid_unknown_fields=True):
    items: list[_Item]
    reason: str = ""


class _Order(msgspec.Struct, forbid_unknown_fields=True):
    events: list[int]
    reason: str = ""


class _Grade(msgspec.Struct, forbid_unknown_fields=True):
    score: float
    reason: str = ""


_Reply = TypeVar("_Reply")


class BeamJudge(CallJudge):
    """`beam.rubric.v1`: each rubric item 0, 0.5 or 1, and their mean; event ordering by the order that it reads."""

    id = "beam.rubric.v1"
    max_answer = 20_000

    @classmethod
    def task(cls, question: Question) -> Task:
        """See CallJudge."""
        items = rubric_items(question)
        if question.category == ORDERED:
            return _order_task(question.key, items)
        return _rubric_task("rule_rubric", items, _GRADES, partial(_read_rubric, count=len(items), grades=_GRADES))


class ClBenchJudge(CallJudge):
    """`clbench.all.v1`: 1 only if every rubric item holds; the vote's items keep the ratio beside it."""

    id = "clbench.all.v1"
    max_answer = 20_000

    @classmethod
    def task(cls, question: Question) -> Task:
        """See CallJudge."""
        items = rubric_items(question)
        return _rubric_task("rule_rubric_all", items, _WHOLE, partial(_read_all, count=len(items)))


class AtmJudge(CallJudge):
    """`atm.qs.v1`: the whole answer 0, 0.5 or 1."""

    id = "atm.qs.v1"

    @classmethod
    def task(cls, question: Question) -> Task:
        """See CallJudge."""
        return Task(
            system="system_graded",
            rule="rule_graded" if question.answerable else "rule_refusal",
            data={"reference": question.gold},
            schema=_schema({"score": {"type": "number", "enum": [0, 0.5, 1]}}),
            read=_read_grade,
        )


def _rubric_task(rule: str, items: Sequence[str], grades: Sequence[float], read: Any) -> Task:
    item = {
        "type": "object",
        "additionalProperties": False,
        "required": ["index", "score"],
        "properties": {
            "index": {"type": "integer", "enum": list(range(1, len(items) + 1))},
            "score": {"type": "number", "enum": list(grades)},
        },
    }
    return Task(
        system="system_rubric",
        rule=rule,
        data={"rubric": {str(number): text for number, text in enumerate(items, 1)}},
        schema=_schema({"items": {"type": "array", "items": item}}),
        read=read,
    )


def _order_task(key: str, items: Sequence[str]) -> Task:
    """Show the events in an order that tells nothing, and let the judge read out the answer's."""
    shown = sorted(range(len(items)), key=lambda place: sha256(f"{key}\n{place}\n{items[place]}".encode()).digest())
    number = {"type": "integer", "enum": list(range(len(items) + 1))}
    return Task(
        system="system_order",
        rule="rule_order",
        data={"events": {str(number): items[place] for number, place in enumerate(shown, 1)}},
        schema=_schema({"events": {"type": "array", "items": number}}),
        read=partial(_read_order, shown=shown),
    )


def _schema(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    return {
        "type": "object",
        "additionalProperties": False,
        "required": [*fields, "reason"],
        "properties": {**fields, "reason": {"type": "string"}},
    }


def _read_rubric(text: str, *, count: int, grades: Sequence[float]) -> Finding:
    reply = _decode(text, _Rubric)
    by_index = {item.index: item.score for item in reply.items}
    if sorted(item.index for item in reply.items) != list(range(1, count + 1)) or count == 0:
        raise malformed_verdict(text)
    if any(score not in grades for score in by_index.values()):
        raise malformed_verdict(text)
    items = tuple(by_index[index] for index in sorted(by_index))
    score = mean(items)
    return Finding(verdict_of(score), score, reply.reason[:MAX_REASON], items)


def _read_all(text: str, *, count: int) -> Finding:
    found = _read_rubric(text, count=count, grades=_WHOLE)
    score = float(all(found.items))
    return Finding(verdict_of(score), score, found.reason, found.items)


def _read_order(text: str, *, shown: Sequence[int]) -> Finding:
    """Read the order; an event that isn't among those shown counts as one more that the answer has."""
    reply = _decode(text, _Order)
    known = [number for number in reply.events if number != _ELSE]
    if len(set(known)) != len(known) or any(not 1 <= number <= len(shown) for number in known):
        raise malformed_verdict(text)
    places = [shown[number - 1] if number != _ELSE else -1 for number in reply.events]
    named = [place if place >= 0 else f"else {at}" for at, place in enumerate(places)]
    score = ordering_score(range(len(shown)), named)
    return Finding(verdict_of(score), score, reply.reason[:MAX_REASON], tuple(map(float, places)))


def _read_grade(text: str) -> Finding:
    reply = _decode(text, _Grade)
    if reply.score not in _GRADES:
        raise malformed_verdict(text)
    return Finding(verdict_of(reply.score), reply.score, reply.reason[:MAX_REASON])


def _decode(text: str, kind: type[_Reply]) -> _Reply:
    try:
        return msgspec.json.decode(read_reply(text), type=kind)
    except (msgspec.DecodeError, UnicodeError) as error:
        raise malformed_verdict(text) from error
