"""Yes-or-no judges of a free answer beside a reference: one call, correct or incorrect.

Sources: the public descriptions of LongMemEval's judge and of PersonaMem's generative evaluation, whose rules they
follow in words of their own.
"""

from collections.abc import Mapping
from typing import Final

from benchmarks.datasets.model import Question
from benchmarks.judging.call import CallJudge, Finding, Task, prompt_hashes, says_nothing
from benchmarks.judging.rules import RuleJudge
from benchmarks.judging.verdict import VERDICT_SCHEMA, Judgement, read_verdict

__all__ = ["ChatJudge", "LongMemEvalJudge", "PersonaMemJudge", "prompt_hashes", "says_nothing"]

_RULE_BY_CAPABILITY: Final[Mapping[str, str]] = {"C": "rule_time", "D": "rule_update", "E": "rule_preference"}
_RULE_BY_TYPE: Final[Mapping[str, str]] = {
    "temporal-reasoning": "rule_time",
    "knowledge-update": "rule_update",
    "single-session-preference": "rule_preference",
}


class ChatJudge(CallJudge):
    """`yesno.judge.v1`: the rule goes by the question's capability."""

    id = "yesno.judge.v1"

    @classmethod
    def task(cls, question: Question) -> Task:
        """See CallJudge."""
        return _yes_no(question, _RULE_BY_CAPABILITY.get(question.capability, "rule_default"))


class LongMemEvalJudge(CallJudge):
    """`longmemeval.judge.v1`: the rule goes by the question's type, and over it by whether it can be answered."""

    id = "longmemeval.judge.v1"

    @classmethod
    def task(cls, question: Question) -> Task:
        """See CallJudge."""
        return _yes_no(question, _RULE_BY_TYPE.get(question.category, "rule_default"))


class PersonaMemJudge(CallJudge):
    """`personamem.judge.v1`: a free reply is held against the right option; a choice needs no model."""

    id = "personamem.judge.v1"

    @classmethod
    def ruling(cls, question: Question, answer: str) -> Judgement | None:
        """Return the judgement of a choice by `personamem.mcq.v1`, and of a reply that says nothing."""
        if question.options:
            return RuleJudge("personamem.mcq.v1").decide(question, answer)
        return super().ruling(question, answer)

    @classmethod
    def task(cls, question: Question) -> Task:
        """See CallJudge."""
        return _yes_no(question, "rule_persona")


def _yes_no(question: Question, rule: str) -> Task:
    return Task(
        system="system",
        rule=rule if question.answerable else "rule_refusal",
        data={"reference": question.gold},
        schema=VERDICT_SCHEMA,
        read=_read,
    )


def _read(text: str) -> Finding:
    verdict, reason = read_verdict(text)
    return Finding(verdict, float(verdict == "correct"), reason)
