"""The evaluation room's REST API. Errors are raised as Refusals; the rules are the services'."""

from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.generics import ListAPIView
from rest_framework.request import Request
from rest_framework.response import Response

from evaluation import serializers
from evaluation.models import Job, Receipt
from evaluation.payloads import job_payload, result_payload
from evaluation.selectors import quotas_of, receipts_of, result_of
from evaluation.services import cancel_job, submit_job
from submissions.keyviews import KeyView
from submissions.models import LeaderboardKey, Version
from submissions.refusals import Refusal

_JOB_ID = OpenApiParameter("id", OpenApiTypes.UUID, OpenApiParameter.PATH, description="id of a run of this key")


class RunView(KeyView):
    """A view of the key's runs; what starts or cancels one asks for the scope itself."""

    def job_or_404(self, pk: UUID) -> Job:
        """A run of this key; another key's run is not found, like one that does not exist."""
        return get_object_or_404(_jobs_of(self.key), pk=pk)

    def start(self, request: Request, *, mode: str, fields: dict[str, Any]) -> Response:
        """Start a run of `mode` from validated fields."""
        version = _version_of(self.key, fields["version"])
        at = timezone.now()
        job = submit_job(
            key=self.key,
            version=version,
            track=fields["track"],
            mode=mode,
            run_label=fields["run_label"],
            add_concurrency=fields.get("add_concurrency", version.add_concurrency),
            search_concurrency=fields.get("search_concurrency", version.search_concurrency),
            checklist=fields.get("checklist", {}),
            at=at,
        )
        return Response(job_payload(job, at), status=201)


class QuotaList(RunView):
    @extend_schema(summary="Runs that the key may still start", responses=serializers.QuotasAnswer)
    def get(self, request: Request) -> Response:
        quotas = [quota.as_json() for quota in quotas_of(self.key, timezone.now())]
        return Response({"cycle": self.key.cycle.slug, "quotas": quotas})


class SmokeTestList(RunView):
    @extend_schema(
        summary="Start a smoke test", request=serializers.SmokeTestRequest, responses={201: serializers.JobAnswer}
    )
    def post(self, request: Request) -> Response:
        body = serializers.SmokeTestRequest(data=request.data)
        body.is_valid(raise_exception=True)
        return self.start(request, mode=Job.Mode.SMOKE, fields=body.validated_data)


class EvalJobList(RunView, ListAPIView):
    """Runs of the key, newest first."""

    serializer_class = serializers.JobAnswer
    ordering = ("-created_at", "id")

    def get_queryset(self) -> QuerySet[Job]:
        return _jobs_of(self.key)

    @extend_schema(summary="Runs of the key, smoke tests included, newest first", responses=serializers.JobAnswer)
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        page = self.paginate_queryset(self.filter_queryset(self.get_queryset()))
        at = timezone.now()
        return self.get_paginated_response([job_payload(job, at) for job in page or []])

    @extend_schema(
        summary="Start a full evaluation", request=serializers.EvalJobRequest, responses={201: serializers.JobAnswer}
    )
    def post(self, request: Request) -> Response:
        body = serializers.EvalJobRequest(data=request.data)
        body.is_valid(raise_exception=True)
        return self.start(request, mode=Job.Mode.FULL, fields=body.validated_data)


class EvalJobDetail(RunView):
    @extend_schema(summary="A run as it stands", responses=serializers.JobAnswer, parameters=[_JOB_ID])
    def get(self, request: Request, pk: UUID) -> Response:
        return Response(job_payload(self.job_or_404(pk), timezone.now()))


class EvalJobCancel(RunView):
    @extend_schema(summary="Cancel a run", request=None, responses=serializers.JobAnswer, parameters=[_JOB_ID])
    def post(self, request: Request, pk: UUID) -> Response:
        job, at = self.job_or_404(pk), timezone.now()
        job = cancel_job(job=job, key=self.key, actor=f"key:{self.key.public_id}", at=at)
        return Response(job_payload(job, at))


class ReceiptList(RunView, ListAPIView):
    """Every attempt on the wire, in order."""

    serializer_class = serializers.ReceiptAnswer
    ordering = ("id",)

    def get_queryset(self) -> QuerySet[Receipt]:
        if getattr(self, "swagger_fake_view", False):
            return Receipt.objects.none()
        return receipts_of(self.job_or_404(self.kwargs["pk"]))

    @extend_schema(summary="Receipts of a run, in order", parameters=[_JOB_ID])
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        return super().get(request, *args, **kwargs)


class ResultDetail(RunView):
    @extend_schema(summary="The private result of a run", responses=serializers.ResultAnswer, parameters=[_JOB_ID])
    def get(self, request: Request, pk: UUID) -> Response:
        parts = result_of(self.job_or_404(pk))
        if parts is None:
            raise Refusal("no_result", _("This run has no result. Only a run that succeeded has one."), status=404)
        return Response(result_payload(parts))


def _jobs_of(key: LeaderboardKey) -> QuerySet[Job]:
    jobs = Job.objects.for_key(key).select_related("version__system", "release", "cycle", "key", "review")
    return jobs.prefetch_related("progress", "quota_entries")


def _version_of(key: LeaderboardKey, pk: UUID) -> Version:
    version = Version.objects.for_key(key).select_related("system").filter(pk=pk).first()
    if version is None:
        message = _("This key has no such version. Choose one that is bound to it.")
        raise Refusal("version_not_found", message, status=404)
    return version
