"""Reads of the benchmarks room that more than one surface needs."""

from collections.abc import Collection, Iterator
from pathlib import Path

from benchmarks.catalogue import CATALOGUE, Card
from benchmarks.datasets.model import DatasetError, Scope
from benchmarks.datasets.reading import file_sha256
from benchmarks.datasets.registry import DATASETS
from benchmarks.models import Bundle


class BundleError(Exception):
    """A registered file is missing or has changed. A fault of the platform, never of a participant."""

    def __init__(self, bundle: str, file: str, problem: str) -> None:
        super().__init__(f"{bundle}: {file}: {problem}")
        self.bundle = bundle
        self.file = file
        self.code = "dataset_changed"


def scopes_of(bundle: Bundle, only: Collection[str] | None = None) -> Iterator[Scope]:
    """Yield the scopes of `bundle` in the order of its files; with `only`, those whose key is in it.

    Every file's hash is checked before the first scope comes. Raises BundleError when one differs or can't be read.
    """
    verify_files(bundle)
    try:
        for scope in DATASETS[bundle.dataset].load(Path(bundle.folder), sorted(bundle.files)):
            if only is None or scope.key in only:
                yield scope
    except DatasetError as error:
        raise BundleError(bundle.name, error.file, str(error)) from error


def verify_files(bundle: Bundle) -> None:
    """Raise BundleError unless each file of `bundle` is, byte for byte, what was registered."""
    for name, registered in bundle.files.items():
        try:
            found = file_sha256(Path(bundle.folder) / name)
        except OSError as error:
            raise BundleError(bundle.name, name, error.strerror or type(error).__name__) from error
        if found != registered:
            raise BundleError(bundle.name, name, f"expected SHA-256 {registered}, got {found}")


def cards_by_track() -> dict[str, list[tuple[Card, list[Bundle]]]]:
    """The catalogue by track, each card with the registered bundles of its dataset, newest first."""
    bundles: dict[str, list[Bundle]] = {}
    for bundle in Bundle.objects.order_by("-registered_at"):
        bundles.setdefault(bundle.dataset, []).append(bundle)
    cards: dict[str, list[tuple[Card, list[Bundle]]]] = {}
    for card in CATALOGUE:
        cards.setdefault(card.track, []).append((card, bundles.get(card.dataset, [])))
    return cards
