"""A real memory server on loopback, which can be told to fail, and a release to run against it."""

import json
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from contract.auth import AuthScheme
from contract.reference import MemoryStore, create_app
from evaluation.models import Job, Release
from tests.contract.peers import running
from tests.engine.suite import SECRET, make_job, make_version, open_test_release
from tests.engine.talks import write_bundle

Fault = Callable[[str, dict[str, Any], int], tuple[int, bytes] | None]
"""Given the path, the request and how often these very bytes came, a status and a body instead of the real answer."""


class Memory:
    """The reference server behind a wire that hears everything and may answer in its place."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self.url = ""
        self.fault: Fault | None = None
        self.heard: list[tuple[str, bytes]] = []
        self.seen: Counter[tuple[str, bytes]] = Counter()
        self.at_once = Counter[str]()
        self.most_at_once = Counter[str]()
        self.status: Callable[[str], tuple[int, bytes]] | None = None
        self.retry_after = "0"
        self.before: Callable[[str], Awaitable[None]] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        path, body = scope["path"], await _body(receive)
        if self.status and scope["method"] == "GET":
            await _send(send, *self.status(path))
            return
        self.heard.append((path, body))
        self.seen[path, body] += 1
        self.at_once[path] += 1
        self.most_at_once[path] = max(self.most_at_once[path], self.at_once[path])
        try:
            if self.before:
                await self.before(path)
            answer = self.fault(path, json.loads(body), self.seen[path, body]) if self.fault else None
            if answer is None:
                await self._app(scope, _replay(body), send)
            else:
                await _send(send, *answer, retry_after=self.retry_after)
        finally:
            self.at_once[path] -= 1

    def requests(self, path: str) -> list[dict[str, Any]]:
        return [json.loads(body) for heard, body in self.heard if heard == path]


async def _body(receive: Receive) -> bytes:
    body = b""
    while True:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body"):
            return body


def _replay(body: bytes) -> Receive:
    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    return receive


async def _send(send: Send, status: int, body: bytes, *, retry_after: str = "0") -> None:
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    if status in {429, 503}:
        headers.append((b"retry-after", retry_after.encode()))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


@contextmanager
def running_memory() -> Iterator[Memory]:
    store = MemoryStore()
    memory = Memory(create_app(store, auth=AuthScheme.BEARER, key=SECRET))
    with running(memory) as url:
        memory.url = url
        yield memory
    store.close()


@pytest.fixture
def memory(settings: Any) -> Iterator[Memory]:
    with running_memory() as memory:
        settings.AML_ALLOWED_PRIVATE_TARGETS = [urlsplit(memory.url).netloc]
        yield memory


@pytest.fixture
def release(transactional_db: None, tmp_path: Path) -> Release:
    return open_test_release(write_bundle(tmp_path / "talks"))


@pytest.fixture
def job(release: Release, memory: Memory) -> Job:
    return make_job(release, make_version(memory.url))
