"""Addresses of the participants' room in the REST API."""

from django.urls import path

from submissions import api

urlpatterns = [
    path("cycles", api.CycleList.as_view(), name="cycles"),
    path("tracks", api.TrackList.as_view(), name="tracks"),
    path("access-requests", api.AccessRequestList.as_view(), name="access-requests"),
    path("access-requests/<str:receipt>", api.AccessRequestDetail.as_view(), name="access-request"),
    path(
        "access-requests/<str:receipt>/withdraw", api.AccessRequestWithdrawal.as_view(), name="access-request-withdraw"
    ),
    path("access-requests/<str:receipt>/claim", api.KeyClaimView.as_view(), name="access-request-claim"),
    path("me", api.Me.as_view(), name="me"),
    path("me/rotate", api.MyKeyRotation.as_view(), name="me-rotate"),
    path("versions", api.VersionList.as_view(), name="versions"),
    path("versions/<uuid:pk>", api.VersionDetail.as_view(), name="version"),
    path("versions/<uuid:pk>/memory-system-key", api.VersionSecret.as_view(), name="version-secret"),
]
