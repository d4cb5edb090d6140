"""The names of what a board shows, in the reader's language."""

from collections.abc import Mapping
from typing import Any

from django.utils.translation import get_language
from django.utils.translation import gettext as _

from benchmarks.titles import capability_title, category_title
from evaluation.models import Item
from leaderboard.facts import REFERENCE_ARM

__all__ = [
    "backend_title",
    "capability_title",
    "category_title",
    "dataset_title",
    "efficiency_title",
    "item_state_title",
    "label_title",
]


def dataset_title(name: str, facts: Mapping[str, Any]) -> str:
    """A dataset's title out of an entry's facts."""
    titles: Mapping[str, str] = facts.get("title") or {}
    language = "zh-hans" if (get_language() or "").startswith("zh") else "en"
    return titles.get(language) or titles.get("en") or name


def label_title(label: str) -> str:
    """Where an entry comes from."""
    return _("Reference arm") if label == REFERENCE_ARM else _("Submitted by API")


def backend_title(part: Mapping[str, str]) -> str:
    """An answer or judge model with its backend, as it stands in an entry's facts."""
    if part.get("backend") == "offline":
        return _("%(model)s (offline backend)") % {"model": part.get("model", "")}
    if part.get("backend") == "rules":
        return _("rules of the metric")
    return part.get("model", "")


def item_state_title(state: str) -> str:
    return str(Item.State(state).label) if state in Item.State.values else state


def efficiency_title(name: str) -> str:
    """What a figure of `facts.EFFICIENCY` measures."""
    titles = {
        "add_p50_ms": _("Add, median latency"),
        "add_p95_ms": _("Add, 95th percentile"),
        "search_p50_ms": _("Search, median latency"),
        "search_p95_ms": _("Search, 95th percentile"),
        "characters_p50": _("Characters returned, median"),
        "characters_mean": _("Characters returned, mean"),
        "memories_mean": _("Memories returned, mean"),
        "context_tokens_p50": _("Context tokens, median"),
        "context_tokens_mean": _("Context tokens, mean"),
        "empty_share": _("Searches that returned nothing, share"),
        "same_share": _("Searches that returned what the one before had, share"),
    }
    return titles.get(name, name)
