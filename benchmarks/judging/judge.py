"""A yes/no judge by a chat model for free-text questions (`yesno.judge.v1`).

Source: the public description of LongMemEval's judge, whose rules by kind of question it follows in words of its
own. The judge sees question, reference and answer; never a memory, a system's name or another vote.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from benchmarks.datasets.model import Question
from benchmarks.judging.chat import ChatMessage, ChatModel, ChatReply
from benchmarks.judging.faults import ModelFault
from benchmarks.judging.fence import fence_token, fenced, neutralise
from benchmarks.judging.prompt_files import fill_prompt, hash_prompts
from benchmarks.judging.verdict import VERDICT_SCHEMA, Judgement, Vote, read_verdict

__all__ = ["ChatJudge", "prompt_hashes", "says_nothing"]

_PROMPTS: Final = Path(__file__).parent / "prompts"
_MAX_ANSWER: Final = 2000
_RULE_BY_CAPABILITY: Final[Mapping[str, str]] = {"C": "rule_time", "D": "rule_update", "E": "rule_preference"}
# Openings that judges with a reference are known to take for right answers (arXiv 2507.08794).
_OPENERS: Final = re.compile(
    r"(?:thought process|reasoning|solution|(?:final )?answer|explanation"
    r"|let'?s (?:think|solve)(?: (?:about )?(?:this|it)(?: problem)?)?(?: step by step)?"
    r"|解|答|答案|解答|解析|思考过程|推理过程)\W*",
    re.IGNORECASE,
)


def prompt_hashes() -> Mapping[str, str]:
    """Return the hex SHA-256 of each of the judge's prompt files, by file name."""
    return hash_prompts(_PROMPTS)


def says_nothing(answer: str) -> bool:
    """Tell whether an answer has no word or is only the opening of one, which no judge needs to see."""
    return not any(char.isalnum() for char in answer) or _OPENERS.fullmatch(answer.strip()) is not None


class ChatJudge:
    """A Judge over a chat model. `fence_key` is the run's secret, so that a replay builds the same prompts."""

    id = "yesno.judge.v1"

    def __init__(self, model: ChatModel, fence_key: bytes) -> None:
        self._model = model
        self._key = fence_key

    async def judge(self, question: Question, answer: str) -> Judgement:
        """Return a judgement of one vote; raises ModelFault when the model gave no verdict twice."""
        if says_nothing(answer):
            return Judgement(score=0.0, verdict="incorrect", reason="", method="rule")
        vote = await self._vote(self._prompt(question, answer))
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

    async def _vote(self, prompt: list[ChatMessage]) -> Vote:
        """Ask once, and once more where the reply was no verdict."""
        reply = await self._model.complete(prompt, schema=VERDICT_SCHEMA)
        try:
            return _vote(reply)
        except ModelFault:
            repair = ChatMessage("user", fill_prompt(_PROMPTS, "repair"))
            again = [*prompt, ChatMessage("assistant", reply.text), repair]
            return _vote(await self._model.complete(again, schema=VERDICT_SCHEMA))

    def _prompt(self, question: Question, answer: str) -> list[ChatMessage]:
        token = fence_token(self._key, "judge", question.key)
        data = {
            "question": question.query,
            "reference": question.gold,
            "answer": neutralise(answer[:_MAX_ANSWER], token),
        }
        system = fill_prompt(_PROMPTS, "system", token=token, rule=fill_prompt(_PROMPTS, _rule_name(question)))
        return [ChatMessage("system", system), ChatMessage("user", fenced(data, token))]


def _rule_name(question: Question) -> str:
    if not question.answerable:
        return "rule_refusal"
    return _RULE_BY_CAPABILITY.get(question.capability, "rule_default")


def _vote(reply: ChatReply) -> Vote:
    verdict, reason = read_verdict(reply.text)
    return Vote(
        verdict=verdict,
        score=float(verdict == "correct"),
        reason=reason,
        model=reply.model,
        prompt_sha256=reply.prompt_sha256,
        prompt_tokens=reply.prompt_tokens,
        completion_tokens=reply.completion_tokens,
        latency_ms=reply.latency_ms,
    )
