"""Addresses: pages under a language, the API and the admin site beside them."""

from importlib.util import find_spec

from django.conf import settings
from django.conf.urls.i18n import i18n_patterns
from django.contrib import admin
from django.urls import URLPattern, URLResolver, include, path

from aml.pages import machines

ROOMS = {
    "request-access/": "submissions.urls",
    "evaluation/": "evaluation.urls",
    "leaderboard/": "leaderboard.urls",
    "benchmarks/": "benchmarks.urls",
}

pages: list[URLPattern | URLResolver] = [
    path("", include("aml.pages.urls")),
    *(
        path(prefix, include(urls))
        for prefix, urls in ROOMS.items()
        if find_spec(urls) and find_spec(urls.replace("urls", "views"))
    ),
    path(f"{settings.AML_ADMIN_PATH}/", admin.site.urls),
]

urlpatterns: list[URLPattern | URLResolver] = [
    path("api/v1/", include("aml.api.urls")),
    path("healthz", machines.healthz),
    path("readyz", machines.readyz),
    path("robots.txt", machines.robots),
    path("sitemap.xml", machines.sitemap),
    *i18n_patterns(*pages),
]
