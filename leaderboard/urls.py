"""Public pages of the boards."""

from django.urls import path

from leaderboard import views

app_name = "leaderboard"

_BOARD = "<slug:cycle>/<slug:track>/<slug:division>/"

urlpatterns = [
    path("", views.index, name="index"),
    path("entries/<uuid:entry_id>/", views.entry, name="entry"),
    path(_BOARD, views.board, name="board"),
    path(f"{_BOARD}board.csv", views.board_csv_file, name="board_csv"),
    path(f"{_BOARD}board.json", views.board_json_file, name="board_json"),
    path(f"{_BOARD}snapshots/<int:number>/", views.board, name="snapshot"),
    path(f"{_BOARD}snapshots/<int:number>/board.csv", views.board_csv_file, name="snapshot_csv"),
    path(f"{_BOARD}snapshots/<int:number>/board.json", views.board_json_file, name="snapshot_json"),
]
