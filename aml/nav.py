"""Where the head and the foot of the site lead to."""

from django.urls import reverse
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
        ("site:api_reference", _("API reference")),
    ],
}


def links(place: str) -> list[dict[str, str]]:
    """The links of `place` as dicts of url and title, in order."""
    return [{"url": reverse(name), "title": str(title)} for name, title in PLACES[place]]


def explore_links() -> list[dict[str, str]]:
    """Where the home page leads to, each with what is there."""
    texts = [
        ("leaderboard:index", _("Leaderboard"), _("Ranks by track and division, down to the evidence of each score.")),
        ("evaluation:home", _("Evaluation"), _("Start runs with your key, watch them, read private results.")),
        ("site:guide", _("Participation guide"), _("Dates, divisions, materials, prizes and rules.")),
        ("site:documentation", _("Documentation"), _("How systems are evaluated, from request to publication.")),
        ("site:api_guide", _("API guide"), _("Fields, samples, status and reason codes of Add and Search.")),
        ("benchmarks:index", _("Benchmarks"), _("What is measured, with which data and metric.")),
    ]
    return [{"url": reverse(name), "title": str(title), "text": str(text)} for name, title, text in texts]
