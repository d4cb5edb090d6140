"""Addresses of the evaluation room in the REST API."""

from django.urls import path

from evaluation import api

urlpatterns = [
    path("quotas", api.QuotaList.as_view(), name="quotas"),
    path("smoke-tests", api.SmokeTestList.as_view(), name="smoke-tests"),
    path("eval-jobs", api.EvalJobList.as_view(), name="eval-jobs"),
    path("eval-jobs/<uuid:pk>", api.EvalJobDetail.as_view(), name="eval-job"),
    path("eval-jobs/<uuid:pk>/cancel", api.EvalJobCancel.as_view(), name="eval-job-cancel"),
    path("eval-jobs/<uuid:pk>/receipts", api.ReceiptList.as_view(), name="eval-job-receipts"),
    path("eval-jobs/<uuid:pk>/results", api.ResultDetail.as_view(), name="eval-job-results"),
]
