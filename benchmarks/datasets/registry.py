"""The kinds of dataset that the platform can read, by name."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.datasets.locomo import LOCOMO_CAPABILITIES, LOCOMO_CATEGORIES, LOCOMO_UNANSWERABLE, load_locomo
from benchmarks.datasets.model import Scope
from contract.words import gettext_noop

__all__ = ["DATASETS", "DatasetKind"]


@dataclass(frozen=True, slots=True)
class DatasetKind:
    """A dataset's format and how the platform measures it.

    `load` reads one file into scopes. `metric` is the id of its metric where a bundle names no other. `title` and
    the values of `categories` are marked English text. `capabilities` gives each category its letter.
    `unanswerable` are the categories whose right answer is a refusal.
    """

    id: str
    title: str
    track: str
    metric: str
    load: Callable[[Path], Iterator[Scope]]
    pattern: str
    categories: Mapping[str, str]
    capabilities: Mapping[str, str]
    unanswerable: frozenset[str]


DATASETS: Final[Mapping[str, DatasetKind]] = {
    kind.id: kind
    for kind in (
        DatasetKind(
            id="locomo",
            title=gettext_noop("LoCoMo: long conversations of two people"),
            track="textual",
            metric="locomo.f1.v1",
            load=load_locomo,
            pattern="*.json",
            categories=LOCOMO_CATEGORIES,
            capabilities=LOCOMO_CAPABILITIES,
            unanswerable=frozenset({LOCOMO_UNANSWERABLE}),
        ),
    )
}
