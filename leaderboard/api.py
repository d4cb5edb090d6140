"""The public reads of the API: boards as they stand or stood, and single entries."""

from typing import Any
from uuid import UUID

from django.http import Http404
from django.http.response import HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.renderers import BaseRenderer, JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from leaderboard import freshness
from leaderboard.exports import board_csv
from leaderboard.models import Snapshot
from leaderboard.selectors import board_payload, entry_payload, find_board, find_entry, latest_snapshot, snapshot_as_of


class BoardSerializer(serializers.Serializer[Any]):
    """A snapshot. `digest` is SHA-256 over `board` as JSON with sorted keys, no spaces, UTF-8."""

    schema = serializers.CharField()
    digest = serializers.CharField()
    board = serializers.JSONField()


class EntrySerializer(serializers.Serializer[Any]):
    """An entry. A withdrawn one has its tombstone's reason and no `facts`."""

    schema = serializers.CharField()
    id = serializers.UUIDField()
    state = serializers.CharField()
    team = serializers.CharField()
    system = serializers.CharField()
    version = serializers.CharField()
    published_at = serializers.CharField()
    withdrawn_at = serializers.CharField(allow_null=True)
    withdrawn_reason = serializers.CharField(allow_blank=True)
    facts = serializers.JSONField(allow_null=True)


class CsvRenderer(BaseRenderer):
    """Renders a Snapshot; an error keeps the form that every error has."""

    media_type = "text/csv"
    format = "csv"
    charset = "utf-8"

    def render(self, data: Any, accepted_media_type: str | None = None, renderer_context: Any = None) -> bytes:
        if isinstance(data, Snapshot):
            return board_csv(data).encode()
        return bytes(JSONRenderer().render(data))


def find_snapshot(cycle: str, track: str, division: str, as_of: str) -> Snapshot | None:
    """The snapshot that is asked for; None where there is none."""
    board = find_board(cycle=cycle, track=track, division=division)
    if board is None:
        return None
    return snapshot_as_of(board, as_of) if as_of else latest_snapshot(board)


class BoardView(APIView):
    """A board as its latest snapshot has it, or as it stood at `as_of`."""

    renderer_classes = (JSONRenderer, CsvRenderer)

    @extend_schema(
        operation_id="board",
        summary="A board",
        parameters=[
            OpenApiParameter("as_of", str, description="A snapshot's number, a date, or an ISO 8601 time."),
            OpenApiParameter("format", str, enum=["json", "csv"]),
        ],
        responses={
            (200, "application/json"): BoardSerializer,
            (200, "text/csv"): OpenApiTypes.STR,
            304: OpenApiResponse(description="Nothing changed since the ETag that was sent."),
        },
        auth=[],
    )
    def get(self, request: Request, cycle: str, track: str, division: str) -> HttpResponseBase:
        snapshot = find_snapshot(cycle, track, division, request.query_params.get("as_of", ""))
        if snapshot is None:
            raise Http404
        form = request.accepted_renderer.format
        return freshness.answer(
            request,
            etag=freshness.snapshot_etag(snapshot, f"api {form}"),
            modified=snapshot.created_at,
            make=lambda: Response(snapshot if form == CsvRenderer.format else board_payload(snapshot)),
        )


class EntryView(APIView):
    """An entry with all that the public may read of its run."""

    @extend_schema(operation_id="entry", summary="An entry", responses=EntrySerializer, auth=[])
    def get(self, request: Request, entry_id: UUID) -> HttpResponseBase:
        entry = find_entry(entry_id)
        if entry is None:
            raise Http404
        return freshness.answer(
            request,
            etag=freshness.page_etag(request, str(entry.pk), entry.state, entry.facts["result_digest"]),
            modified=entry.withdrawn_at or entry.published_at,
            make=lambda: Response(entry_payload(entry)),
        )
