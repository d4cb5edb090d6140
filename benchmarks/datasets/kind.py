"""What a kind of dataset is to the platform, and the loader of kinds whose files each stand alone."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.datasets.model import DatasetError, Scope
from contract.words import gettext_noop

__all__ = ["DatasetKind", "Loader", "each_file"]

Loader = Callable[[Path, Sequence[str]], Iterator[Scope]]
"""Reads files of a folder, named relative to it, into scopes whose keys differ. Raises DatasetError."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetKind:
    """A dataset's format and how the platform measures it.

    `metric` is the id of the deterministic metric that scores it where a bundle names no other; `judge` the id of
    the judge that scores it in a release that has a judge model, empty where the deterministic metric always does.
    `title` and the values of `categories` are marked English text. `capabilities` gives each category its letter.
    `unanswerable` are the categories whose right answer is a refusal. `patterns` find the files of a folder without a
    manifest, each one a glob relative to it.
    """

    id: str
    title: str
    track: str
    metric: str
    judge: str
    load: Loader
    patterns: tuple[str, ...]
    categories: Mapping[str, str]
    capabilities: Mapping[str, str]
    unanswerable: frozenset[str] = frozenset()

    def scored_by(self, metric: str, *, has_judge: bool) -> str:
        """What scores a bundle whose own metric is `metric`, in a release with a judge model or without one."""
        return (self.judge if has_judge else "") or metric


def each_file(load: Callable[[Path], Iterator[Scope]]) -> Loader:
    """Return the loader of a kind whose files hold whole scopes: one file after another, no key twice."""

    def load_files(folder: Path, files: Sequence[str]) -> Iterator[Scope]:
        seen: set[str] = set()
        for name in files:
            for scope in load(folder / name):
                if scope.key in seen:
                    raise DatasetError(
                        "dataset_duplicate_id", file=name, record=scope.key,
                        message=gettext_noop("another file of the bundle has a scope of this id"),
                    )  # fmt: skip
                seen.add(scope.key)
                yield scope

    return load_files
