"""The participants' room in the REST API. Errors are raised as Refusals; the rules are the services'."""

from uuid import UUID

from django.conf import settings
from django.http import Http404
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_variables
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from submissions import serializers
from submissions.keyviews import KeyView
from submissions.models import AccessRequest, Cycle, LeaderboardKey, Track, Version
from submissions.payloads import key_payload, request_payload, secret_payload, version_payload
from submissions.refusals import Refusal
from submissions.selectors import cycles_for_requests, request_of_receipt
from submissions.services import (
    claim_key,
    edit_access_request,
    forget_secret,
    new_receipt,
    replace_secret,
    rotate_key,
    submit_access_request,
    withdraw_access_request,
)
from submissions.throttle import ACCESS_REQUESTS, client_address, count_hit

_RECEIPT = OpenApiParameter("receipt", OpenApiTypes.STR, OpenApiParameter.PATH, description="the request's receipt")
_VERSION_ID = OpenApiParameter("id", OpenApiTypes.UUID, OpenApiParameter.PATH, description="id of a bound version")


class CycleList(APIView):
    @extend_schema(summary="Public cycles, the newest first", responses=serializers.CycleAnswer(many=True))
    def get(self, request: Request) -> Response:
        cycles = Cycle.objects.public().prefetch_related("prizes")
        return Response(serializers.CycleAnswer(cycles, many=True).data)


class TrackList(APIView):
    @extend_schema(summary="Tracks and their names", responses=serializers.TrackAnswer(many=True))
    def get(self, request: Request) -> Response:
        return Response([{"code": code, "name": str(label)} for code, label in Track.choices])


@method_decorator(never_cache, name="dispatch")
class AccessRequestList(APIView):
    @extend_schema(
        summary="Request access for a fixed version",
        description="Without a key it is for a new key; with one, for another version under it. Keep the receipt.",
        request=serializers.AccessRequestBody,
        responses={201: serializers.AccessRequestMade},
    )
    @sensitive_variables("body", "receipt")
    def post(self, request: Request) -> Response:
        at = timezone.now()
        count_hit(ACCESS_REQUESTS, client_address(request._request), at=at)
        body = serializers.AccessRequestBody(data=request.data)
        body.is_valid(raise_exception=True)
        key = request.auth if isinstance(request.auth, LeaderboardKey) else None
        receipt = new_receipt()
        access_request = submit_access_request(
            cycle=key.cycle if key else _cycle(body.validated_data.get("cycle")),
            materials=body.materials(),
            receipt=receipt,
            language=get_language() or "en",
            existing_key=key,
            at=at,
        )
        page = settings.AML_SITE_URL + reverse("submissions:status", args=[receipt])
        return Response({**request_payload(access_request), "receipt": receipt, "status_url": page}, status=201)


@method_decorator(never_cache, name="dispatch")
class AccessRequestDetail(APIView):
    @extend_schema(summary="State of a request", parameters=[_RECEIPT], responses=serializers.AccessRequestAnswer)
    def get(self, request: Request, receipt: str) -> Response:
        return Response(request_payload(_request_of(receipt)))

    @extend_schema(
        summary="Edit a request whose changes were asked for, and send it again",
        parameters=[_RECEIPT],
        request=serializers.AccessRequestBody,
        responses=serializers.AccessRequestAnswer,
    )
    @sensitive_variables("body", "receipt")
    def put(self, request: Request, receipt: str) -> Response:
        at = timezone.now()
        access_request = _request_of(receipt)
        count_hit(ACCESS_REQUESTS, client_address(request._request), at=at)
        body = serializers.AccessRequestBody(data=request.data)
        body.is_valid(raise_exception=True)
        edit_access_request(access_request=access_request, materials=body.materials(), at=at)
        return Response(request_payload(_request_of(receipt)))


@method_decorator(never_cache, name="dispatch")
class AccessRequestWithdrawal(APIView):
    @extend_schema(
        summary="Withdraw a request that is not decided",
        parameters=[_RECEIPT],
        request=None,
        responses=serializers.AccessRequestAnswer,
    )
    def post(self, request: Request, receipt: str) -> Response:
        withdraw_access_request(access_request=_request_of(receipt), at=timezone.now())
        return Response(request_payload(_request_of(receipt)))


@method_decorator(never_cache, name="dispatch")
class KeyClaimView(APIView):
    @extend_schema(
        summary="Make the Leaderboard Key of an approved request and show it once",
        parameters=[_RECEIPT],
        request=None,
        responses={201: serializers.NewKeyAnswer},
    )
    @sensitive_variables("text", "receipt")
    def post(self, request: Request, receipt: str) -> Response:
        text = claim_key(access_request=_request_of(receipt), at=timezone.now())
        return Response({"key": text}, status=201)


class VersionView(KeyView):
    """A view of one version that is bound to the key."""

    write_scope = "smoke"

    def version_or_404(self, pk: UUID) -> Version:
        versions = Version.objects.for_key(self.key).select_related("system__team")
        return get_object_or_404(versions, pk=pk)


@method_decorator(never_cache, name="dispatch")
class Me(KeyView):
    @extend_schema(summary="The key that is sent", responses=serializers.KeyAnswer)
    def get(self, request: Request) -> Response:
        return Response(key_payload(self.key))


@method_decorator(never_cache, name="dispatch")
class MyKeyRotation(KeyView):
    write_scope = "smoke"

    @extend_schema(
        summary="Make the next key and show it once",
        description="The old key works for 24 hours more; quotas, versions and results stay.",
        request=None,
        responses={201: serializers.NewKeyAnswer},
    )
    @sensitive_variables("text")
    def post(self, request: Request) -> Response:
        _new, text = rotate_key(key=self.key, actor=f"key:{self.key.public_id}", at=timezone.now())
        return Response({"key": text}, status=201)


class VersionList(KeyView):
    @extend_schema(summary="Versions that are bound to the key", responses=serializers.VersionAnswer(many=True))
    def get(self, request: Request) -> Response:
        versions = Version.objects.for_key(self.key).select_related("system__team", "memory_system_key")
        return Response([version_payload(version) for version in versions])


class VersionDetail(VersionView):
    @extend_schema(summary="One bound version", parameters=[_VERSION_ID], responses=serializers.VersionAnswer)
    def get(self, request: Request, pk: UUID) -> Response:
        return Response(version_payload(self.version_or_404(pk)))


class VersionSecret(VersionView):
    @extend_schema(
        summary="Replace the Memory System Key of a version",
        description="Write-only. A full evaluation then needs a new smoke test.",
        parameters=[_VERSION_ID],
        request=serializers.MemorySystemKeyBody,
        responses=serializers.MemorySystemKeyAnswer,
    )
    @sensitive_variables("body", "secret")
    def put(self, request: Request, pk: UUID) -> Response:
        body = serializers.MemorySystemKeyBody(data=request.data)
        body.is_valid(raise_exception=True)
        version = self.version_or_404(pk)
        secret = body.validated_data["memory_system_key"]
        stored = replace_secret(version=version, secret=secret, actor=f"key:{self.key.public_id}", at=timezone.now())
        return Response(secret_payload(stored.version))

    @extend_schema(summary="Delete the Memory System Key of a version", parameters=[_VERSION_ID], responses={204: None})
    def delete(self, request: Request, pk: UUID) -> Response:
        forget_secret(version=self.version_or_404(pk), actor=f"key:{self.key.public_id}", at=timezone.now())
        return Response(status=204)


def _request_of(receipt: str) -> AccessRequest:
    access_request = request_of_receipt(receipt)
    if access_request is None:
        raise Http404
    return access_request


def _cycle(slug: str | None) -> Cycle:
    cycles = cycles_for_requests(timezone.now())
    if slug:
        return get_object_or_404(Cycle.objects.public(), slug=slug)
    if not cycles:
        raise Refusal("materials_closed", _("No cycle takes access requests now. Look at the cycles' dates."))
    return cycles[0]
