"""Who answers and who scores in a job: what its release froze, with the models that the settings name."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from django.conf import settings

from benchmarks.judging.verdict import Judge
from evaluation.faults import PlatformFault
from evaluation.pipeline.answering.model import Answerer
from evaluation.pipeline.backends import ModelChanged, ModelEndpoint, open_answerer, open_judges

__all__ = ["answerer_for", "judges_for"]


@asynccontextmanager
async def answerer_for(baseline: Mapping[str, Any], *, fence_key: bytes) -> AsyncIterator[Answerer]:
    """Give the answerer that the baseline froze, for one event loop.

    Raises PlatformFault when the installation has another model than the release.
    """
    endpoint = _endpoint(settings.AML_ANSWER_BASE_URL, settings.AML_ANSWER_MODEL, settings.AML_ANSWER_API_KEY)
    try:
        async with open_answerer(baseline["answer"], endpoint, fence_key=fence_key) as answerer:
            yield answerer
    except ModelChanged as error:
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
