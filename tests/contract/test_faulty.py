"""The misbehaving server: faults by name, for an endpoint, with an argument, and in turn."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest

from contract.auth import AuthScheme
from contract.faulty import FAULTS, FaultError, FaultyServer, choose, choose_all
from tests.contract.cases import ROOT

ADD = {"request_id": "r", "messages": [{"role": "user", "content": "a grey cat"}], "user_id": "u", "session_id": "s"}
SEARCH = {"query": "cat", "user_id": "u", "top_k": 5}


@asynccontextmanager
async def caller(*faults: str, **options: object) -> AsyncIterator[httpx.AsyncClient]:
    async with (
        FaultyServer(*faults, **options) as server,  # type: ignore[arg-type]
        httpx.AsyncClient(base_url=server.url, timeout=5, trust_env=False) as client,
    ):
        yield client


def statuses(*faults: str, calls: list[tuple[str, dict[str, object]]]) -> list[int | str]:
    """Return what a plain client sees of calls in a row: a status, or the name of an error."""

    async def go() -> list[int | str]:
        seen: list[int | str] = []
        async with caller(*faults) as client:
            for path, body in calls:
                try:
                    seen.append((await client.post(path, json=body)).status_code)
                except httpx.HTTPError as error:
                    seen.append(type(error).__name__)
        return seen

    return asyncio.run(go())


def test_without_a_fault_it_stores_finds_and_keeps_a_connection_open() -> None:
    async def go() -> None:
        async with FaultyServer() as server, httpx.AsyncClient(base_url=server.url, trust_env=False) as client:
            assert (await client.get("/health")).status_code == 200
            assert (await client.post("/add", json=ADD)).json()["success"] is True
            assert (await client.post("/search", json=SEARCH)).json()["data"][0]["content"] == "a grey cat"
            assert (await client.post("/elsewhere", json=SEARCH)).status_code == 404
            assert (await client.get("/add")).status_code == 405
            assert server.connections == 1

    asyncio.run(go())


def test_it_asks_for_the_key_that_it_was_given() -> None:
    async def go() -> list[int]:
        async with caller(auth=AuthScheme.BEARER, key="s3cret-key-0001") as client:
            headers = [{}, {"Authorization": "Bearer wrong-key-00"}, {"Authorization": "Bearer s3cret-key-0001"}]
            answers = [(await client.post("/add", json=ADD, headers=one)).status_code for one in headers]
            return [*answers, (await client.get("/health")).status_code]

    assert asyncio.run(go()) == [401, 401, 200, 200]


def test_statuses_come_in_turn_for_each_request_anew_and_the_last_one_stays() -> None:
    other = ADD | {"request_id": "r2"}
    calls = [("/add", ADD), ("/add", other), ("/add", ADD), ("/add", ADD), ("/add", ADD), ("/add", other)]
    assert statuses("status:503,429,200", calls=calls) == [503, 503, 429, 200, 200, 429]
    assert statuses("status:503", calls=[("/add", ADD)] * 5) == [503] * 5


def test_a_fault_on_the_wire_can_be_a_step() -> None:
    seen = statuses("status:reset_before_response,503,ok", calls=[("/search", SEARCH)] * 4)
    assert seen[1:] == [503, 200, 200]
    assert seen[0] in ("ReadError", "RemoteProtocolError")


def test_a_fault_may_be_for_one_endpoint_only_and_faults_add_up() -> None:
    calls = [("/add", ADD), ("/search", SEARCH)]
    assert statuses("status@search:500", calls=calls) == [200, 500]
    assert statuses("status@add:418", "status@search:500", calls=calls) == [418, 500]


def test_retry_after_is_sent_once_for_each_request() -> None:
    async def go() -> None:
        async with caller("retry_after:7") as client:
            first, second = [await client.post("/add", json=ADD) for _ in range(2)]
            assert (first.status_code, first.headers["retry-after"], second.status_code) == (429, "7", 200)

    asyncio.run(go())


def test_a_late_answer_is_late_by_the_argument() -> None:
    began = time.monotonic()
    assert statuses("delay@add:0.3", calls=[("/add", ADD)]) == [200]
    assert 0.3 <= time.monotonic() - began < 3


def test_a_large_body_that_waits_for_a_word_is_taken() -> None:
    async def go() -> bytes:
        async with FaultyServer() as server:
            body = json.dumps(ADD).encode()
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            writer.write(f"POST /add HTTP/1.1\r\nContent-Length: {len(body)}\r\nExpect: 100-continue\r\n\r\n".encode())
            word = await reader.readuntil(b"\r\n\r\n")
            writer.write(body)
            answer = await reader.readuntil(b"}")
            writer.close()
            return word + answer

    assert asyncio.run(go()).startswith(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n")


def test_the_end_of_the_server_ends_what_it_was_writing() -> None:
    async def go() -> float:
        async with FaultyServer("infinite_chunked", "no_response@search") as server:
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            writer.write(b"POST /add HTTP/1.1\r\nContent-Length: 0\r\n\r\n")
            await reader.readexactly(100_000)
            began = time.monotonic()
        writer.close()
        assert not server.folder.exists()
        return time.monotonic() - began

    assert asyncio.run(go()) < 3


@pytest.mark.parametrize(
    ("choice", "said"),
    [
        ("nonsense", "there is no fault 'nonsense'; --fault list shows them all"),
        ("delay:soon", "delay:soon: expected delay:SECONDS, got 'soon', which is no number"),
        ("body_limit:-1", "body_limit:-1: expected body_limit:BYTES"),
        ("bom:3", "this fault takes nothing behind a colon"),
        ("delay@nowhere:1", "expected one of add, search, health, add-status behind the @"),
        ("leaks_neighbours:moon", "expected leaks_neighbours:case|number|space, got 'moon'"),
        ("status:200,oops!", "expected status:STEP[,STEP...], got 'oops!'"),
        ("status:99", "got the status 99"),
        ("status:leaks_users", "the name of a fault on the wire, got 'leaks_users'"),
    ],
)
def test_a_choice_that_cannot_be_is_explained(choice: str, said: str) -> None:
    with pytest.raises(FaultError) as raised:
        choose(choice)
    assert said in str(raised.value)


def test_a_server_listens_in_one_way_only() -> None:
    with pytest.raises(FaultError, match="one way only"):
        choose_all(["tls_expired", "connect_refused"])


@pytest.mark.parametrize("name", FAULTS)
def test_every_fault_can_be_chosen_as_it_stands_and_says_what_it_does(name: str) -> None:
    fault = choose(name)
    assert fault.sentence.endswith(".")
    assert any((fault.before, fault.after, fault.change, fault.write, fault.listen))
    assert bool(fault.takes) == bool(fault.argument)


def agentmem(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "aml.command", *arguments]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_the_command_lists_every_fault() -> None:
    shown = subprocess.run(agentmem("serve", "--fault", "list"), cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert shown.returncode == 0
    assert set(FAULTS) <= {line.split(":")[0].split(" ")[0] for line in shown.stdout.splitlines()}


@pytest.mark.parametrize("arguments", [["--fault", "nonsense"], ["--fault", "bom", "--database", "x.sqlite3"]])
def test_the_command_refuses_what_does_not_go_together(arguments: list[str]) -> None:
    refused = subprocess.run(agentmem("serve", *arguments), cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert refused.returncode == 2
    assert "--fault" in refused.stderr


def test_the_command_serves_a_fault_until_it_is_told_to_stop(tmp_path: Path) -> None:
    port = free_port()
    command = agentmem("serve", "--port", str(port), "--fault", "status:503,200", "--fault", "tls")
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, env=None) as served:
        try:
            assert served.stdout is not None
            lines = [served.stdout.readline() for _ in range(3)]
            assert f"https://127.0.0.1:{port}" in lines[0]
            authority = lines[1].strip().rpartition(" ")[2]
            with httpx.Client(verify=ssl.create_default_context(cafile=authority), trust_env=False) as client:
                url = f"https://127.0.0.1:{port}/add"
                assert [client.post(url, json=ADD).status_code for _ in range(2)] == [503, 200]
        finally:
            served.send_signal(signal.SIGTERM)
        assert served.wait(10) == 0
    assert not Path(authority).exists()


def test_the_command_says_when_the_port_is_taken() -> None:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        port = str(holder.getsockname()[1])
        command = agentmem("serve", "--port", port, "--fault", "bom")
        ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 1
    assert port in ended.stderr
    assert "Traceback" not in ended.stderr
