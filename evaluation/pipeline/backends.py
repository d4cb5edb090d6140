"""Who answers and who scores in a run, as its baseline froze it: offline and by rules, or chat models."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from benchmarks.judging.chat import ChatModel, ChatSettings
from benchmarks.judging.registry import JUDGES
from benchmarks.judging.rules import RuleJudge
from benchmarks.judging.verdict import Judge
from evaluation.pipeline.answering.chat import ChatAnswerer
from evaluation.pipeline.answering.counting import CounterMissing, TokenCounter, counter_facts, counter_for
from evaluation.pipeline.answering.model import Answerer
from evaluation.pipeline.answering.offline import OfflineAnswerer

if TYPE_CHECKING:
    from benchmarks.judging.openai_chat import OpenAIChat

__all__ = ["ModelChanged", "ModelEndpoint", "open_answerer", "open_judges"]


class ModelChanged(Exception):
    """The endpoint at hand serves another model than the one that was frozen."""


@dataclass(frozen=True, slots=True)
class ModelEndpoint:
    """Where a chat model is and how it is asked; `timeout_s` bounds a call.

    `tokenizer` is the path of the model's own tokenizer.json, empty where none is at hand.
    """

    base_url: str
    model: str
    api_key: str = field(default="", repr=False)
    timeout_s: float = 120.0
    tokenizer: str = ""


@asynccontextmanager
async def open_answerer(
    frozen: Mapping[str, Any], endpoint: ModelEndpoint, *, fence_key: bytes
) -> AsyncIterator[Answerer]:
    """Give the answerer that the baseline's part `answer` froze, for one event loop. Raises ModelChanged."""
    if frozen["backend"] == "offline":
        yield OfflineAnswerer()
        return
    counter = _counter(frozen, endpoint)
    async with _chat(frozen, endpoint) as chat:
        yield ChatAnswerer(
            chat,
            fence_key,
            token_budget=int(frozen["token_budget"]),
            counter=counter,
            long_settings=replace(chat.settings, max_tokens=int(frozen["max_tokens_long"])),
        )


@asynccontextmanager
async def open_judges(
    frozen: Mapping[str, Any], endpoint: ModelEndpoint, *, metrics: Mapping[str, str], fence_key: bytes
) -> AsyncIterator[Mapping[str, Judge]]:
    """Give the judge of each dataset in `metrics` (dataset to metric id), as the baseline's part `judge` froze it.

    For one event loop. Raises ModelChanged.
    """
    if frozen["backend"] == "rules":
        yield {dataset: RuleJudge(metric) for dataset, metric in metrics.items()}
        return
    async with _chat(frozen, endpoint) as chat:
        yield {dataset: _judge(metric, chat, fence_key) for dataset, metric in metrics.items()}


def _judge(metric: str, chat: ChatModel, fence_key: bytes) -> Judge:
    """The judge of that id, or the rule: a dataset may be scored by a rule even where there is a judge model."""
    return JUDGES[metric](chat, fence_key) if metric in JUDGES else RuleJudge(metric)


def _counter(frozen: Mapping[str, Any], endpoint: ModelEndpoint) -> TokenCounter:
    """The counter that was frozen. Raises ModelChanged where another tokenizer, or none, is at hand."""
    try:
        counter = counter_for(endpoint.tokenizer)
    except CounterMissing as error:
        raise ModelChanged(str(error)) from error
    if dict(counter_facts(counter)) != dict(frozen["counter"]):
        raise ModelChanged("AML_ANSWER_TOKENIZER isn't the tokenizer that the release froze")
    return counter


def _chat(frozen: Mapping[str, Any], endpoint: ModelEndpoint) -> "OpenAIChat":
    expected = (frozen["model"], frozen["base_url_host"])
    found = (endpoint.model, urlsplit(endpoint.base_url).hostname or "")
    if found != expected:
        raise ModelChanged(f"the release froze the model {expected}, the settings name {found}")
    from benchmarks.judging.openai_chat import OpenAIChat

    asked = {name: frozen[name] for name in ("temperature", "seed", "max_tokens") if name in frozen}
    chosen = ChatSettings(**asked, timeout_s=endpoint.timeout_s)
    return OpenAIChat(endpoint.base_url, endpoint.model, endpoint.api_key, settings=chosen)
