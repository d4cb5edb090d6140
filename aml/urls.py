"""Addresses: pages under a language, the API and the admin site beside them."""

from django.conf import settings
from django.conf.urls.i18n import i18n_patterns
from django.contrib import admin
from django.urls import URLPattern, URLResolver, include, path

from aml.operations.metrics import metrics
from aml.pages import machines

pages: list[URLPattern | URLResolver] = [
    path("", include("aml.pages.urls")),
    path("request-access/", include("submissions.urls")),
    path("evaluation/", include("evaluation.urls")),
    path("leaderboard/", include("leaderboard.urls")),
    path("benchmarks/", include("benchmarks.urls")),
    path(f"{settings.AML_ADMIN_PATH}/", admin.site.urls),
]

urlpatterns: list[URLPattern | URLResolver] = [
    path("api/v1/", include("aml.api.urls")),
    path("metrics", metrics),
    path("robots.txt", machines.robots),
    path("sitemap.xml", machines.sitemap),
    *i18n_patterns(*pages),
]
