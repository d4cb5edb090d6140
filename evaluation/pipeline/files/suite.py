"""What a run asks: the scopes of one bundle in a folder, and the plan of each."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from benchmarks.datasets.bundle import BundleFacts, inspect_bundle, load_bundle
from benchmarks.datasets.model import Scope
from evaluation.pipeline.ids import RunIds
from evaluation.pipeline.items import item_key
from evaluation.pipeline.plan import Planned, PlannedSearch, count_events, plan_scope

__all__ = ["AskedItem", "FileSuite", "SuiteScope"]


@dataclass(frozen=True, slots=True)
class SuiteScope:
    """A scope with its number in the run, counted from 0."""

    ordinal: int
    scope: Scope


@dataclass(frozen=True, slots=True)
class AskedItem:
    """One question at one step of the plan. `id` counts them over the run, `event` is the Search that asks it."""

    id: int
    key: str
    scope: int
    event: PlannedSearch


class FileSuite:
    """Reads a bundle, to its end for its hashes and counts, and then scope by scope. Raises DatasetError.

    `limit` leaves out all but the first scopes. The ids of a run on one's own server can be read: nothing is hidden.
    """

    def __init__(self, folder: Path, dataset: str | None = None, *, limit: int | None = None) -> None:
        self._folder = folder
        self._limit = limit
        self.facts: BundleFacts = inspect_bundle(folder, dataset)
        self.name = self.facts.manifest.name
        self.dataset = self.facts.manifest.dataset
        self.scope_count = min(self.facts.scopes, limit or self.facts.scopes)
        self.events = [count_events(found.scope) for found in self.scopes()]
        """Adds and Searches of each scope."""

    @property
    def adds(self) -> int:
        return sum(adds for adds, _ in self.events)

    @property
    def searches(self) -> int:
        return sum(searches for _, searches in self.events)

    def scopes(self) -> Iterator[SuiteScope]:
        """Yield every scope; the order is always the same."""
        for ordinal, scope in enumerate(islice(load_bundle(self._folder, self.dataset), self._limit)):
            yield SuiteScope(ordinal, scope)

    def plan(self, found: SuiteScope, *, run: str, top_k: int) -> Iterator[Planned]:
        """The scope's Adds and Searches, in order."""
        return plan_scope(found.scope, dataset=self.name, ids=RunIds(run), top_k=top_k)

    def items(self, *, run: str, top_k: int) -> Iterator[AskedItem]:
        """Every question of the run, scope by scope."""
        number = 0
        for found in self.scopes():
            for event in self.plan(found, run=run, top_k=top_k):
                if isinstance(event, PlannedSearch):
                    yield AskedItem(number, item_key(self.name, event.question), found.ordinal, event)
                    number += 1
