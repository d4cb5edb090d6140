"""The reference memory server over real HTTP: it keeps the contract that it is an example of."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from contract.client import AuthScheme, Client, Target
from contract.guard import GuardPolicy
from contract.messages import AddRequest, ImagePart, ImageUrl, Message, SearchRequest, TextPart, Track, encode
from contract.reference import MemoryStore, create_app
from contract.reference.index import Bm25Index
from contract.reference.tokens import tokenise
from contract.verdicts import Verdict
from tests.contract.peers import running

MAY_8 = 1683554160000  # 2023-05-08 13:56 UTC
PNG = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAC0lEQVR4nGNgQAUAABAAATm9j2UAAAAASUVORK5CYII="
)


@pytest.fixture
def server() -> Iterator[str]:
    store = MemoryStore()
    with running(create_app(store)) as url:
        yield url
    store.close()


def add(url: str, request_id: str, *texts: str, user: str = "u", at: int | None = None) -> httpx.Response:
    messages = [{"role": "user", "content": text} | ({} if at is None else {"timestamp": at}) for text in texts]
    body = {"request_id": request_id, "messages": messages, "user_id": user, "session_id": "s"}
    return httpx.post(f"{url}/add", json=body)


def search(url: str, query: str, *, user: str = "u", top_k: int = 100) -> list[dict[str, Any]]:
    answer = httpx.post(f"{url}/search", json={"query": query, "user_id": user, "top_k": top_k})
    assert answer.status_code == 200, answer.text
    data: list[dict[str, Any]] = answer.json()["data"]
    return data


def call(url: str, request: AddRequest | SearchRequest, *, track: Track = "textual", **target: Any) -> Any:
    """Speak to the server through the platform's own client."""
    address = httpx.URL(url)
    client = Client(GuardPolicy(frozenset({(address.host, address.port or 80)})))
    path = "add" if isinstance(request, AddRequest) else "search"

    async def go() -> Any:
        way = client.add if isinstance(request, AddRequest) else client.search
        return (await way(Target(f"{url}/{path}", **target), encode(request), request, track=track))[0]  # type: ignore[operator]

    return asyncio.run(go())


def test_what_was_added_is_found_at_once_with_its_date_and_a_score(server: str) -> None:
    request = AddRequest("r", (Message("user", "Caroline: I adopted a grey cat", MAY_8),), "u 甲😀", "s")
    assert call(server, request).verdict is Verdict.OK
    outcome = call(server, SearchRequest(query="Which cat did Caroline adopt?", user_id="u 甲😀", top_k=100))
    assert outcome.verdict is Verdict.OK
    assert outcome.flags == ()
    (memory,) = outcome.memories
    assert memory.content == "[2023-05-08 13:56] Caroline: I adopted a grey cat"
    assert memory.created_at == "2023-05-08T13:56:00+00:00"
    assert memory.score > 0


def test_the_best_match_is_first_and_top_k_is_honoured(server: str) -> None:
    add(server, "r", "we went to the sea", "the red bicycle is in the shed", "a bicycle, red as a poppy, red again")
    found = search(server, "red bicycle")
    assert [item["content"] for item in found] == [
        "a bicycle, red as a poppy, red again",
        "the red bicycle is in the shed",
    ]
    assert [item["score"] for item in found] == sorted((item["score"] for item in found), reverse=True)
    assert len(search(server, "red bicycle", top_k=1)) == 1


def test_of_two_equal_matches_the_newer_is_first(server: str) -> None:
    add(server, "r1", "the code is 41", at=MAY_8 + 60_000)
    add(server, "r2", "the code is 17", at=MAY_8)
    assert [item["content"][-2:] for item in search(server, "code")] == ["41", "17"]


def test_chinese_is_searched_by_characters_and_pairs(server: str) -> None:
    add(server, "r", "我昨天在菜市场买了两斤苹果", "下周坐高铁回老家", "单位组织了体检")
    assert search(server, "什么时候坐高铁？")[0]["content"] == "下周坐高铁回老家"
    assert search(server, "苹果")[0]["content"] == "我昨天在菜市场买了两斤苹果"


def test_an_unknown_user_and_a_question_without_a_match_get_an_empty_list(server: str) -> None:
    add(server, "r", "alpha beta")
    assert search(server, "alpha", user="nobody") == []
    assert search(server, "gamma") == []


@pytest.mark.parametrize("other", ["U", "u ", " u", "u\u200b", "u:1", "%75", "u'; --"])
def test_each_user_sees_only_their_own_memories(server: str, other: str) -> None:
    add(server, "r", "the twin secret is amber", user="u")
    add(server, "r", "the twin secret is cobalt", user=other)
    assert [item["content"] for item in search(server, "secret", user="u")] == ["the twin secret is amber"]
    assert [item["content"] for item in search(server, "secret", user=other)] == ["the twin secret is cobalt"]


def test_the_same_request_again_changes_nothing_and_another_body_conflicts(server: str) -> None:
    for _ in range(3):
        assert add(server, "r", "only once").json()["success"] is True
    assert len(search(server, "once")) == 1
    conflict = add(server, "r", "something else")
    assert (conflict.status_code, conflict.json()["detail"]["reason"]) == (409, "conflict")
    assert search(server, "else") == []
    assert add(server, "r", "something else", user="v").status_code == 200


def test_64_parallel_adds_are_all_stored_in_order(server: str) -> None:
    with ThreadPoolExecutor(64) as pool:
        answers = list(pool.map(lambda n: add(server, f"r{n}", f"parallel word{n}"), range(64)))
    assert [answer.status_code for answer in answers] == [200] * 64
    assert len({item["id"] for item in search(server, "parallel")}) == 64


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("add", b"", 400),
        ("add", b"{", 400),
        ("add", b"\xff\xfe", 400),
        ("add", b"[" * 100_000, 422),
        ("add", b'{"x":' + b"[" * 100_000, 400),
        ("add", b"[]", 422),
        ("add", b'{"request_id":"r","messages":[],"user_id":"u","session_id":"s"}', 422),
        ("add", b'{"request_id":"r","messages":[{"role":"tool","content":"x"}],"user_id":"u","session_id":"s"}', 422),
        ("add", b'{"request_id":"r","messages":[{"role":"user","content":""}],"user_id":"u","session_id":"s"}', 422),
        (
            "add",
            b'{"request_id":"r","messages":[{"role":"user","content":"x","timestamp":9e99}],"user_id":"u","session_id":"s"}',
            422,
        ),
        ("add", b'{"request_id":"r","messages":[{"role":"user","content":"x"}],"user_id":7,"session_id":"s"}', 422),
        ("search", b'{"query":"x","user_id":"u"}', 422),
        ("search", b'{"query":"x","user_id":"u","top_k":0}', 422),
        ("search", b'{"query":"x","user_id":"u","top_k":"5"}', 422),
        ("search", b'{"query":null,"user_id":"u","top_k":5}', 422),
        ("nowhere", b"{}", 404),
    ],
)
def test_a_malformed_request_gets_a_clear_4xx(server: str, path: str, body: bytes, status: int) -> None:
    answer = httpx.post(f"{server}/{path}", content=body)
    assert answer.status_code == status
    assert answer.json()["detail"]["reason"]
    assert answer.json()["detail"]["message"]


def test_health_needs_no_key_and_add_takes_only_post(server: str) -> None:
    assert httpx.get(f"{server}/health").json() == {"status": "ok"}
    assert httpx.get(f"{server}/add").status_code == 405


@pytest.mark.parametrize("scheme", [AuthScheme.TOKEN, AuthScheme.BEARER, AuthScheme.X_API_KEY])
def test_each_scheme_lets_the_right_key_in_and_no_other(scheme: AuthScheme) -> None:
    request = SearchRequest(query="x", user_id="u", top_k=1)
    key = "right-key-0123456789"
    with running(create_app(MemoryStore(), auth=scheme, key=key)) as url:
        assert call(url, request, auth=scheme, credential=lambda: key).verdict is Verdict.OK
        wrong = call(url, request, auth=scheme, credential=lambda: key + "x")
        assert (wrong.verdict, wrong.reason.code) == (Verdict.FAIL, "auth_failed")
        assert call(url, request).reason.code == "auth_failed"
        for other in {AuthScheme.TOKEN, AuthScheme.BEARER, AuthScheme.X_API_KEY} - {scheme}:
            assert call(url, request, auth=other, credential=lambda: key).reason.code == "auth_failed"
        assert httpx.get(f"{url}/health").status_code == 200


def test_a_scheme_without_a_key_is_refused_at_the_start() -> None:
    with pytest.raises(ValueError, match="needs a key"):
        create_app(MemoryStore(), auth=AuthScheme.BEARER)


def test_parts_come_back_as_parts_in_their_order(server: str) -> None:
    content = (TextPart("our dog on the beach"), ImagePart(ImageUrl(PNG)))
    request = AddRequest("r", (Message("user", content, MAY_8),), "u", "s")
    assert call(server, request, track="multimodal").verdict is Verdict.OK
    query = (TextPart("dog?"), ImagePart(ImageUrl(PNG)))
    outcome = call(server, SearchRequest(query=query, user_id="u", top_k=5), track="multimodal")
    assert outcome.memories[0].content == (TextPart("[2023-05-08 13:56]"), *content)


def test_an_answered_add_outlives_the_process(tmp_path: Path) -> None:
    database = tmp_path / "memory.sqlite3"
    code = (
        "import sys; from contract.reference import run\n"
        "run('127.0.0.1', int(sys.argv[1]), sys.argv[2], log_level='error')"
    )

    def start(port: int) -> subprocess.Popen[bytes]:
        process = subprocess.Popen([sys.executable, "-c", code, str(port), str(database)])
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            try:
                httpx.get(f"http://127.0.0.1:{port}/health")
            except httpx.TransportError:
                time.sleep(0.05)
            else:
                return process
        process.kill()
        raise AssertionError("the server did not start")

    port = free_port()
    process = start(port)
    add(f"http://127.0.0.1:{port}", "r", "written before the end")
    before = search(f"http://127.0.0.1:{port}", "written")
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    process = start(port)
    try:
        assert search(f"http://127.0.0.1:{port}", "written") == before
        assert add(f"http://127.0.0.1:{port}", "r", "another body").status_code == 409
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0


def free_port() -> int:
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def test_users_beyond_the_cache_are_read_again_from_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("contract.reference.store.MAX_OPEN_USERS", 2)
    store = MemoryStore()
    for number in range(5):
        store.add(AddRequest("r", (Message("user", f"fact {number}"),), f"u{number}", "s"))
    found = [store.search(SearchRequest(query="fact", user_id=f"u{n}", top_k=5))[0].content for n in range(5)]
    assert found == [f"fact {number}" for number in range(5)]


def test_terms_fold_case_and_plurals_and_pair_han_characters() -> None:
    assert tokenise("The Dogs' dog's GLASSES, 3 buses") == ["the", "dog", "dog", "glasse", "3", "buse"]
    assert tokenise("去高铁站ABC") == ["去", "高", "铁", "站", "去高", "高铁", "铁站", "abc"]
    assert tokenise("¡!… ") == []


def test_bm25_agrees_with_its_formula_on_a_small_example() -> None:
    index = Bm25Index()
    for text in ("a b", "a a c", "d"):
        index.add(text, 0)
    # idf(a) = ln(1 + (3 - 2 + .5) / (2 + .5)) = .470004; lengths 2, 3, 1, mean 2
    assert index.search("a", 5) == [(1, 0.566580), (0, 0.470004)]


def test_a_search_over_600_turns_is_quick() -> None:
    store = MemoryStore()
    words = [
        "the",
        "weather",
        "was",
        "fine",
        "when",
        "we",
        "walked",
        "along",
        "the",
        "river",
        "and",
        "talked",
        "about",
        "trains",
        "gardens",
    ]
    for chunk in range(30):
        texts = [" ".join(words[(chunk + n) % 9 :]) + f" name{chunk * 20 + n}" for n in range(20)]
        store.add(AddRequest(f"r{chunk}", tuple(Message("user", text) for text in texts), "u", "s"))
    began = time.process_time()
    for number in range(50):
        query = f"when did name{number} walk along the river and talk about the weather"
        assert f"name{number}" in str(store.search(SearchRequest(query=query, user_id="u", top_k=100))[0].content)
    assert (time.process_time() - began) / 50 < 0.03


def test_an_answer_is_valid_json_of_the_contract_to_the_byte(server: str) -> None:
    add(server, "r", 'quotes " and \\ and \u2028 and 😀')
    raw = httpx.post(f"{server}/search", json={"query": "quotes", "user_id": "u", "top_k": 1})
    assert raw.headers["content-type"] == "application/json"
    assert json.loads(raw.content)["data"][0]["content"] == 'quotes " and \\ and \u2028 and 😀'
