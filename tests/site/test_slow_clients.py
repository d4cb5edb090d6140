"""Clients that send half a request, or keep a connection and say nothing, stop nobody else."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from io import BytesIO
from typing import Any

import httpx
import pytest
from django.test import Client

from aml.bodies import CROWDED, WAITING_THREADS, with_few_waiting
from aml.processes import Fleet, web_server

HALF = (
    b"POST /api/v1/access-requests HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    b'Content-Length: 1000\r\n\r\n{"a":'
)


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, int]]:
    """The portal's web server, without a database."""
    folder = tmp_path_factory.mktemp("portal")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with Fleet() as fleet:
        web = fleet.start(
            "web server",
            web_server(host="127.0.0.1", port=port, workers=1),
            environment={"AML_VAR_DIR": str(folder), "DEBUG": "on"},
            log=folder / "web.log",
        )
        fleet.wait_until_answers(web, f"http://127.0.0.1:{port}/healthz")
        yield "127.0.0.1", port


def health_s(address: tuple[str, int]) -> float:
    """Seconds that a probe on a connection of its own takes."""
    began = time.monotonic()
    response = httpx.get(f"http://{address[0]}:{address[1]}/healthz", trust_env=False, timeout=30)
    assert response.status_code == 200
    return time.monotonic() - began


def test_half_sent_bodies_leave_threads_for_others(address: tuple[str, int]) -> None:
    with ExitStack() as stack:
        slow = [stack.enter_context(socket.create_connection(address)) for _ in range(40)]
        for each in slow:
            each.sendall(HALF)
        time.sleep(1)
        assert health_s(address) < 5
        refused = httpx.post(f"http://{address[0]}:{address[1]}/api/v1/access-requests", json={"a": 1}, trust_env=False)
    assert (refused.status_code, refused.json()["detail"]["reason"]) == (503, "busy")
    assert refused.headers["Retry-After"]


def test_idle_connections_leave_room_for_others(address: tuple[str, int]) -> None:
    with ExitStack() as stack:
        for _ in range(150):
            idle = stack.enter_context(socket.create_connection(address))
            idle.settimeout(30)
            idle.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            assert idle.recv(4096).startswith(b"HTTP/1.1 200")
        assert health_s(address) < 5


class _Stuck(BytesIO):
    """A body that comes when it is let go."""

    def __init__(self, content: bytes, asked: threading.Semaphore, let_go: threading.Event) -> None:
        super().__init__(content)
        self.asked = asked
        self.let_go = let_go

    def read(self, size: int | None = -1) -> bytes:
        self.asked.release()
        self.let_go.wait(30)
        return super().read(size)


def test_a_thread_is_free_again_behind_its_body() -> None:
    seen: list[dict[str, Any]] = []
    asked, let_go = threading.Semaphore(0), threading.Event()

    def application(environ: dict[str, Any], start_response: Any) -> list[bytes]:
        seen.append({**environ, "body": environ["wsgi.input"].read()})
        return []

    wrapped = with_few_waiting(application)

    def send() -> None:
        wrapped({"CONTENT_LENGTH": "5", "wsgi.input": _Stuck(b"12345", asked, let_go)}, lambda *given: None)

    threads = [threading.Thread(target=send) for _ in range(WAITING_THREADS)]
    for thread in threads:
        thread.start()
    for _ in threads:
        assert asked.acquire(timeout=30)
    send()
    assert [(each.get(CROWDED), each["body"], each["CONTENT_LENGTH"]) for each in seen] == [(True, b"", "0")]
    let_go.set()
    for thread in threads:
        thread.join(30)
    send()
    assert [each["body"] for each in seen[1:]] == [b"12345"] * (WAITING_THREADS + 1)


def test_a_large_body_is_left_to_its_reader(settings: Any) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 4
    stream = BytesIO(b"12345")
    environ = {"CONTENT_LENGTH": "5", "wsgi.input": stream}
    with_few_waiting(lambda environ, start_response: [])(environ, lambda *given: None)
    assert environ["wsgi.input"] is stream


@pytest.mark.parametrize("path", ["/en/evaluation/key/", "/zh-hans/evaluation/key/", "/api/v1/me"])
def test_a_request_without_its_body_is_answered_before_a_view_sees_it(path: str) -> None:
    response = Client().post(path, **{CROWDED: True})  # type: ignore[arg-type]
    assert response.status_code == 503
    assert response.headers["Content-Type"].startswith("application/json" if "api" in path else "text/plain")


@pytest.mark.django_db
def test_a_query_that_no_database_can_look_up_is_refused(admin_client: Client) -> None:
    assert admin_client.get("/en/admin/evaluation/job/?state__exact=a%00b").status_code == 400
    assert Client().get("/zh-hans/leaderboard/?cycle=%00").status_code == 400
