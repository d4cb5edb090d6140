"""Every transport fault of the case file, over real sockets: the exact verdict and code."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from contract.answers import Outcome
from contract.client import CallBudget, Client, Target
from contract.faulty import FAULTS, FaultyServer
from contract.guard import GuardPolicy
from contract.guard.resolver import ResolutionFailed
from contract.messages import AddRequest, SearchRequest, encode
from contract.receipts import Receipt
from contract.verdicts import Verdict
from tests.contract.cases import MISSING, load

CASES = [case for case in load("contract_cases.json") if case.get("transport_fault")]
BUDGET = CallBudget(connect_s=1, write_s=2, headers_s=1, body_s=3, total_s=5)
HOST = "api.alpha-mem.com"
PLANTED = "planted for the next question"


async def to_loopback(host: str, port: int, *, public: bool = True) -> Sequence[str]:
    if host == HOST:
        return ["127.0.0.1"]
    raise ResolutionFailed(host)


def client_of(server: FaultyServer, host: str) -> Client:
    trust = ssl.create_default_context(cafile=server.authority) if server.authority else None
    policy = GuardPolicy(frozenset({(host, server.port)}))
    return Client(policy, budget=BUDGET, resolve=to_loopback, tls=trust)


async def call(client: Client, base: str, case: dict[str, Any]) -> tuple[Outcome, Receipt]:
    track = case["track"]
    if case["endpoint"] == "add":
        add = msgspec.convert(case["request"], AddRequest)
        return await client.add(Target(f"{base}/add"), encode(add), add, track=track)
    search = msgspec.convert(case["request"], SearchRequest)
    return await client.search(Target(f"{base}/search"), encode(search), search, track=track)


def faced(case: dict[str, Any], *faults: str, host: str = HOST, times: int = 1) -> list[tuple[Outcome, Receipt]]:
    """Make the case's call so many times at a server with these faults."""

    async def go() -> list[tuple[Outcome, Receipt]]:
        async with FaultyServer(*faults, certificate_host=HOST) as server:
            base = server.url.replace("127.0.0.1", host)
            return [await call(client_of(server, host), base, case) for _ in range(times)]

    return asyncio.run(go())


@pytest.mark.skipif(not CASES, reason=MISSING)
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['id']}-{case['transport_fault']}")
def test_a_transport_fault_gets_its_verdict_and_reason(case: dict[str, Any]) -> None:
    fault = case["transport_fault"]
    unresolved = fault == "dns_failure"  # the one fault that no server can have
    faults = () if unresolved else (fault,)
    ((outcome, receipt),) = faced(case, *faults, host="nowhere.alpha-mem.com" if unresolved else HOST)
    assert outcome.verdict == case["verdict"], (case["why"], outcome.reason)
    assert (outcome.reason.code if outcome.reason else "") == case["reason_contains"]
    assert receipt.reason_code == case["reason_contains"]


SEARCH = {"endpoint": "search", "track": "textual", "request": {"query": "where?", "user_id": "u", "top_k": 3}}
MORE = {
    "reset_in_body": (Verdict.RETRY, "truncated_body"),
    "closed_before_response": (Verdict.RETRY, "reset"),
    "chunks_cut_short": (Verdict.RETRY, "truncated_body"),
    "delay:2": (Verdict.RETRY, "read_timeout"),
    "delay_body:4": (Verdict.RETRY, "read_timeout"),
    "drip:0.2": (Verdict.RETRY, "read_timeout"),
    "tiny_chunks": (Verdict.CONTRACT_ERROR, "chunks_too_small"),
    "endless_header": (Verdict.CONTRACT_ERROR, "headers_too_large"),
    "many_headers": (Verdict.CONTRACT_ERROR, "headers_too_large"),
    "huge_body": (Verdict.CONTRACT_ERROR, "body_too_large"),
    "bad_chunk": (Verdict.CONTRACT_ERROR, "invalid_http"),
    "length_too_small": (Verdict.CONTRACT_ERROR, "invalid_json"),
    "two_lengths": (Verdict.CONTRACT_ERROR, "invalid_http"),
    "gzip": (Verdict.CONTRACT_ERROR, "content_encoding"),
    "gzip_bomb": (Verdict.CONTRACT_ERROR, "content_encoding"),
    "tls_expired": (Verdict.FAIL, "tls_certificate"),
    "tls_self_signed": (Verdict.FAIL, "tls_certificate"),
    "redirect:308": (Verdict.CONTRACT_ERROR, "redirect_not_followed"),
    "status:524": (Verdict.FAIL, "http_524"),
    "tls": (Verdict.OK, ""),
    "early_hints": (Verdict.OK, ""),
    "length_and_chunks": (Verdict.OK, ""),
    "delay:0.1": (Verdict.OK, ""),
}


@pytest.mark.parametrize("fault", MORE)
def test_a_further_fault_gets_its_verdict_and_reason(fault: str) -> None:
    ((outcome, _),) = faced(SEARCH, fault)
    assert (outcome.verdict, outcome.reason.code if outcome.reason else "") == MORE[fault]


def test_every_fault_on_the_wire_has_been_faced() -> None:
    wire = {name for name, fault in FAULTS.items() if fault.listen or fault.write}
    faced_here = {name.partition(":")[0] for name in MORE} | {case["transport_fault"] for case in CASES}
    bodies = {"web_page", "plain_text", "utf_16", "latin_1", "empty_body", "duplicate_key", "not_a_number"}
    bodies |= {"nul_character", "lone_surrogate", "deep_json"}  # tests of the check meet these
    if CASES:
        assert wire - faced_here - bodies == set()


def test_a_second_response_never_answers_the_next_question() -> None:
    outcomes = faced(SEARCH, "extra_pipelined_response", times=3)
    assert [outcome.verdict for outcome, _ in outcomes] == [Verdict.OK] * 3
    assert PLANTED not in repr(outcomes)


def test_a_hostile_peer_costs_bounded_time_and_memory() -> None:
    ((_, receipt),) = faced(SEARCH, "gzip_bomb")
    assert receipt.bytes_received < 1 << 20
    ((_, receipt),) = faced(SEARCH, "infinite_chunked")
    assert receipt.bytes_received < 12 << 20
