"""Bodies that arrive slowly or never, kept from stopping the whole site.

A thread that waits for a body serves nobody, and the web server sets no deadline for bodies: a handful of half-sent
requests would take every thread. So only a part of the threads may wait for a body of ordinary size; a request beyond
that is told to come again, and the other threads go on answering whatever needs no body. A reverse proxy that reads
bodies before it passes them on keeps even that from happening.
"""

import threading
from collections.abc import Callable, Iterable
from io import BytesIO
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils.translation import gettext as _

WEB_THREADS = 16
"""Requests that one web process works on at once; the web server is started with this number."""
WAITING_THREADS = 8
"""So many of them may wait for a body."""
AGAIN_S = 10
CROWDED = "aml.crowded"
"""Set in the environ of a request whose body was not read, for want of a thread."""

Environ = dict[str, Any]
Application = Callable[[Environ, Callable[..., Any]], Iterable[bytes]]


def with_few_waiting(application: Application) -> Application:
    """Wrap a WSGI application: bodies are read before it is called, by `WAITING_THREADS` threads at most.

    A body above Django's limit is left where it is: Django refuses it by its length.
    """
    waiting = threading.BoundedSemaphore(WAITING_THREADS)

    def wrapped(environ: Environ, start_response: Callable[..., Any]) -> Iterable[bytes]:
        length = _length(environ)
        if 0 < length <= settings.DATA_UPLOAD_MAX_MEMORY_SIZE:
            body = b""
            if waiting.acquire(blocking=False):
                try:
                    body = bytes(environ["wsgi.input"].read(length))
                finally:
                    waiting.release()
            else:
                environ[CROWDED] = True
            environ["wsgi.input"], environ["CONTENT_LENGTH"] = BytesIO(body), str(len(body))
        return application(environ, start_response)

    return wrapped


def refuse_crowded(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Middleware: answer 503 to a request whose body was not read."""

    def middleware(request: HttpRequest) -> HttpResponse:
        return _crowded(request) if request.META.get(CROWDED) else get_response(request)

    return middleware


def _crowded(request: HttpRequest) -> HttpResponse:
    message = _("Too many requests arrive slowly at the moment. Send yours again in a few seconds.")
    response: HttpResponse
    if request.path_info.startswith("/api/"):
        detail = {"reason": "busy", "message": message, "retry_after_s": AGAIN_S}
        response = JsonResponse({"detail": detail}, status=503)
    else:
        response = HttpResponse(message, status=503, content_type="text/plain; charset=utf-8")
    response.headers["Retry-After"] = str(AGAIN_S)
    response.headers["Cache-Control"] = "no-store"
    return response


def _length(environ: Environ) -> int:
    text = environ.get("CONTENT_LENGTH") or ""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 20 else 0
