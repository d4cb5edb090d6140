"""The Benchmarks page: what each track measures, and which bundles the platform holds."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from benchmarks.selectors import cards_by_track
from submissions.models import Track


@require_GET
def index(request: HttpRequest) -> HttpResponse:
    """Cards by track."""
    tracks = [(track, Track(track).label, cards) for track, cards in cards_by_track().items()]
    return render(request, "benchmarks/index.html", {"tracks": tracks})
