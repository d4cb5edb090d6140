"""The catalogue of datasets that the tracks draw on, as data: what each measures, in which form, with which metric."""

from dataclasses import dataclass
from typing import Final

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from submissions.models import Track


@dataclass(frozen=True, slots=True)
class Card:
    """One dataset of the catalogue. `dataset` is the kind that reads its files, empty while there is none.

    `scored` is False for a dataset that is listed for reference only.
    """

    slug: str
    name: str
    track: str
    measures: str | Promise
    tasks: str | Promise
    metric: str | Promise
    source: str = ""
    dataset: str = ""
    scored: bool = True


CATALOGUE: Final[tuple[Card, ...]] = (
    Card(
        slug="locomo",
        name="LoCoMo",
        track=Track.TEXTUAL,
        measures=_("Facts, relations and dates across many sessions between two people who know each other."),
        tasks=_("Open questions of five kinds: multi-hop, temporal, open-domain, single-hop and adversarial."),
        metric=_("Token F1 by category (locomo.f1.v1); a judge in a release that has one."),
        source="https://github.com/snap-research/locomo",
        dataset="locomo",
    ),
    Card(
        slug="longmemeval",
        name="LongMemEval-S",
        track=Track.TEXTUAL,
        measures=_(
            "Recall, updates, time and preferences in a long history with an assistant, and knowing when to abstain."
        ),
        tasks=_("Open questions of six types, each with a history of its own; some can't be answered."),
        metric=_("Yes or no by a judge, by question type (longmemeval.judge.v1); F1 by words without one."),
        source="https://github.com/xiaowu0162/LongMemEval",
        dataset="longmemeval",
    ),
    Card(
        slug="personamem",
        name="PersonaMem",
        track=Track.TEXTUAL,
        measures=_("Whether a person's traits and preferences are followed as they change."),
        tasks=_("Choice questions with four options, versions 1 and 2; version 2 also has free answers."),
        metric=_("Accuracy of the chosen option (personamem.mcq.v1)."),
        dataset="personamem",
    ),
    Card(
        slug="beam",
        name="BEAM",
        track=Track.TEXTUAL,
        measures=_("Ten abilities over very long conversations, from extraction to the order of events."),
        tasks=_("Probing questions of ten types, each with a rubric."),
        metric=_("Rubric items by a judge; rank correlation for event order (beam.rubric.v1)."),
        source="https://github.com/mohammadtavakoli78/BEAM",
        dataset="beam",
    ),
    Card(
        slug="clbench",
        name="CL-Bench",
        track=Track.TEXTUAL,
        measures=_("Learning rules and procedures from the context and applying them."),
        tasks=_("Tasks in dialogue form, each with a list of rubric items."),
        metric=_("A task counts only if every rubric item holds (clbench.all.v1)."),
        dataset="clbench",
    ),
    Card(
        slug="scriptmem",
        name="ScriptMem",
        track=Track.TEXTUAL,
        measures=_("Memory of long scripts with many speakers and narration."),
        tasks=_("Single choice, multiple choice and ordering."),
        metric=_("Exact choice (scriptmem.mcq.v1)."),
        source="https://github.com/memorax-ai/ScriptMem",
        dataset="scriptmem",
    ),
    Card(
        slug="atm-bench",
        name="ATM-Bench",
        track=Track.MULTIMODAL,
        measures=_("The quality of answers that rest on text and image memories of an agent."),
        tasks=_("Questions over ordered text and image parts."),
        metric=_("Question score 0, 0.5 or 1 by a judge (atm.qs.v1)."),
        dataset="atm-bench",
    ),
    Card(
        slug="mem-gallery",
        name="Mem-Gallery",
        track=Track.MULTIMODAL,
        measures=_("Finding the right memory in a gallery of pictures and the talk around them."),
        tasks=_("Open questions over dialogues with images."),
        metric=_("Token F1 (memgallery.f1.v1)."),
        dataset="mem-gallery",
    ),
    Card(
        slug="cambench-coding",
        name="CAMBench Coding",
        track=Track.CODING,
        measures=_("Finding and reusing earlier engineering work on a repository, among relevant or noisy memories."),
        tasks=_("150 software engineering tasks under two conditions: 300 attempts."),
        metric=_("Resolved rate by condition; the difference is robustness to noise (swe.resolved.v1)."),
        dataset="cambench-coding",
    ),
    Card(
        slug="swecontextbench",
        name="SWEContextBench",
        track=Track.CODING,
        measures=_("Context for software engineering tasks across related issues."),
        tasks=_("Listed for reference; it is not part of the scored suite."),
        metric=_("Not scored here."),
        scored=False,
    ),
)
