"""Builds the prompts of a finished run again, to be read and compared by hash with what was sent."""

import json
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from benchmarks.datasets.model import Question
from benchmarks.judging.chat import ChatMessage, ChatReply, ChatSettings
from benchmarks.judging.judge import ChatJudge
from contract.memories import Memory
from evaluation.pipeline.answering.chat import ChatAnswerer

__all__ = ["Prompt", "rebuild_answer_prompt", "rebuild_judge_prompt"]


@dataclass(frozen=True, slots=True)
class Prompt:
    """The messages of a prompt and their SHA-256, as the model's client counts it."""

    messages: tuple[ChatMessage, ...]
    sha256: str


def rebuild_answer_prompt(
    baseline: Mapping[str, Any], fence_key: bytes, question: Question, memories: Sequence[Memory]
) -> Prompt | None:
    """Return the prompt that the answer model saw; None where the backend has no model."""
    frozen = baseline.get("answer", {})
    if frozen.get("backend") != "openai":
        return None
    answerer = ChatAnswerer(_Catcher(), fence_key, token_budget=int(frozen["token_budget"]))
    return _catch(answerer.answer(question, memories))


def rebuild_judge_prompt(
    baseline: Mapping[str, Any], fence_key: bytes, question: Question, answer: str
) -> Prompt | None:
    """Return the prompt that the judge model saw first; None where rules decided."""
    if baseline.get("judge", {}).get("backend") != "openai":
        return None
    return _catch(ChatJudge(_Catcher(), fence_key).judge(question, answer))


class _Caught(Exception):
    def __init__(self, messages: Sequence[ChatMessage]) -> None:
        super().__init__("a prompt was built")
        self.messages = tuple(messages)


class _Catcher:
    """A ChatModel that takes the prompt and asks nobody."""

    async def complete(
        self,
        messages: Sequence[ChatMessage],
        *,
        schema: Mapping[str, Any] | None = None,
        settings: ChatSettings | None = None,
    ) -> ChatReply:
        raise _Caught(messages)


def _catch(asking: Coroutine[Any, Any, Any]) -> Prompt | None:
    """Run `asking` up to its first prompt; it waits for nothing before that."""
    try:
        asking.send(None)
    except _Caught as caught:
        text = json.dumps(
            [{"role": message.role, "content": message.content} for message in caught.messages], ensure_ascii=False
        )
        return Prompt(caught.messages, sha256(text.encode("utf-8", "surrogatepass")).hexdigest())
    except StopIteration:
        return None
    finally:
        asking.close()
    return None
