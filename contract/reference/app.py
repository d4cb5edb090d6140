"""The HTTP side: POST /add, POST /search, GET /health. Malformed requests get a clear 4xx, never a 5xx."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable
from typing import TypeVar

import msgspec
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from contract.auth import AuthScheme, auth_header
from contract.messages import AddRequest, SearchRequest
from contract.reference.store import Conflict, MemoryStore

__all__ = ["create_app"]

MAX_BODY = 48 * 1024 * 1024

Message = TypeVar("Message", AddRequest, SearchRequest)
Endpoint = Callable[[Request], Awaitable[Response]]


class Refusal(Exception):
    """The request cannot be served; becomes ``{"detail": {"reason", "message"}}``."""

    def __init__(self, status: int, reason: str, message: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason
        self.message = message


def create_app(store: MemoryStore, *, auth: AuthScheme = AuthScheme.NONE, key: str = "") -> Starlette:
    """Return the server as an ASGI application. `key` is what `auth` asks for; Health never asks."""
    if auth is not AuthScheme.NONE and not key:
        raise ValueError(f"the scheme {auth} needs a key")

    async def add(request: Request) -> Response:
        message = await _read(request, AddRequest)
        try:
            await run_in_threadpool(store.add, message)
        except Conflict:
            raise Refusal(409, "conflict", "This request_id was stored with another body.") from None
        echo = {"request_id": message.request_id, "user_id": message.user_id, "session_id": message.session_id}
        return _json({"success": True, **echo})

    async def search(request: Request) -> Response:
        message = await _read(request, SearchRequest)
        return _json({"data": await run_in_threadpool(store.search, message)})

    async def health(request: Request) -> Response:
        return _json({"status": "ok"})

    guard = _guarded(auth, key)
    return Starlette(
        routes=[
            Route("/add", guard(add), methods=["POST"]),
            Route("/search", guard(search), methods=["POST"]),
            Route("/health", health, methods=["GET"]),
        ],
        exception_handlers={Refusal: _refuse, HTTPException: _explain},
    )


def _guarded(auth: AuthScheme, key: str) -> Callable[[Endpoint], Endpoint]:
    """Return a decorator that lets only requests with the right key through."""
    header = auth_header(auth, key)

    def decorate(endpoint: Endpoint) -> Endpoint:
        async def checked(request: Request) -> Response:
            if header is not None:
                name, value = header
                given = request.headers.get(name, "")
                if not secrets.compare_digest(given.encode(), value.encode()):
                    raise Refusal(401, "auth_failed", f"Send the key in the header {name}.")
            return await endpoint(request)

        return checked

    return decorate


async def _read(request: Request, kind: type[Message]) -> Message:
    """Return the message in the body, or refuse with 400, 413 or 422."""
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > MAX_BODY:
            raise Refusal(413, "body_too_large", f"The body is larger than {MAX_BODY} bytes.")
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.ValidationError as error:
        raise Refusal(422, "invalid_request", str(error)) from None
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        raise Refusal(400, "invalid_json", "The body is not one JSON document in UTF-8.") from None


def _json(value: object, status: int = 200) -> Response:
    return Response(msgspec.json.encode(value), status, media_type="application/json")


async def _refuse(request: Request, error: Exception) -> Response:
    assert isinstance(error, Refusal)
    return _json({"detail": {"reason": error.reason, "message": error.message}}, error.status)


async def _explain(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return _json({"detail": {"reason": f"http_{error.status_code}", "message": error.detail}}, error.status_code)
