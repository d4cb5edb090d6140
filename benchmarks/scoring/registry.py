"""The metrics that score an answer, by id with version."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from benchmarks.datasets.model import Question
from benchmarks.scoring.choices import personamem_mcq, personamem_words, scriptmem_mcq
from benchmarks.scoring.rubrics import rubric_all, rubric_ratio, rubric_words
from benchmarks.scoring.token_f1 import locomo_f1, memgallery_f1, words_f1, words_refusal
from contract.words import gettext_noop

__all__ = ["METRICS", "Metric", "score"]


@dataclass(frozen=True, slots=True)
class Metric:
    """A deterministic metric: `compute(question, prediction)` gives 0 to 1 and raises for no text.

    `beside`, where there is one, gives a second measure from 0 to 1 that is kept beside the score.
    """

    id: str
    title: str
    compute: Callable[[Question, str], float]
    beside: Callable[[Question, str], float] | None = None


METRICS: Final[Mapping[str, Metric]] = {
    metric.id: metric
    for metric in (
        Metric("locomo.f1.v1", gettext_noop("LoCoMo's F1 over stemmed words"), locomo_f1),
        Metric("words.f1.v1", gettext_noop("F1 over stemmed words, by characters in Chinese"), words_f1),
        Metric("words.refusal.v1", gettext_noop("F1 over stemmed words, or a refusal where one is due"), words_refusal),
        Metric("memgallery.f1.v1", gettext_noop("Mem-Gallery's F1 over stemmed words"), memgallery_f1),
        Metric("scriptmem.mcq.v1", gettext_noop("ScriptMem's choice by letter"), scriptmem_mcq),
        Metric("personamem.mcq.v1", gettext_noop("PersonaMem's choice by letter"), personamem_mcq),
        Metric("personamem.words.v1", gettext_noop("PersonaMem's choice, or F1 by words"), personamem_words),
        Metric("rubric.words.v1", gettext_noop("Share of a rubric's words in the answer"), rubric_words),
        Metric("rubric.all.v1", gettext_noop("Every rubric item by its words"), rubric_all, rubric_ratio),
    )
}


def score(metric_id: str, question: Question, prediction: str) -> float:
    """Return the score of `prediction` from 0 to 1. Raises KeyError for a metric that METRICS doesn't hold."""
    return METRICS[metric_id].compute(question, prediction)
