"""What of the API belongs to no room: the wire contract, the API's own description, and addresses without anything."""

from hashlib import sha256
from pathlib import Path
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.utils.decorators import method_decorator
from django.views.decorators.http import condition
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from aml.api.contract import contract_document

OPENAPI = Path(__file__).with_name("openapi.json")
"""OpenAPI 3.1, made by `manage.py spectacular --format openapi-json --file aml/api/openapi.json`."""


class ContractView(APIView):
    """The wire contract that participants implement, as data."""

    @extend_schema(
        operation_id="contract",
        summary="The wire contract",
        description="Limits, JSON Schemas, rules on URLs, retry table, chunking, and reason codes and flags with "
        "sentences in every language.",
        responses=OpenApiTypes.OBJECT,
        auth=[],
    )
    def get(self, request: Request) -> Response:
        return Response(contract_document())


def _openapi_etag(request: HttpRequest) -> str:
    return f'"{sha256(OPENAPI.read_bytes()).hexdigest()}"'


@method_decorator(condition(etag_func=_openapi_etag), name="dispatch")
class SchemaView(APIView):
    """The description of this API, as it was committed."""

    class _AnyAccept(DefaultContentNegotiation):
        """A browser that follows the link asks for HTML; it gets the JSON all the same."""

        def select_renderer(self, request: Request, renderers: Any, format_suffix: str | None = None) -> Any:
            return renderers[0], renderers[0].media_type

    content_negotiation_class = _AnyAccept

    @extend_schema(exclude=True)
    def get(self, request: Request) -> HttpResponse:
        return HttpResponse(OPENAPI.read_bytes(), content_type="application/vnd.oai.openapi+json;version=3.1")


@extend_schema(exclude=True)
class NothingView(APIView):
    """Answers in the API's own form where no address is."""

    throttle_classes = ()

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        raise Http404
