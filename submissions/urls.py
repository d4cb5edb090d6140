from django.urls import path

from submissions import views

app_name = "submissions"

urlpatterns = [
    path("", views.request_access, name="request"),
    path("existing-key/", views.open_existing_key, name="existing_key"),
    path("key/", views.key_page, name="key"),
    path("key/rotate/", views.rotate, name="rotate_key"),
    path("status/<str:token>/", views.status, name="status"),
    path("status/<str:token>/edit/", views.edit, name="edit"),
    path("status/<str:token>/claim/", views.claim, name="claim"),
    path("status/<str:token>/withdraw/", views.withdraw, name="withdraw"),
    path("status/<str:token>/secret/", views.change_secret, name="secret"),
    path("status/<str:token>/appeal/", views.appeal, name="appeal"),
]
