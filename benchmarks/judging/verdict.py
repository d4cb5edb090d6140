"""What a judge says, and how its reply is read: strictly, or not at all."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, Protocol

import msgspec

from benchmarks.datasets.model import Question
from benchmarks.judging.faults import ModelFault
from contract.words import gettext_noop

__all__ = [
    "VERDICT_SCHEMA",
    "Judge",
    "Judgement",
    "Verdict",
    "Vote",
    "malformed_verdict",
    "read_reply",
    "read_verdict",
    "verdict_of",
]

Verdict = Literal["correct", "incorrect", "graded"]
MAX_REASON: Final = 1000

VERDICT_SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["verdict", "reason"],
    "properties": {
        "verdict": {"type": "string", "enum": ["correct", "incorrect"]},
        "reason": {"type": "string"},
    },
}
_CODE_BLOCK: Final = re.compile(r"\s*```(?:json)?\s*\n(.*?)\n?\s*```\s*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Vote:
    """One judge call: its verdict, score from 0 to 1, reason, and what the model reported of the call.

    `items` are the scores of a rubric's items in the rubric's order, where the judge scores by one; for an order of
    events, the places of those that the answer names, with -1 for one that isn't among them.
    """

    verdict: Verdict
    score: float
    reason: str
    model: str
    prompt_sha256: str
    prompt_tokens: int
    completion_tokens: int
    latency_ms: float
    items: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Judgement:
    """The outcome for one answer, score from 0 to 1.

    `method` is "rule" or "judge"; a rule has no votes and no model. Tokens and latency in ms are sums over the votes.
    `graded` is the verdict of a score strictly between 0 and 1.
    """

    score: float
    verdict: Verdict
    reason: str
    method: Literal["rule", "judge"]
    votes: tuple[Vote, ...] = ()
    model: str = ""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    latency_ms: float = 0.0


class Judge(Protocol):
    """Scores an answer. It raises ModelFault when no verdict could be had, which leaves the item unscored."""

    id: str

    async def judge(self, question: Question, answer: str) -> Judgement:
        """Return the judgement of `answer` to `question`."""
        ...


class _Reply(msgspec.Struct, forbid_unknown_fields=True):
    verdict: Literal["correct", "incorrect"]
    reason: str = ""


def read_verdict(text: str) -> tuple[Verdict, str]:
    """Return verdict and reason of a judge's reply; raises ModelFault (verdict_malformed) for anything else."""
    try:
        reply = msgspec.json.decode(read_reply(text), type=_Reply)
    except (msgspec.DecodeError, UnicodeError) as error:
        raise malformed_verdict(text) from error
    return reply.verdict, reply.reason[:MAX_REASON]


def verdict_of(score: float) -> Verdict:
    """Return the verdict that goes with a score from 0 to 1."""
    if score >= 1:
        return "correct"
    return "graded" if score > 0 else "incorrect"


def malformed_verdict(text: str) -> ModelFault:
    """The fault of a judge's reply that is no verdict."""
    message = gettext_noop("Expected a verdict as JSON from the judge, got: %(got)s")
    return ModelFault("verdict_malformed", message, got=text[:200])


def read_reply(text: str) -> bytes:
    """Return a reply's JSON text, taken out of a code block where the whole reply is one."""
    match = _CODE_BLOCK.fullmatch(text)
    return (match[1] if match else text).encode()
