"""A call takes no more than its caps from the wire, and leaves nothing behind for the next one."""

from __future__ import annotations

import asyncio

import pytest

from contract.answers import SearchOutcome
from contract.client import AuthScheme, CallBudget, Client, Target
from contract.exchange import READ_SIZE
from contract.guard import GuardPolicy
from contract.messages import SearchRequest, encode
from contract.receipts import Receipt
from contract.verdicts import Verdict
from tests.contract.peers import Heard, Peer, Script, http, raw_peer, replies

JSON = ("Content-Type", "application/json")
FOUND = b'{"data":[{"id":"m","content":"in the garden"}]}'
SEARCH = SearchRequest(query="where?", user_id="u", top_k=100)
MIB = 1024 * 1024
CAP = 10 * MIB


async def ask(client: Client, target: Target) -> tuple[SearchOutcome, Receipt]:
    return await client.search(target, encode(SEARCH), SEARCH, track="textual")


def client_of(peer: Peer) -> Client:
    budget = CallBudget(connect_s=2, write_s=2, headers_s=2, body_s=2, total_s=5)
    return Client(GuardPolicy(frozenset({("127.0.0.1", peer.port)})), budget=budget)


def oversized(*, announced: bool) -> Script:
    """Send 32 MiB, with their number before them or in chunks."""
    piece = b" " * MIB

    async def script(heard: Heard, writer: asyncio.StreamWriter) -> None:
        framing = b"Content-Length: 33554432" if announced else b"Transfer-Encoding: chunked"
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n" + framing + b"\r\n\r\n")
        for _ in range(32):
            writer.write(piece if announced else b"100000\r\n" + piece + b"\r\n")
            await writer.drain()
        writer.write(b"" if announced else b"0\r\n\r\n")

    return script


@pytest.mark.parametrize(("announced", "most"), [(True, 2 * READ_SIZE), (False, CAP + 2 * READ_SIZE)])
def test_reading_stops_at_the_cap_of_a_body_and_before_one_that_is_announced(announced: bool, most: int) -> None:
    async def go() -> None:
        async with raw_peer(oversized(announced=announced)) as peer:
            outcome, receipt = await ask(client_of(peer), Target(peer.url("/search")))
            assert (outcome.verdict, receipt.reason_code) == (Verdict.CONTRACT_ERROR, "body_too_large")
            assert receipt.bytes_received <= most

    asyncio.run(go())


def test_a_cookie_that_a_server_sets_is_never_sent_back() -> None:
    cookies = (("Set-Cookie", "session=planted; Path=/"), ("Set-Cookie", "other=1"))

    async def go() -> None:
        async with raw_peer(replies(http("200 OK", FOUND, JSON, *cookies))) as peer:
            client = client_of(peer)
            for _ in range(3):
                outcome, _ = await ask(client, Target(peer.url("/search")))
                assert outcome.verdict is Verdict.OK
            assert len(peer.heard) == 3
            assert all("cookie" not in heard.headers for heard in peer.heard)

    asyncio.run(go())


def test_a_credential_is_sent_to_its_own_target_alone() -> None:
    async def go() -> None:
        async with raw_peer(replies(http("200 OK", FOUND, JSON))) as peer:
            client = client_of(peer)
            await ask(client, Target(peer.url("/search"), AuthScheme.BEARER, lambda: "s3cret-key-0001"))
            await ask(client, Target(peer.url("/search")))
            assert ["authorization" in heard.headers for heard in peer.heard] == [True, False]

    asyncio.run(go())


def test_a_request_of_30_mib_arrives_whole() -> None:
    query = "x" * (30 * MIB)
    request = SearchRequest(query=query, user_id="u", top_k=1)

    async def go() -> None:
        async with raw_peer(replies(http("200 OK", FOUND, JSON))) as peer:
            body = encode(request)
            client = Client(GuardPolicy(frozenset({("127.0.0.1", peer.port)})))
            outcome, receipt = await client.search(Target(peer.url("/")), body, request, track="multimodal")
            assert outcome.verdict is Verdict.OK
            assert peer.heard[0].body == body
            assert receipt.bytes_sent == len(peer.heard[0].head) + len(body)

    asyncio.run(go())
