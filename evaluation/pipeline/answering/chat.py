"""Answers from a chat model that sees the memories as data inside a fence (`chat.answer.v1`)."""

import json
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import msgspec

from benchmarks.datasets.model import Question
from benchmarks.judging.chat import ChatMessage, ChatModel, ChatReply, ChatSettings
from benchmarks.judging.faults import ModelFault
from benchmarks.judging.fence import fence_token, fenced, neutralise
from benchmarks.judging.prompt_files import fill_prompt, hash_prompts
from benchmarks.judging.verdict import read_reply
from contract.answers import Memory
from contract.words import gettext_noop
from evaluation.pipeline.answering.counting import BYTES, TokenCounter
from evaluation.pipeline.answering.model import Answer, memory_text

__all__ = ["ChatAnswerer", "prompt_hashes"]

DEFAULT_BUDGET: Final = 8000
_MAX_ANSWER: Final = 1000
_MAX_LONG: Final = 8000
_MOST_CHARACTERS: Final = 64
"""Characters that one token may stand for; a longer memory is over the budget without being counted."""
_WEEKDAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_PROMPTS: Final = Path(__file__).parent / "prompts"
_LETTERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_RULES: Final[Mapping[str, str]] = {"ordering": "list", "long_form": "long_form", "preference": "preference"}
"""Prompt files for questions without options by their kind; any other kind is free."""
_LONG: Final = frozenset({"long_form", "preference", "ordering"})
# Forms in which published prompts ask for a choice; the metrics read them.
_CHOSEN: Final = re.compile(r"\\box(?:ed)?\{|<final_answer>|final answer:", re.IGNORECASE)


def prompt_hashes() -> Mapping[str, str]:
    """Return the hex SHA-256 of each of the answerer's prompt files, by file name."""
    return hash_prompts(_PROMPTS)


class ChatAnswerer:
    """An Answerer over a chat model.

    Memories enter the prompt in the participant's order as a prefix: the first one that would pass `token_budget`
    less the counter's margin, and all after it are cut. `fence_key` is the run's secret, so that a replay builds the
    same prompt. `long_settings` ask for the answers that need more room. Raises ModelFault.
    """

    id = "chat.answer.v1"

    def __init__(
        self,
        model: ChatModel,
        fence_key: bytes,
        *,
        token_budget: int = DEFAULT_BUDGET,
        counter: TokenCounter = BYTES,
        long_settings: ChatSettings | None = None,
    ) -> None:
        self._model = model
        self._key = fence_key
        self._counter = counter
        self._budget = token_budget * (100 - counter.margin_percent) // 100
        self._long_settings = long_settings

    async def answer(self, question: Question, memories: Sequence[Memory]) -> Answer:
        """Return the model's answer to `question`; see Answerer."""
        token = fence_token(self._key, "answer", question.key)
        shown = self._prefix(memories, token)
        reply = await self._model.complete(
            _prompt(question, shown, token),
            schema=_schema(question),
            settings=self._long_settings if _is_long(question) else None,
        )
        return Answer(
            text=_read_answer(reply, question),
            model=reply.model,
            prompt_sha256=reply.prompt_sha256,
            prompt_tokens=reply.prompt_tokens,
            completion_tokens=reply.completion_tokens,
            latency_ms=reply.latency_ms,
            memories_used=len(shown),
            memories_cut=len(memories) - len(shown),
        )

    def prompt(self, question: Question, memories: Sequence[Memory]) -> list[ChatMessage]:
        """Return the prompt that shows all of `memories`, whatever their length."""
        token = fence_token(self._key, "answer", question.key)
        return _prompt(question, [_item(index, memory, token) for index, memory in enumerate(memories, 1)], token)

    def _prefix(self, memories: Sequence[Memory], token: str) -> list[dict[str, str]]:
        shown: list[dict[str, str]] = []
        left = self._budget
        for index, memory in enumerate(memories, 1):
            if len(memory_text(memory)) > left * _MOST_CHARACTERS:
                break
            item = _item(index, memory, token)
            left -= self._counter.count(json.dumps(item, ensure_ascii=False))
            if left < 0:
                break
            shown.append(item)
        return shown


def _is_long(question: Question) -> bool:
    return not question.options and question.kind in _LONG


def _item(index: int, memory: Memory, token: str) -> dict[str, str]:
    item = {"id": f"M{index}", "content": neutralise(memory_text(memory), token)}
    if memory.created_at is not None:
        item["created_at"] = neutralise(str(memory.created_at), token)
    return item


def _prompt(question: Question, shown: list[dict[str, str]], token: str) -> list[ChatMessage]:
    name = question.kind if question.options else _RULES.get(question.kind, "free")
    system = fill_prompt(_PROMPTS, "system", token=token, rule=fill_prompt(_PROMPTS, f"rule_{name}"))
    asked: dict[str, Any] = {"question": neutralise(question.query, token)}
    if question.asked_at_ms is not None:
        asked["asked_at"] = _day(question.asked_at_ms)
    if question.options:
        options = (neutralise(option, token) for option in question.options)
        asked["options"] = dict(zip(_LETTERS, options, strict=False))
    return [ChatMessage("system", system), ChatMessage("user", f"{fenced(shown, token)}\n\n{fenced(asked, token)}")]


def _day(stamp_ms: int) -> str:
    """Return the day, with its weekday, on which a question is asked; UTC."""
    day = datetime.fromtimestamp(stamp_ms / 1000, UTC).date()
    return f"{day.isoformat()}, {_WEEKDAYS[day.weekday()]}"


def _schema(question: Question) -> Mapping[str, Any]:
    answer: dict[str, Any] = {"type": "string", "maxLength": _MAX_LONG if _is_long(question) else _MAX_ANSWER}
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


def _read_answer(reply: ChatReply, question: Question) -> str:
    most = _MAX_LONG if _is_long(question) else _MAX_ANSWER
    try:
        answer = msgspec.json.decode(read_reply(reply.text), type=_Reply).answer.strip()
    except (msgspec.DecodeError, UnicodeError) as error:
        if question.options and _CHOSEN.search(reply.text[-most:]):
            return reply.text[-most:].strip()
        message = gettext_noop("Expected an answer as JSON from the model, got: %(got)s")
        raise ModelFault("answer_malformed", message, got=reply.text[:200]) from error
    if not answer:
        raise ModelFault("model_empty", gettext_noop("The model's reply was empty."))
    return answer[:most]
