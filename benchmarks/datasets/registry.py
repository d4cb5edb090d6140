"""The kinds of dataset that the platform can read, by name."""

from collections.abc import Mapping
from typing import Final

from benchmarks.datasets.kind import DatasetKind
from benchmarks.datasets.locomo import LOCOMO
from benchmarks.datasets.longmemeval import LONGMEMEVAL
from benchmarks.datasets.personamem import PERSONAMEM, PERSONAMEM2
from benchmarks.datasets.streams import STREAMING

__all__ = ["DATASETS"]

DATASETS: Final[Mapping[str, DatasetKind]] = {
    kind.id: kind for kind in (LOCOMO, LONGMEMEVAL, PERSONAMEM, PERSONAMEM2, STREAMING)
}
