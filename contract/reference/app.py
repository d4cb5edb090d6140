"""The HTTP side: POST /add, POST /search, GET /health, and GET /add-status/{task_id} when writes are deferred."""

from __future__ import annotations

import math
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import msgspec
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from contract.auth import AuthScheme, auth_header
from contract.messages import AddRequest, SearchRequest
from contract.reference.answers import encode_memories
from contract.reference.requests import Refusal, read_request
from contract.reference.store import Conflict, MemoryStore, Promise

__all__ = ["create_app"]

Endpoint = Callable[[Request], Awaitable[Response]]


def create_app(
    store: MemoryStore, *, auth: AuthScheme = AuthScheme.NONE, key: str = "", deferred_s: float | None = None
) -> Starlette:
    """Return the server as an ASGI application. `key` is what `auth` asks for; Health never asks.

    With `deferred_s` Add answers 202 with a task_id, and the write is stored that many seconds later.
    """
    if auth is not AuthScheme.NONE and not key:
        raise ValueError(f"the scheme {auth} needs a key")
    server, guard = _Server(store, deferred_s), _guarded(auth, key)
    routes = [
        Route("/add", guard(server.add), methods=["POST"]),
        Route("/search", guard(server.search), methods=["POST"]),
        Route("/health", server.health, methods=["GET"]),
    ]
    if deferred_s is not None:
        routes.append(Route("/add-status/{task_id}", guard(server.add_status), methods=["GET"]))
    return Starlette(routes=routes, exception_handlers={Refusal: _refuse, HTTPException: _explain})


@dataclass(frozen=True, slots=True)
class _Server:
    """The four endpoints. The store may wait for the disk, so it is asked in a thread."""

    store: MemoryStore
    deferred_s: float | None

    async def add(self, request: Request) -> Response:
        message = await read_request(request, AddRequest)
        try:
            if self.deferred_s is not None:
                task_id = await run_in_threadpool(self.store.promise, message, self.deferred_s)
                return _json({"task_id": task_id}, 202)
            await run_in_threadpool(self.store.add, message)
        except Conflict:
            raise Refusal(409, "conflict", "Expected the body that was sent under this request_id before.") from None
        return _stored(message)

    async def add_status(self, request: Request) -> Response:
        promise = await run_in_threadpool(self.store.promised, request.path_params["task_id"])
        if promise is None:
            raise Refusal(404, "task_id_unknown", "Expected a task_id that an Add was answered with.")
        if promise.seconds_left:
            wait = {"Retry-After": str(math.ceil(promise.seconds_left))}
            return _json({"status": "working"}, 202, wait)
        return _stored(promise)

    async def search(self, request: Request) -> Response:
        message = await read_request(request, SearchRequest)
        memories = await run_in_threadpool(self.store.search, message)
        return Response(await run_in_threadpool(encode_memories, memories), media_type="application/json")

    async def health(self, request: Request) -> Response:
        return _json({"status": "ok"})


def _guarded(auth: AuthScheme, key: str) -> Callable[[Endpoint], Endpoint]:
    """Return a decorator that lets only requests with the right key through."""
    header = auth_header(auth, key)

    def decorate(endpoint: Endpoint) -> Endpoint:
        async def checked(request: Request) -> Response:
            if header is not None:
                name, value = header
                given = request.headers.get(name, "")
                if not secrets.compare_digest(given.encode(), value.encode()):
                    raise Refusal(401, "auth_failed", f"Expected the key in the header {name}.")
            return await endpoint(request)

        return checked

    return decorate


def _stored(message: AddRequest | Promise) -> Response:
    echo = {"request_id": message.request_id, "user_id": message.user_id, "session_id": message.session_id}
    return _json({"success": True, **echo})


def _json(value: object, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(msgspec.json.encode(value), status, headers, media_type="application/json")


async def _refuse(request: Request, error: Exception) -> Response:
    assert isinstance(error, Refusal)
    return _json({"detail": {"reason": error.reason, "message": error.message}}, error.status)


async def _explain(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return _json({"detail": {"reason": f"http_{error.status_code}", "message": error.detail}}, error.status_code)
