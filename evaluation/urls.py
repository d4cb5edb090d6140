"""Addresses of the Evaluation page and of a run's pages."""

from django.urls import path

from evaluation import views

app_name = "evaluation"

urlpatterns = [
    path("", views.home, name="home"),
    path("key/", views.open_key, name="open_key"),
    path("key/close/", views.close_key, name="close_key"),
    path("runs/", views.submit, name="submit"),
    path("runs/<uuid:pk>/", views.job, name="job"),
    path("runs/<uuid:pk>/progress/", views.progress, name="progress"),
    path("runs/<uuid:pk>/progress.json", views.progress_json, name="progress_json"),
    path("runs/<uuid:pk>/questions/", views.questions, name="questions"),
    path("runs/<uuid:pk>/receipts/", views.receipts, name="receipts"),
    path("runs/<uuid:pk>/cancel/", views.cancel, name="cancel"),
]
