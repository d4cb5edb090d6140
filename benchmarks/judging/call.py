"""A judge that asks a chat model once, and once more where the reply isn't what was asked for.

The judge sees question, reference and answer; never a memory, a system's name or another vote.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Final

from benchmarks.datasets.model import Question
from benchmarks.judging.chat import ChatMessage, ChatModel, ChatReply
from benchmarks.judging.faults import ModelFault
from benchmarks.judging.fence import fence_token, fenced, neutralise
from benchmarks.judging.prompt_files import fill_prompt, hash_prompts
from benchmarks.judging.verdict import Judgement, Verdict, Vote

__all__ = ["CallJudge", "Finding", "Task", "prompt_hashes", "says_nothing"]

_PROMPTS: Final = Path(__file__).parent / "prompts"
# Openings that judges with a reference are known to take for right answers (arXiv 2507.08794).
_OPENERS: Final = re.compile(
    r"(?:thought process|reasoning|solution|(?:final )?answer|explanation"
    r"|let'?s (?:think|solve)(?: (?:about )?(?:this|it)(?: problem)?)?(?: step by step)?"
    r"|解|答|答案|解答|解析|思考过程|推理过程)\W*",
    re.IGNORECASE,
)


def prompt_hashes() -> Mapping[str, str]:
    """Return the hex SHA-256 of each of the judges' prompt files, by file name."""
    return hash_prompts(_PROMPTS)


def says_nothing(answer: str) -> bool:
    """Tell whether an answer has no word or is only the opening of one, which no judge needs to see."""
    return not any(char.isalnum() for char in answer) or _OPENERS.fullmatch(answer.strip()) is not None


@dataclass(frozen=True, slots=True)
class Finding:
    """What a judge's reply says; see Vote."""

    verdict: Verdict
    score: float
    reason: str
    items: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Task:
    """What one call asks: prompt files, the data beside the answer, the reply's schema, and how the reply is read.

    `read` raises ModelFault for a reply that isn't what was asked for.
    """

    system: str
    rule: str
    data: Mapping[str, Any]
    schema: Mapping[str, Any]
    read: Callable[[str], Finding]


class CallJudge(ABC):
    """A Judge over a chat model. `fence_key` is the run's secret, so that a replay builds the same prompts."""

    id: str
    max_answer: ClassVar[int] = 2000
    """Characters of an answer that the judge reads."""

    def __init__(self, model: ChatModel, fence_key: bytes) -> None:
        self._model = model
        self._key = fence_key

    @classmethod
    def ruling(cls, question: Question, answer: str) -> Judgement | None:
        """Return the judgement that needs no model: that of an answer which says nothing; None for any other."""
        if says_nothing(answer):
            return Judgement(score=0.0, verdict="incorrect", reason="", method="rule")
        return None

    @classmethod
    @abstractmethod
    def task(cls, question: Question) -> Task:
        """Return what is asked about an answer to `question`."""

    async def judge(self, question: Question, answer: str) -> Judgement:
        """Return a judgement of one vote; raises ModelFault when the model gave no verdict twice."""
        ruling = self.ruling(question, answer)
        if ruling is not None:
            return ruling
        vote = await self._vote(self.task(question), question, answer)
        return Judgement(
            score=vote.score,
            verdict=vote.verdict,
            reason=vote.reason,
            method="judge",
            votes=(vote,),
            model=vote.model,
            prompt_tokens=vote.prompt_tokens,
            completion_tokens=vote.completion_tokens,
            latency_ms=vote.latency_ms,
        )

    async def _vote(self, task: Task, question: Question, answer: str) -> Vote:
        """Ask once, and once more where the reply was no verdict."""
        prompt = self._prompt(task, question, answer)
        reply = await self._model.complete(prompt, schema=task.schema)
        try:
            return _vote(task.read(reply.text), reply)
        except ModelFault:
            repair = ChatMessage("user", fill_prompt(_PROMPTS, "repair"))
            again = [*prompt, ChatMessage("assistant", reply.text), repair]
            reply = await self._model.complete(again, schema=task.schema)
            return _vote(task.read(reply.text), reply)

    def _prompt(self, task: Task, question: Question, answer: str) -> list[ChatMessage]:
        token = fence_token(self._key, "judge", question.key)
        asked = {"question": question.query, **task.data, "answer": answer[: self.max_answer]}
        data = {name: _safe(value, token) for name, value in asked.items()}
        system = fill_prompt(_PROMPTS, task.system, token=token, rule=fill_prompt(_PROMPTS, task.rule))
        return [ChatMessage("system", system), ChatMessage("user", fenced(data, token))]


def _safe(value: Any, token: str) -> Any:
    if isinstance(value, Mapping):
        return {name: _safe(one, token) for name, one in value.items()}
    return neutralise(value, token) if isinstance(value, str) else value


def _vote(finding: Finding, reply: ChatReply) -> Vote:
    return Vote(
        verdict=finding.verdict,
        score=finding.score,
        reason=finding.reason,
        model=reply.model,
        prompt_sha256=reply.prompt_sha256,
        prompt_tokens=reply.prompt_tokens,
        completion_tokens=reply.completion_tokens,
        latency_ms=reply.latency_ms,
        items=finding.items,
    )
