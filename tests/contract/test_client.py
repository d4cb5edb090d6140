"""The client against real servers on loopback: one attempt, one verdict, one receipt, bounded whatever comes."""

from __future__ import annotations

import asyncio
import gzip
import json
import socket
import time
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from contract.answers import AddOutcome, Outcome, SearchOutcome
from contract.client import AuthScheme, CallBudget, Client, Target
from contract.guard import GuardPolicy
from contract.guard.connect import dial_tcp
from contract.messages import AddRequest, Message, SearchRequest, encode
from contract.receipts import Receipt
from contract.verdicts import Reason, Verdict
from tests.contract.certificates import Authority
from tests.contract.peers import Peer, Script, endless, http, raw_peer, replies, reset, silence

JSON = ("Content-Type", "application/json")
CHUNKED = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
SEARCH = SearchRequest(query="where?", user_id="u", top_k=100)
ADD = AddRequest("r 1", (Message("user", "hello", 1), Message("assistant", "你好")), "u", "s")
FOUND = b'{"data":[{"id":"m","content":"in the garden"}]}'
STORED = json.dumps({"success": True, "request_id": "r 1", "user_id": "u", "session_id": "s"}).encode()
QUICK = CallBudget(connect_s=2, write_s=2, headers_s=0.8, body_s=0.5, total_s=2)
HOST = "api.alpha-mem.com"


class Loopback:
    """Resolves every name to this machine, and counts."""

    def __init__(self, *addresses: str) -> None:
        self.addresses = addresses or ("127.0.0.1",)
        self.asked: list[str] = []

    async def __call__(self, host: str, port: int, *, public: bool = True) -> Sequence[str]:
        self.asked.append(host)
        return self.addresses


def allowing(peer: Peer, host: str = "127.0.0.1") -> GuardPolicy:
    return GuardPolicy(allowed_private_targets=frozenset({(host, peer.port)}))


def search(script: Script, **options: Any) -> tuple[SearchOutcome, Receipt, Peer]:
    """Search once at a peer that follows `script`."""

    async def go() -> tuple[SearchOutcome, Receipt, Peer]:
        async with raw_peer(script) as peer:
            client = Client(allowing(peer), budget=options.get("budget", QUICK))
            target = options.get("target", Target)(peer.url("/search"))
            outcome, receipt = await client.search(target, encode(SEARCH), SEARCH, track="textual")
            return outcome, receipt, peer

    return asyncio.run(go())


def add(script: Script, **options: Any) -> tuple[AddOutcome, Receipt, Peer]:
    async def go() -> tuple[AddOutcome, Receipt, Peer]:
        async with raw_peer(script) as peer:
            client = Client(allowing(peer), budget=QUICK)
            target = Target(peer.url("/add"))
            outcome, receipt = await client.add(target, encode(ADD), ADD, track="textual", **options)
            return outcome, receipt, peer

    return asyncio.run(go())


def code(outcome: Outcome) -> str:
    return outcome.reason.code if outcome.reason else ""


def test_a_good_search_brings_memories_and_a_receipt_with_its_measures() -> None:
    answer = http("200 OK", FOUND, JSON)
    outcome, receipt, peer = search(replies(answer))
    assert outcome.verdict is Verdict.OK
    assert [(memory.id, memory.content) for memory in outcome.memories] == [("m", "in the garden")]
    assert outcome.raw == FOUND
    assert (receipt.kind, receipt.http_status, receipt.verdict, receipt.reason_code) == ("search", 200, "ok", "")
    assert receipt.bytes_received == len(answer)
    assert receipt.bytes_sent == len(peer.heard[0].head) + len(peer.heard[0].body)
    assert receipt.resolved_address == "127.0.0.1"
    assert 0 < receipt.latency_ms < 2000
    assert receipt.started_at.utcoffset() == receipt.ended_at.utcoffset() == timedelta(0)
    assert receipt.started_at <= receipt.ended_at


def test_the_request_on_the_wire_is_the_contract_and_nothing_more() -> None:
    _, _, peer = search(replies(http("200 OK", FOUND, JSON)))
    heard = peer.heard[0]
    assert heard.request_line == "POST /search HTTP/1.1"
    assert heard.body == b'{"query":"where?","user_id":"u","top_k":100}'
    assert heard.headers == {
        "host": f"127.0.0.1:{peer.port}",
        "user-agent": "AgentMemoryLeaderboard/1",
        "accept": "application/json",
        "accept-encoding": "identity",
        "connection": "close",
        "content-type": "application/json",
        "content-length": str(len(heard.body)),
    }


def test_a_good_add_is_ok_and_carries_its_request_id_and_attempt() -> None:
    outcome, receipt, peer = add(replies(http("200 OK", STORED, JSON)), attempt=3)
    assert outcome.verdict is Verdict.OK
    assert (receipt.request_id, receipt.attempt) == ("r 1", 3)
    assert json.loads(peer.heard[0].body)["messages"][1] == {"role": "assistant", "content": "你好"}


@pytest.mark.parametrize(
    ("scheme", "header", "value"),
    [
        (AuthScheme.TOKEN, "authorization", "Token s3cret-key-0001"),
        (AuthScheme.BEARER, "authorization", "Bearer s3cret-key-0001"),
        (AuthScheme.X_API_KEY, "x-api-key", "s3cret-key-0001"),
    ],
)
def test_the_credential_travels_in_the_header_of_its_scheme(scheme: AuthScheme, header: str, value: str) -> None:
    _, _, peer = search(
        replies(http("200 OK", FOUND, JSON)), target=lambda url: Target(url, scheme, lambda: "s3cret-key-0001")
    )
    assert peer.heard[0].headers[header] == value
    assert sum(name in peer.heard[0].headers for name in ("authorization", "x-api-key")) == 1


@pytest.mark.parametrize("secret", ["short", "with space in it", "line\r\nX-Injected: 1", "kéy-kéy-kéy", "x" * 513])
def test_a_credential_that_cannot_stand_in_a_header_is_never_sent(secret: str) -> None:
    outcome, receipt, peer = search(silence, target=lambda url: Target(url, AuthScheme.X_API_KEY, lambda: secret))
    assert (outcome.verdict, code(outcome)) == (Verdict.FAIL, "credential_malformed")
    assert peer.connections == 0
    assert receipt.bytes_sent == 0
    assert secret not in repr(outcome) + repr(receipt)


def test_a_credential_that_cannot_be_read_ends_the_call_without_sending() -> None:
    def unreadable() -> str:
        raise RuntimeError("the secret is s3cret-key-0001")

    outcome, _, peer = search(silence, target=lambda url: Target(url, AuthScheme.BEARER, unreadable))
    assert (outcome.verdict, code(outcome), peer.connections) == (Verdict.FAIL, "credential_unavailable", 0)
    assert "s3cret" not in repr(outcome)


FAULTS: dict[str, tuple[Script, Verdict, str]] = {
    "reset before an answer": (reset, Verdict.RETRY, "reset"),
    "no answer": (silence, Verdict.RETRY, "read_timeout"),
    "garbage": (replies(b"\x16\x03\x01garbage\r\n\r\n"), Verdict.CONTRACT_ERROR, "invalid_http"),
    "101 unasked": (
        replies(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\nraw"),
        Verdict.CONTRACT_ERROR,
        "invalid_http",
    ),
    "two lengths": (
        replies(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}x"),
        Verdict.CONTRACT_ERROR,
        "invalid_http",
    ),
    "bad chunk": (replies(CHUNKED + b"zz\r\n{}\r\n"), Verdict.CONTRACT_ERROR, "invalid_http"),
    "endless 102": (
        endless(b"", b"HTTP/1.1 102 Processing\r\n\r\n" * 50, 0.01),
        Verdict.RETRY,
        "read_timeout",
    ),
    "endless chunks": (
        endless(CHUNKED, b"10000\r\n" + b" " * 65536 + b"\r\n"),
        Verdict.CONTRACT_ERROR,
        "body_too_large",
    ),
    "tiny chunks": (endless(CHUNKED, b"1\r\n \r\n" * 10_000), Verdict.CONTRACT_ERROR, "chunks_too_small"),
    "announced size": (
        replies(http("200 OK", b"{", JSON, length=11 << 20)),
        Verdict.CONTRACT_ERROR,
        "body_too_large",
    ),
    "endless header": (
        endless(b"HTTP/1.1 200 OK\r\n", b"X-A: " + b"a" * 4000 + b"\r\n"),
        Verdict.CONTRACT_ERROR,
        "headers_too_large",
    ),
    "many headers": (
        replies(http("200 OK", b"{}", *((f"X-{n}", "a") for n in range(300)))),
        Verdict.CONTRACT_ERROR,
        "headers_too_large",
    ),
    "gzip": (
        replies(http("200 OK", gzip.compress(FOUND), JSON, ("Content-Encoding", "gzip"))),
        Verdict.CONTRACT_ERROR,
        "content_encoding",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_hostile_server_costs_bounded_time_and_gets_its_own_reason(name: str) -> None:
    script, verdict, reason = FAULTS[name]
    began = time.monotonic()
    outcome, receipt, peer = search(script, budget=CallBudget(2, 2, 1.5, 5, 8))
    assert (outcome.verdict, code(outcome)) == (verdict, reason)
    assert receipt.reason_code == reason
    assert time.monotonic() - began < 7  # the total deadline of 8 s is not what ends it
    assert peer.connections == 1


def test_a_body_cut_short_is_retried() -> None:
    async def cut(heard: object, writer: asyncio.StreamWriter) -> None:
        writer.write(http("200 OK", b'{"da', JSON, length=100))
        await writer.drain()
        writer.close()

    outcome, receipt, _ = search(cut)
    assert (outcome.verdict, code(outcome), receipt.http_status) == (Verdict.RETRY, "truncated_body", 200)


def test_a_body_slower_than_its_deadline_is_a_read_timeout() -> None:
    outcome, receipt, _ = search(endless(CHUNKED, b"1\r\n \r\n", 0.05))
    assert (outcome.verdict, code(outcome)) == (Verdict.RETRY, "read_timeout")
    assert outcome.flags == receipt.flags == ("body_too_slow",)


def test_a_second_response_behind_the_first_never_answers_the_next_call() -> None:
    planted = http("200 OK", b'{"data":[{"id":"x","content":"planted"}]}', JSON)

    async def go() -> list[str]:
        async with raw_peer(replies(http("200 OK", FOUND, JSON) + planted)) as peer:
            client = Client(allowing(peer), budget=QUICK)
            contents = []
            for _ in range(3):
                target = Target(peer.url("/search"))
                outcome, _ = await client.search(target, encode(SEARCH), SEARCH, track="textual")
                contents += [memory.content for memory in outcome.memories]
            assert peer.connections == 3
            return contents

    assert asyncio.run(go()) == ["in the garden"] * 3


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_reported_and_not_followed(status: int) -> None:
    async def go() -> None:
        async with raw_peer(replies(http("200 OK", FOUND, JSON))) as trap:
            answer = http(f"{status} Elsewhere", b"", ("Location", trap.url("/steal")), ("Set-Cookie", "a=b"))
            async with raw_peer(replies(answer)) as peer:
                policy = GuardPolicy(frozenset({("127.0.0.1", peer.port), ("127.0.0.1", trap.port)}))
                target = Target(peer.url("/search"))
                outcome, _ = await Client(policy).search(target, encode(SEARCH), SEARCH, track="textual")
                assert (outcome.verdict, code(outcome)) == (Verdict.CONTRACT_ERROR, "redirect_not_followed")
                assert trap.connections == 0

    asyncio.run(go())


def test_a_status_that_decides_is_not_kept_waiting_by_its_body() -> None:
    head = b"HTTP/1.1 503 Busy\r\nRetry-After: 7\r\nTransfer-Encoding: chunked\r\n\r\n"
    outcome, _, _ = search(endless(head, b"10000\r\n" + b"x" * 65536 + b"\r\n"), budget=CallBudget(2, 2, 2, 1, 10))
    assert (outcome.verdict, code(outcome), outcome.retry_after_s) == (Verdict.RETRY, "http_503", 7.0)
    assert len(outcome.raw) <= 65536


def test_a_refused_port_and_a_name_without_address_are_retried() -> None:
    async def go() -> None:
        async with raw_peer(silence) as peer:
            policy = allowing(peer)
            url = peer.url("/search")
        outcome, receipt = await Client(policy).search(Target(url), encode(SEARCH), SEARCH, track="textual")
        assert (outcome.verdict, code(outcome), receipt.latency_ms) == (Verdict.RETRY, "connect_refused", 0.0)

        async def nothing(host: str, port: int, *, public: bool = True) -> Sequence[str]:
            return []

        client = Client(GuardPolicy(), resolve=nothing)
        outcome, _ = await client.search(Target(f"https://{HOST}/"), encode(SEARCH), SEARCH, track="textual")
        assert (outcome.verdict, code(outcome)) == (Verdict.RETRY, "dns_failure")

    asyncio.run(go())


def test_a_connection_that_hangs_is_a_connect_timeout() -> None:
    async def hang(address: str, port: int) -> Any:
        await asyncio.sleep(3600)

    client_budget = CallBudget(connect_s=0.1)

    async def go() -> None:
        client = Client(GuardPolicy(), budget=client_budget, dial=hang)
        outcome, _ = await client.search(Target("http://8.8.8.8/"), encode(SEARCH), SEARCH, track="textual")
        assert (outcome.verdict, code(outcome)) == (Verdict.RETRY, "connect_timeout")

    asyncio.run(go())


@pytest.mark.parametrize("addresses", [["127.0.0.1"], ["93.184.216.34", "127.0.0.1"], ["::ffff:127.0.0.1"]])
def test_a_public_name_that_resolves_to_this_machine_is_denied_even_at_an_allowed_port(addresses: list[str]) -> None:
    async def go() -> None:
        async with raw_peer(replies(http("200 OK", FOUND, JSON))) as peer:
            client = Client(allowing(peer), resolve=Loopback(*addresses))
            target = Target(peer.url("/search", host="innocent.evil-mem.com"))
            outcome, receipt = await client.search(target, encode(SEARCH), SEARCH, track="textual")
            assert (outcome.verdict, code(outcome)) == (Verdict.FAIL, "address_denied")
            assert outcome.reason is not None
            assert outcome.reason.got == "not_public"
            assert (peer.connections, receipt.resolved_address) == (0, "")

    asyncio.run(go())


def test_a_connection_that_leads_elsewhere_than_the_checked_address_is_dropped() -> None:
    async def go() -> None:
        async with raw_peer(replies(http("200 OK", FOUND, JSON))) as peer:

            async def astray(address: str, port: int) -> socket.socket:
                return await dial_tcp("127.0.0.1", peer.port)

            client = Client(GuardPolicy(), dial=astray)
            outcome, _ = await client.search(Target("http://8.8.8.8/"), encode(SEARCH), SEARCH, track="textual")
            assert outcome.reason == Reason("address_denied", "peer_mismatch")
            assert not peer.heard

    asyncio.run(go())


def test_a_name_with_more_than_16_addresses_is_denied() -> None:
    async def go(count: int) -> str:
        async def refuse(address: str, port: int) -> socket.socket:
            raise ConnectionRefusedError

        addresses = [f"93.184.216.{n}" for n in range(count)]
        client = Client(GuardPolicy(), resolve=Loopback(*addresses), dial=refuse)
        outcome, _ = await client.search(Target(f"https://{HOST}/"), encode(SEARCH), SEARCH, track="textual")
        return f"{code(outcome)} {outcome.reason.got if outcome.reason else ''}".strip()

    assert asyncio.run(go(16)) == "connect_refused"
    assert asyncio.run(go(17)) == "address_denied too_many_addresses"


def test_proxies_of_the_environment_are_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
        monkeypatch.setenv(name.lower(), "http://127.0.0.1:9")
    outcome, _, _ = search(replies(http("200 OK", FOUND, JSON)))
    assert outcome.verdict is Verdict.OK


def test_tls_asks_for_the_name_and_checks_the_certificate_against_it(tmp_path: Path) -> None:
    authority = Authority.create(tmp_path)

    async def go() -> None:
        async with raw_peer(replies(http("200 OK", FOUND, JSON)), tls=authority.serving(HOST)) as peer:
            hosts = frozenset({(HOST, peer.port), ("wrong.gamma-mem.com", peer.port)})
            resolve = Loopback()
            trusting = Client(GuardPolicy(hosts), resolve=resolve, tls=authority.trusting(), budget=QUICK)

            async def ask(client: Client, host: str) -> SearchOutcome:
                url = peer.url("/search", scheme="https", host=host)
                outcome, _ = await client.search(Target(url), encode(SEARCH), SEARCH, track="textual")
                return outcome

            assert (await ask(trusting, HOST)).verdict is Verdict.OK
            assert (peer.heard[0].sni, peer.heard[0].headers["host"]) == (HOST, f"{HOST}:{peer.port}")
            assert resolve.asked == [HOST]
            for outcome in (
                await ask(trusting, "wrong.gamma-mem.com"),
                await ask(Client(GuardPolicy(hosts), resolve=resolve), HOST),
            ):
                assert (outcome.verdict, code(outcome)) == (Verdict.FAIL, "tls_certificate")
            assert len(peer.heard) == 1

    asyncio.run(go())


def test_an_expired_certificate_is_refused_and_a_server_without_tls_is_retried(tmp_path: Path) -> None:
    authority = Authority.create(tmp_path)
    expired = authority.serving(HOST, ends=timedelta(days=-1))

    async def ask(peer: Peer) -> SearchOutcome:
        client = Client(allowing(peer, HOST), resolve=Loopback(), tls=authority.trusting(), budget=QUICK)
        url = peer.url("/search", scheme="https", host=HOST)
        return (await client.search(Target(url), encode(SEARCH), SEARCH, track="textual"))[0]

    async def go() -> None:
        async with raw_peer(replies(http("200 OK", FOUND, JSON)), tls=expired) as peer:
            outcome = await ask(peer)
            assert (outcome.verdict, code(outcome)) == (Verdict.FAIL, "tls_certificate")
        async with raw_peer(replies(http("200 OK", FOUND, JSON))) as peer:
            outcome = await ask(peer)
            assert outcome.verdict is Verdict.RETRY

    asyncio.run(go())


def test_a_cancelled_call_closes_its_connection() -> None:
    async def go() -> None:
        closed = asyncio.Event()

        async def wait(heard: object, writer: asyncio.StreamWriter) -> None:
            reader = writer._reader if hasattr(writer, "_reader") else None
            assert reader is not None
            await reader.read()
            closed.set()

        async with raw_peer(wait) as peer:
            client = Client(allowing(peer))
            call = asyncio.create_task(client.search(Target(peer.url()), encode(SEARCH), SEARCH, track="textual"))
            while not peer.heard:
                await asyncio.sleep(0.01)
            call.cancel()
            with pytest.raises(asyncio.CancelledError) as raised:
                await call
            await asyncio.wait_for(closed.wait(), 2)
            assert raised.tb  # its frames hold the connection, so that no garbage collection closes it

    asyncio.run(go())


def test_an_accepted_add_is_pending_and_its_status_is_asked_with_the_same_credential() -> None:
    async def script(heard: Any, writer: asyncio.StreamWriter) -> None:
        if heard.request_line.startswith("POST"):
            writer.write(http("202 Accepted", b'{"task_id":"t:1"}', JSON, ("Retry-After", "3")))
        elif len(peer.heard) == 2:
            writer.write(http("202 Accepted"))
        else:
            writer.write(http("200 OK", STORED, JSON))

    async def go() -> None:
        nonlocal peer
        async with raw_peer(script) as peer:
            client = Client(allowing(peer), budget=QUICK)
            secret = ("bearer", lambda: "s3cret-key-0001")
            target = Target(peer.url("/add"), AuthScheme(secret[0]), secret[1])
            outcome, _ = await client.add(target, encode(ADD), ADD, track="textual", add_status_bound=True)
            assert (outcome.verdict, outcome.task_id, outcome.retry_after_s) == (Verdict.PENDING, "t:1", 3.0)
            status = Target(peer.url("/status/{task_id}?full=1"), AuthScheme(secret[0]), secret[1])
            outcome, receipt = await client.add_status(status, "t:1", ADD, track="textual")
            assert (outcome.verdict, receipt.kind) == (Verdict.PENDING, "add_status")
            outcome, _ = await client.add_status(status, "t:1", ADD, track="textual")
            assert outcome.verdict is Verdict.OK
            assert peer.heard[1].request_line == "GET /status/t%3A1?full=1 HTTP/1.1"
            assert peer.heard[1].headers["authorization"] == "Bearer s3cret-key-0001"

    peer: Any = None
    asyncio.run(go())


@pytest.mark.parametrize(
    ("status", "verdict"), [("200 OK", "ok"), ("204 No Content", "ok"), ("503 Busy", "fail"), ("302 Found", "fail")]
)
def test_health_is_any_2xx_without_a_credential(status: str, verdict: str) -> None:
    async def go() -> None:
        async with raw_peer(
            replies(f"HTTP/1.1 {status}\r\n\r\n".encode() if "204" in status else http(status))
        ) as peer:
            outcome, receipt = await Client(allowing(peer), budget=QUICK).health(peer.url("/health"))
            assert (outcome.verdict, receipt.kind) == (verdict, "health")
            assert peer.heard[0].request_line == "GET /health HTTP/1.1"
            assert "authorization" not in peer.heard[0].headers

    asyncio.run(go())


def test_latency_leaves_out_the_connection() -> None:
    async def slow(host: str, port: int, *, public: bool = True) -> Sequence[str]:
        await asyncio.sleep(0.5)
        return ["127.0.0.1"]

    async def go() -> None:
        async with raw_peer(replies(http("200 OK", FOUND, JSON))) as peer:
            client = Client(allowing(peer, HOST), resolve=slow)
            target = Target(peer.url("/search", host=HOST))
            _, receipt = await client.search(target, encode(SEARCH), SEARCH, track="textual")
            assert receipt.latency_ms < 400 < (receipt.ended_at - receipt.started_at) / timedelta(milliseconds=1)

    asyncio.run(go())
