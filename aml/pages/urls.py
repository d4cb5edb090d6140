"""Addresses of the site's own pages, each under a language."""

from django.urls import path

from aml.pages import views

app_name = "site"
urlpatterns = [
    path("", views.home, name="home"),
    path("theme/", views.choose_theme, name="theme"),
]
