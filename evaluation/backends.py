"""Who answers and who scores in a job: what its release froze, with the models that the settings name."""

import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, Final

from django.conf import settings

from benchmarks.judging.chat import ChatMessage, ChatSettings
from benchmarks.judging.verdict import Judge
from evaluation.faults import PlatformFault
from evaluation.pipeline.answering.counting import CounterMissing, TokenCounter, counter_for
from evaluation.pipeline.answering.model import Answerer
from evaluation.pipeline.backends import ModelChanged, ModelEndpoint, open_answerer, open_judges
from evaluation.pipeline.baseline import MAX_TOKENS

__all__ = ["answerer_for", "ask_model", "counter_of", "is_same_model", "judges_for"]

ASK_S: Final = 20.0
"""Seconds that a model has to say that it is there."""
_DATE: Final = re.compile(r"-\d{4}-?\d{2}-?\d{2}")


@asynccontextmanager
async def answerer_for(baseline: Mapping[str, Any], *, fence_key: bytes) -> AsyncIterator[Answerer]:
    """Give the answerer that the baseline froze, for one event loop.

    Raises PlatformFault when the installation has another model than the release.
    """
    endpoint = replace(
        _endpoint(settings.AML_ANSWER_BASE_URL, settings.AML_ANSWER_MODEL, settings.AML_ANSWER_API_KEY),
        tokenizer=settings.AML_ANSWER_TOKENIZER,
    )
    try:
        async with open_answerer(baseline["answer"], endpoint, fence_key=fence_key) as answerer:
            yield answerer
    except ModelChanged as error:
        raise PlatformFault("plan_changed", str(error)) from error


def counter_of(baseline: Mapping[str, Any]) -> TokenCounter:
    """What counts the tokens of the release's answer model. Raises PlatformFault where its tokenizer isn't there."""
    try:
        return counter_for(settings.AML_ANSWER_TOKENIZER if baseline["answer"]["backend"] == "openai" else "")
    except CounterMissing as error:
        raise PlatformFault("plan_changed", str(error)) from error


@asynccontextmanager
async def judges_for(
    baseline: Mapping[str, Any], *, metrics: Mapping[str, str], fence_key: bytes
) -> AsyncIterator[Mapping[str, Judge]]:
    """Give the judge of each dataset in `metrics` (dataset to metric id), for one event loop.

    Raises PlatformFault like `answerer_for`.
    """
    endpoint = _endpoint(settings.AML_JUDGE_BASE_URL, settings.AML_JUDGE_MODEL, settings.AML_JUDGE_API_KEY)
    try:
        async with open_judges(baseline["judge"], endpoint, metrics=metrics, fence_key=fence_key) as judges:
            yield judges
    except ModelChanged as error:
        raise PlatformFault("plan_changed", str(error)) from error


def _endpoint(base_url: str, model: str, api_key: str) -> ModelEndpoint:
    return ModelEndpoint(base_url, model, api_key, settings.AML_MODEL_TIMEOUT_S)


async def ask_model(base_url: str, model: str, api_key: str) -> str:
    """Ask a chat model for a word, and return the name under which it answered. Raises ModelFault."""
    from benchmarks.judging.openai_chat import OpenAIChat  # takes seconds, and only who has a model needs it

    chosen = ChatSettings(max_tokens=MAX_TOKENS, timeout_s=min(ASK_S, settings.AML_MODEL_TIMEOUT_S))
    async with OpenAIChat(base_url, model, api_key, settings=chosen) as chat:
        reply = await chat.complete([ChatMessage("user", "Reply with the word: ready")])
    return reply.model


def is_same_model(found: str, expected: str) -> bool:
    """A service may name the dated form of the model that was asked for: `name-2026-08-01` for `name`."""
    return found == expected or (found.startswith(expected) and bool(_DATE.fullmatch(found[len(expected) :])))
