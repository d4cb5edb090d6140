"""Every room's API under one address, and what belongs to no room: the contract and the description of the API."""

from django.urls import URLPattern, URLResolver, include, path, re_path

from aml.api import views

app_name = "api"

ROOMS = ("submissions", "evaluation", "leaderboard")

urlpatterns: list[URLPattern | URLResolver] = [
    path("contract", views.ContractView.as_view(), name="contract"),
    path("openapi.json", views.SchemaView.as_view(), name="schema"),
    *(path("", include(f"{room}.api_urls")) for room in ROOMS),
    re_path(r"^.*$", views.NothingView.as_view(), name="nothing"),
]
