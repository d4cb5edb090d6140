"""Who answers and who scores in a run: the offline backend and rules, or the operator's own models."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from django.conf import settings

from benchmarks.judging.chat import ChatSettings
from benchmarks.judging.judge import ChatJudge
from benchmarks.judging.rules import RuleJudge
from benchmarks.judging.verdict import Judge
from evaluation.faults import PlatformFault
from evaluation.pipeline.answering.chat import ChatAnswerer
from evaluation.pipeline.answering.model import Answerer
from evaluation.pipeline.answering.offline import OfflineAnswerer

if TYPE_CHECKING:
    from benchmarks.judging.openai_chat import OpenAIChat

__all__ = ["answerer_for", "judges_for"]


@asynccontextmanager
async def answerer_for(baseline: Mapping[str, Any], *, fence_key: bytes) -> AsyncIterator[Answerer]:
    """Give the answerer that the baseline froze, for one event loop.

    Raises PlatformFault when the installation has another model than the release.
    """
    frozen = baseline["answer"]
    if frozen["backend"] == "offline":
        yield OfflineAnswerer()
        return
    chat = _chat(frozen, settings.AML_ANSWER_BASE_URL, settings.AML_ANSWER_MODEL, settings.AML_ANSWER_API_KEY)
    async with chat:
        yield ChatAnswerer(chat, fence_key, token_budget=int(frozen["token_budget"]))


@asynccontextmanager
async def judges_for(
    baseline: Mapping[str, Any], *, metrics: Mapping[str, str], fence_key: bytes
) -> AsyncIterator[Mapping[str, Judge]]:
    """Give the judge of each dataset in `metrics` (dataset to metric id), for one event loop.

    Raises PlatformFault like `answerer_for`.
    """
    frozen = baseline["judge"]
    if frozen["backend"] == "rules":
        yield {dataset: RuleJudge(metric) for dataset, metric in metrics.items()}
        return
    chat = _chat(frozen, settings.AML_JUDGE_BASE_URL, settings.AML_JUDGE_MODEL, settings.AML_JUDGE_API_KEY)
    async with chat:
        yield dict.fromkeys(metrics, ChatJudge(chat, fence_key))


def _chat(frozen: Mapping[str, Any], base_url: str, model: str, api_key: str) -> "OpenAIChat":
    expected = (frozen["model"], frozen["base_url_host"])
    found = (model, urlsplit(base_url).hostname or "")
    if found != expected:
        raise PlatformFault("plan_changed", f"the release froze the model {expected}, the settings name {found}")
    from benchmarks.judging.openai_chat import OpenAIChat

    asked = {name: frozen[name] for name in ("temperature", "seed", "max_tokens") if name in frozen}
    chosen = ChatSettings(**asked, timeout_s=settings.AML_MODEL_TIMEOUT_S)
    return OpenAIChat(base_url, model, api_key, settings=chosen)
