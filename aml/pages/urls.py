"""Addresses of the site's own pages, each under a language."""

from django.urls import path

from aml.pages import views

app_name = "site"
urlpatterns = [
    path("", views.home, name="home"),
    path("guide/", views.guide, name="guide"),
    path("documentation/", views.documentation, name="documentation"),
    path("api-guide/", views.api_guide, name="api_guide"),
    path("api-reference/", views.api_reference, name="api_reference"),
    path("privacy/", views.privacy, name="privacy"),
    path("status/", views.status, name="status"),
    path("theme/", views.choose_theme, name="theme"),
]
