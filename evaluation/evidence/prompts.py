"""Builds the prompts of a finished run again, to be read and compared by hash with what was sent."""

import json
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from benchmarks.datasets.model import Question
from benchmarks.judging.chat import ChatMessage, ChatReply, ChatSettings
from benchmarks.judging.registry import JUDGES
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
    """Return the prompt that showed these memories to the answer model; None where the backend has no model."""
    if baseline.get("answer", {}).get("backend") != "openai":
        return None
    return _prompt(ChatAnswerer(_Catcher(), fence_key).prompt(question, memories))


def rebuild_judge_prompt(
    baseline: Mapping[str, Any], fence_key: bytes, judge_id: str, question: Question, answer: str
) -> Prompt | None:
    """Return the prompt that the judge model saw first; None where rules decided."""
    if baseline.get("judge", {}).get("backend") != "openai" or judge_id not in JUDGES:
        return None
    return _catch(JUDGES[judge_id](_Catcher(), fence_key).judge(question, answer))


def _prompt(messages: Sequence[ChatMessage]) -> Prompt:
    text = json.dumps([{"role": message.role, "content": message.content} for message in messages], ensure_ascii=False)
    return Prompt(tuple(messages), sha256(text.encode("utf-8", "surrogatepass")).hexdigest())


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
        return _prompt(caught.messages)
    except StopIteration:
        return None
    finally:
        asking.close()
    return None
