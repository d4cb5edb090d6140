"""What the API guide says that the answer model sees is what it is shown."""

import asyncio
import re
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from benchmarks.datasets.model import Question
from benchmarks.judging.chat import ChatMessage, ChatReply, ChatSettings
from contract.memories import Memory
from evaluation.pipeline.answering.chat import ChatAnswerer
from evaluation.pipeline.baseline import TOKEN_BUDGET

QUESTION = Question("q", "When?", None, "", "c", "A", ())


class Listening:
    """A chat model that keeps what it was asked."""

    def __init__(self) -> None:
        self.heard = ""

    async def complete(
        self, messages: Sequence[ChatMessage], *, schema: Mapping[str, Any], settings: ChatSettings | None
    ) -> ChatReply:
        self.heard = messages[-1].content
        return ChatReply('{"answer": "then"}', "m", 1, 1, 1.0, "0" * 64)


def shown(*memories: Memory) -> str:
    model = Listening()
    answerer = ChatAnswerer(model, b"k" * 32, token_budget=TOKEN_BUDGET)  # type: ignore[arg-type]
    asyncio.run(answerer.answer(QUESTION, memories))
    return model.heard


def test_content_and_created_at_are_shown_in_order_and_neither_id_nor_score() -> None:
    memories = [Memory(f"secret-{n}", f"content {n}", 0.12345, f"2023-05-0{n}") for n in (2, 1)]
    heard = shown(*memories)
    assert heard.index("content 2") < heard.index("2023-05-02") < heard.index("content 1") < heard.index("2023-05-01")
    assert "secret-" not in heard
    assert "0.12345" not in heard


def test_memories_are_cut_at_the_first_that_passes_the_budget_less_a_tenth() -> None:
    half = "x" * (TOKEN_BUDGET * 27 // 20)  # at three bytes a token, half of nine tenths
    heard = shown(Memory("1", "first"), Memory("2", half), Memory("3", half), Memory("4", "last"))
    assert "first" in heard
    assert heard.count(half) == 1, "the second half comes after the first memory, and no longer fits"
    assert "last" not in heard


@pytest.mark.django_db
def test_the_guide_says_so(client: Client) -> None:
    page = client.get(reverse("site:api_guide")).content.decode()
    part = re.sub(r"<[^>]+>|\s+", " ", page.partition('id="answer-model"')[2].partition("<details")[0])
    assert f"{TOKEN_BUDGET:,} tokens less a tenth" in part
    assert "created_at" in part
