"""The names of categories and capabilities in the reader's language."""

from django.utils.translation import gettext as translated  # translates messages from data

from benchmarks.datasets.model import CAPABILITIES
from benchmarks.datasets.registry import DATASETS


def capability_title(code: str) -> str:
    """`Explicit facts` for A; the code itself where nobody knows it."""
    return translated(CAPABILITIES[code]) if code in CAPABILITIES else code


def category_title(code: str) -> str:
    """A dataset's own category; codes are `<category>` or `<dataset>/<category>`. Of two datasets the first counts."""
    own = code.rpartition("/")[2]
    for kind in DATASETS.values():
        if own in kind.categories:
            return translated(kind.categories[own])
    return own
