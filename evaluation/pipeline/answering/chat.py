"""Answers from a chat model that sees the memories as data inside a fence (`chat.answer.v1`)."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from benchmarks.datasets.model import Question
from benchmarks.judging.chat import ChatMessage, ChatModel, ChatReply
from benchmarks.judging.faults import ModelFault
from benchmarks.judging.fence import fence_token, fenced, neutralise
from benchmarks.judging.prompt_files import fill_prompt, hash_prompts
from benchmarks.judging.verdict import read_reply
from contract.answers import Memory
from contract.words import gettext_noop
from evaluation.pipeline.answering.model import Answer, memory_text

__all__ = ["COUNTER_ID", "ChatAnswerer", "estimate_tokens", "prompt_hashes"]

COUNTER_ID: Final = "bytes3.v1"
DEFAULT_BUDGET: Final = 8000
_MARGIN_PERCENT: Final = 10
_MAX_ANSWER: Final = 1000
_PROMPTS: Final = Path(__file__).parent / "prompts"
_LETTERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def prompt_hashes() -> Mapping[str, str]:
    """Return the hex SHA-256 of each of the answerer's prompt files, by file name."""
    return hash_prompts(_PROMPTS)


def estimate_tokens(text: str) -> int:
    """Return an estimate of a text's tokens, `bytes3.v1`: a third of its UTF-8 bytes, rounded up.

    English has about four bytes a token and Chinese about three, so that the estimate is seldom too low.
    """
    return -(-len(text.encode("utf-8", "surrogatepass")) // 3)


class ChatAnswerer:
    """An Answerer over a chat model.

    Memories enter the prompt in the participant's order as a prefix: the first one that would pass `token_budget`
    less a tenth, counted by `bytes3.v1`, and all after it are cut. `fence_key` is the run's secret, so that a replay
    builds the same prompt. Raises ModelFault.
    """

    id = "chat.answer.v1"

    def __init__(self, model: ChatModel, fence_key: bytes, *, token_budget: int = DEFAULT_BUDGET) -> None:
        self._model = model
        self._key = fence_key
        self._budget = token_budget * (100 - _MARGIN_PERCENT) // 100

    async def answer(self, question: Question, memories: Sequence[Memory]) -> Answer:
        """Return the model's answer to `question`; see Answerer."""
        token = fence_token(self._key, "answer", question.key)
        shown = self._prefix(memories, token)
        reply = await self._model.complete(_prompt(question, shown, token), schema=_schema(question))
        return Answer(
            text=_read_answer(reply),
            model=reply.model,
            prompt_sha256=reply.prompt_sha256,
            prompt_tokens=reply.prompt_tokens,
            completion_tokens=reply.completion_tokens,
            latency_ms=reply.latency_ms,
            memories_used=len(shown),
            memories_cut=len(memories) - len(shown),
        )

    def _prefix(self, memories: Sequence[Memory], token: str) -> list[dict[str, str]]:
        shown: list[dict[str, str]] = []
        left = self._budget
        for index, memory in enumerate(memories, 1):
            item = _item(index, memory, token)
            left -= estimate_tokens(json.dumps(item, ensure_ascii=False))
            if left < 0:
                break
            shown.append(item)
        return shown


def _item(index: int, memory: Memory, token: str) -> dict[str, str]:
    item = {"id": f"M{index}", "content": neutralise(memory_text(memory), token)}
    if memory.created_at is not None:
        item["created_at"] = neutralise(str(memory.created_at), token)
    return item


def _prompt(question: Question, shown: list[dict[str, str]], token: str) -> list[ChatMessage]:
    rule = fill_prompt(_PROMPTS, f"rule_{question.kind if question.options else 'free'}")
    system = fill_prompt(_PROMPTS, "system", token=token, rule=rule)
    asked: dict[str, Any] = {"question": question.query}
    if question.options:
        asked["options"] = dict(zip(_LETTERS, question.options, strict=False))
    user = f"{fenced(shown, token)}\n\n{json.dumps(asked, ensure_ascii=False)}"
    return [ChatMessage("system", system), ChatMessage("user", user)]


def _schema(question: Question) -> Mapping[str, Any]:
    answer: dict[str, Any] = {"type": "string", "maxLength": _MAX_ANSWER}
    if question.options and question.kind == "single_choice":
        answer = {"type": "string", "enum": list(_LETTERS[: len(question.options)])}
    return {
        "type": "object",
        "additionalProperties": False,
        "required": ["answer"],
        "properties": {"answer": answer},
    }


class _Reply(msgspec.Struct):
    answer: str


def _read_answer(reply: ChatReply) -> str:
    try:
        answer = msgspec.json.decode(read_reply(reply.text), type=_Reply).answer.strip()
    except (msgspec.DecodeError, UnicodeError) as error:
        message = gettext_noop("Expected an answer as JSON from the model, got: %(got)s")
        raise ModelFault("answer_malformed", message, got=reply.text[:200]) from error
    if not answer:
        raise ModelFault("model_empty", gettext_noop("The model's reply was empty."))
    return answer[:_MAX_ANSWER]
