"""Where the head and the foot of the site lead to."""

from django.urls import NoReverseMatch, reverse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

PLACES: dict[str, list[tuple[str, Promise]]] = {
    "nav": [
        ("leaderboard:index", _("Leaderboard")),
        ("evaluation:home", _("Evaluation")),
        ("site:guide", _("Participate")),
        ("site:documentation", _("Documentation")),
        ("site:api_guide", _("API guide")),
        ("benchmarks:index", _("Benchmarks")),
    ],
    "foot": [
        ("submissions:request", _("Request access")),
        ("site:status", _("Service status")),
        ("site:privacy", _("Privacy and data duties")),
        ("api:schema", _("API reference")),
    ],
}


def links(place: str) -> list[dict[str, str]]:
    """The links of `place` as dicts of url and title, in order."""
    found = []
    for name, title in PLACES[place]:
        try:
            found.append({"url": reverse(name), "title": str(title)})
        except NoReverseMatch:
            continue
    return found
