"""API addresses of this room, under /api/v1/."""

from django.urls import path

from leaderboard import api

urlpatterns = [
    path("boards/<slug:cycle>/<slug:track>/<slug:division>", api.BoardView.as_view(), name="board"),
    path("entries/<uuid:entry_id>", api.EntryView.as_view(), name="entry"),
]
