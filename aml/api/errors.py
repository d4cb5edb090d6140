"""Every error of the API in one form: `{"detail": {"reason", "message", "request_id", ...}}`.

`reason` is a stable word for programs, `message` a sentence in the caller's language, `request_id` what to quote to the
organizers. Fields that are off come as `fields` with 422; a wait as `retry_after_s` and the header Retry-After.
"""

import logging
import math
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.core.exceptions import PermissionDenied, RequestDataTooBig, SuspiciousOperation
from django.core.exceptions import ValidationError as DjangoValidationError
from django.db import InterfaceError, OperationalError
from django.http import Http404
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from rest_framework import exceptions, status
from rest_framework.response import Response
from rest_framework.serializers import as_serializer_error
from rest_framework.views import set_rollback

from submissions.refusals import Refusal

log = logging.getLogger(__name__)

DATABASE_BACK_S = 5
"""When to try again while the database is away or locked."""
_DATABASE_AWAY = (OperationalError, InterfaceError)


@dataclass(frozen=True, slots=True)
class Problem:
    """What is answered: HTTP status, reason, message, and further members of `detail`."""

    status: int
    reason: str
    message: str | Promise
    more: Mapping[str, Any] = field(default_factory=dict)
    retry_after_s: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


def answer_error(error: Exception, context: Mapping[str, Any]) -> Response:
    """DRF's exception handler. An error that nobody foresaw is logged under the request id and told as such."""
    request_id = uuid.uuid4().hex
    problem = _problem(error)
    if isinstance(error, _DATABASE_AWAY):
        log.warning("request %s: the database does not answer: %s", request_id, type(error).__name__)
    if problem is None:
        view = type(context.get("view")).__name__
        log.error("request %s: %s failed in %s", request_id, type(error).__name__, view, exc_info=error)
        problem = Problem(500, "internal_error", _internal_message())
    set_rollback()
    return _response(problem, request_id)


def _response(problem: Problem, request_id: str) -> Response:
    detail = {**problem.more, "reason": problem.reason, "message": str(problem.message), "request_id": request_id}
    headers = {"X-Request-Id": request_id, "Cache-Control": "no-store", **problem.headers}
    if problem.retry_after_s is not None:
        detail["retry_after_s"] = problem.retry_after_s
        headers["Retry-After"] = str(problem.retry_after_s)
    if problem.status == status.HTTP_401_UNAUTHORIZED:
        headers.setdefault("WWW-Authenticate", 'Bearer realm="api"')
    return Response({"detail": detail}, status=problem.status, headers=headers, content_type="application/json")


def _problem(error: Exception) -> Problem | None:
    match error:
        case Refusal():
            return Problem(error.status, error.code, error.message, error.details, error.retry_after_s)
        case exceptions.ValidationError():
            return _invalid(error)
        case DjangoValidationError():
            return _invalid(exceptions.ValidationError(as_serializer_error(error)))
        case Http404() | exceptions.NotFound():
            return Problem(404, "not_found", _("There is nothing at this address, or it is not yours to see."))
        case PermissionDenied():
            return _known(exceptions.PermissionDenied())
        case RequestDataTooBig():
            return Problem(413, "body_too_large", _("The body is larger than this address takes."))
        case SuspiciousOperation():
            return _known(exceptions.ParseError())
        case OperationalError() | InterfaceError():
            message = _("Something on our side does not answer at the moment. Try again in a few seconds.")
            return Problem(503, "unavailable", message, retry_after_s=DATABASE_BACK_S)
        case exceptions.APIException():
            return _known(error)
    return None


def _known(error: exceptions.APIException) -> Problem:
    """Errors that DRF raises itself."""
    match error:
        case exceptions.AuthenticationFailed() | exceptions.NotAuthenticated():
            message = _("Send your Leaderboard Key as “Authorization: Bearer <key>” or “X-Api-Key: <key>”.")
            return Problem(401, "not_authenticated", message)
        case exceptions.PermissionDenied():
            return Problem(403, "permission_denied", _("This key may not do that."))
        case exceptions.MethodNotAllowed():
            return Problem(
                405, "method_not_allowed", _("This address does not take that method; see the header Allow.")
            )
        case exceptions.Throttled():
            asked = getattr(error, "wait", None)
            wait = 60 if asked is None else math.ceil(asked)
            message = _("Too many requests. Try again in %(wait)d seconds.") % {"wait": wait}
            return Problem(429, "throttled", message, retry_after_s=wait)
        case exceptions.ParseError():
            return Problem(400, "malformed", _("Expected a body that is one JSON object in UTF-8."))
        case exceptions.UnsupportedMediaType():
            return Problem(415, "unsupported_media_type", _("Send the body as application/json."))
        case exceptions.NotAcceptable():
            return Problem(406, "not_acceptable", _("The form that Accept or “format” asks for is not to be had here."))
    if error.status_code >= status.HTTP_500_INTERNAL_SERVER_ERROR:
        return Problem(error.status_code, "internal_error", _internal_message())
    return Problem(error.status_code, str(getattr(error, "default_code", "error")), _("The request was refused."))


def _internal_message() -> str:
    return _("Something failed on our side. Nothing was changed; try again later and quote the request id.")


def _invalid(error: exceptions.ValidationError) -> Problem:
    fields = list(_fields(error.get_full_details(), ""))
    message = _("Some fields are not as expected; “fields” says which and why.")
    return Problem(status.HTTP_422_UNPROCESSABLE_ENTITY, "invalid", message, {"fields": fields})


def _fields(details: Any, path: str) -> Iterator[dict[str, str]]:
    """Flatten DRF's nested details; `field` is a path like `versions.0.label`, empty for the whole body."""
    if isinstance(details, Mapping) and isinstance(details.get("message"), str) and "code" in details:
        yield {"field": path, "code": str(details["code"]), "message": details["message"]}
    elif isinstance(details, Mapping):
        for name, inner in details.items():
            yield from _fields(inner, path if name == "non_field_errors" else _below(path, str(name)))
    elif isinstance(details, list):
        nested = any(isinstance(inner, Mapping) and "code" not in inner for inner in details)
        for index, inner in enumerate(details):
            yield from _fields(inner, _below(path, str(index)) if nested else path)


def _below(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
