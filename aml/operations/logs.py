"""Log records that say which request and which job they belong to, as lines or as JSON.

No body, no query, no path: a path may hold a token. A request is named by its route.
"""

import json
import logging
import re
import time
import uuid
from collections.abc import Callable
from contextvars import ContextVar
from datetime import UTC, datetime

from django.http import HttpRequest, HttpResponse

from evaluation.logs import current_job

HEADER = "X-Request-ID"
_ID = re.compile(r"[A-Za-z0-9._-]{8,64}")
_request_id: ContextVar[str] = ContextVar("request_id", default="")
access = logging.getLogger("aml.access")


class ContextFilter(logging.Filter):
    """Adds `request_id` and `job_id` to each record, and `context`, both of them for a line of text."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.request_id = _request_id.get()
        record.job_id = getattr(record, "job_id", "") or current_job()
        pairs = (("request", vars(record)["request_id"]), ("job", vars(record)["job_id"]))
        record.context = "".join(f"{name}={value} " for name, value in pairs if value)
        return True


class JsonFormatter(logging.Formatter):
    """One JSON object a line: time, level, logger, message, ids, the facts of an access record, a traceback."""

    def format(self, record: logging.LogRecord) -> str:
        entry = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            "process": record.process,
        }
        for name in ("request_id", "job_id", "method", "route", "status", "milliseconds"):
            value = getattr(record, name, None)
            if value not in (None, ""):
                entry[name] = value
        if record.exc_info or record.exc_text:
            entry["traceback"] = record.exc_text or self.formatException(record.exc_info)  # type: ignore[arg-type]
        return json.dumps(entry, ensure_ascii=False)


def request_log(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Middleware: give every request an id, taken from the proxy where it sends a sound one, and log its end."""

    def middleware(request: HttpRequest) -> HttpResponse:
        given = request.headers.get(HEADER, "")
        name = given if _ID.fullmatch(given) else uuid.uuid4().hex
        token = _request_id.set(name)
        began = time.perf_counter()
        try:
            response = get_response(request)
            response.headers[HEADER] = name
            _log(request, response, (time.perf_counter() - began) * 1000)
        finally:
            _request_id.reset(token)
        return response

    return middleware


def _log(request: HttpRequest, response: HttpResponse, milliseconds: float) -> None:
    match = getattr(request, "resolver_match", None)
    route = (match.view_name or match.route) if match else "-"
    facts = {
        "method": request.method,
        "route": route,
        "status": response.status_code,
        "milliseconds": round(milliseconds, 1),
    }
    access.info("%(method)s %(route)s %(status)s %(milliseconds)s ms", facts, extra=facts)
