"""The reference server on the rest of the contract: pictures, deferred writes, limits, refusals that say what to do."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner

from aml.command import app as command
from contract.answers import MAX_BODY_BYTES, AddOutcome, read_search
from contract.client import AuthScheme, Client, Target
from contract.guard import GuardPolicy
from contract.media import MAX_IMAGES_BYTES, data_uri
from contract.messages import AddRequest, ImagePart, ImageUrl, Message, SearchRequest, TextPart, encode
from contract.reasons import REASONS
from contract.reference import Conflict, MemoryStore, create_app
from contract.reference.answers import encode_memories
from contract.verdicts import Verdict
from tests.contract.peers import running

JSON = {"content-type": "application/json"}
MIB = 1024 * 1024
HEADS = {
    "image/jpeg": bytes.fromhex("ffd8ffc00011080400030003"),
    "image/png": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\2\0\0\0\2",
    "image/webp": b"RIFF\0\0\0\0WEBPVP8X\n\0\0\0\0\0\0\0\1\0\0\1\0\0",
}


def picture(name: str, size: int = 64, media_type: str = "image/png") -> ImagePart:
    image = (HEADS[media_type] + name.encode()).ljust(size, b"\0")
    return ImagePart(ImageUrl(data_uri(media_type, image)))


def added(request_id: str, *contents: Any, user: str = "u", at: int | None = None) -> AddRequest:
    return AddRequest(request_id, tuple(Message("user", content, at) for content in contents), user, "s")


def asked(query: Any, *, user: str = "u", top_k: int = 100) -> SearchRequest:
    return SearchRequest(query=query, user_id=user, top_k=top_k)


def contents(store: MemoryStore, query: Any, **options: Any) -> list[Any]:
    return [memory.content for memory in store.search(asked(query, **options))]


@pytest.fixture
def server() -> Iterator[str]:
    with running(create_app(MemoryStore())) as url:
        yield url


@pytest.fixture
def store() -> Iterator[MemoryStore]:
    store = MemoryStore()
    yield store
    store.close()


CAT, DOG = picture("cat"), picture("dog", media_type="image/webp")


def test_a_picture_is_found_by_the_words_beside_it(store: MemoryStore) -> None:
    store.add(added("r", (TextPart("our cat on the roof"), CAT), (TextPart("a dog at the sea"), DOG), "a plain turn"))
    assert contents(store, "cat") == [(TextPart("our cat on the roof"), CAT)]
    assert contents(store, (TextPart("which dog?"), CAT)) == [(TextPart("a dog at the sea"), DOG)]


def test_a_question_that_is_a_picture_gets_the_same_picture_then_others_then_text_newest_first(
    store: MemoryStore,
) -> None:
    store.add(added("r1", (CAT,), at=1000))
    store.add(added("r2", (DOG, TextPart("two friends")), "only words", at=2000))
    store.add(added("r3", (picture("house"),), at=3000))
    found = store.search(asked((CAT,)))
    without_dates = [
        [part for part in memory.content if part != TextPart("[1970-01-01 00:00]")]
        if isinstance(memory.content, tuple)
        else memory.content
        for memory in found
    ]
    assert without_dates == [
        [CAT],
        [picture("house")],
        [DOG, TextPart("two friends")],
        "[1970-01-01 00:00] only words",
    ]
    assert [memory.score for memory in found] == [1.0, 0.5, 0.5, 0.0]
    assert len(store.search(asked((CAT,), top_k=2))) == 2
    assert store.search(asked((CAT,), user="somebody else")) == []


@pytest.mark.parametrize("media_type", HEADS)
def test_every_format_goes_in_and_comes_out_unchanged(server: str, media_type: str) -> None:
    image = picture("x", 3000, media_type)
    httpx.post(f"{server}/add", content=encode(added("r", (TextPart("a picture"), image))), headers=JSON)
    request = asked("picture")
    answer = httpx.post(f"{server}/search", content=encode(request), headers=JSON)
    outcome = read_search(answer.status_code, answer.headers, answer.content, request=request, track="multimodal")
    assert (outcome.verdict, outcome.flags) == (Verdict.OK, ())
    assert outcome.memories[0].content == (TextPart("a picture"), image)


def test_pictures_are_the_same_after_a_restart(tmp_path: Path) -> None:
    first = MemoryStore(tmp_path / "memory.sqlite3")
    first.add(added("r", (CAT,), (DOG,)))
    before = first.search(asked((DOG,)))
    first.close()
    second = MemoryStore(tmp_path / "memory.sqlite3")
    assert second.search(asked((DOG,))) == before
    second.close()


REFUSED: dict[str, tuple[Any, dict[str, str], int, str]] = {
    "another media type": (b"{}", {"content-type": "text/plain"}, 415, "content_type"),
    "a form, as curl sends by itself": (
        b"{}",
        {"content-type": "application/x-www-form-urlencoded"},
        415,
        "content_type",
    ),
    "a compressed body": (b"{}", JSON | {"content-encoding": "gzip"}, 415, "content_encoding"),
    "no JSON": (b"{", JSON, 400, "invalid_json"),
    "no UTF-8": (b'{"request_id":"\xff"}', JSON, 400, "invalid_json"),
    "a missing field": (b"{}", JSON, 422, "invalid_request"),
    "a remote picture": (ImagePart(ImageUrl("https://example.com/cat.png")), JSON, 422, "image_remote"),
    "a picture of another format": (
        ImagePart(ImageUrl(data_uri("image/png", HEADS["image/webp"]))),
        JSON,
        422,
        "image_magic",
    ),
    "a GIF": (ImagePart(ImageUrl("data:image/gif;base64,R0lGODlhAQABAAAAACw=")), JSON, 422, "image_media_type"),
    "no Base64": (ImagePart(ImageUrl("data:image/png;base64,iVBOR@@@")), JSON, 422, "image_not_base64"),
    "a picture over 10 MiB": (picture("big", 10 * MIB + 1), JSON, 413, "image_too_large"),
    "pictures over 30 MiB": (tuple(picture(str(at), 8 * MIB) for at in range(4)), JSON, 413, "images_total_too_large"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_has_its_own_status_and_says_what_was_expected(server: str, name: str) -> None:
    sent, headers, status, reason = REFUSED[name]
    if not isinstance(sent, bytes):
        sent = encode(added("r", sent if isinstance(sent, tuple) else (sent,)))
    answer = httpx.post(f"{server}/add", content=sent, headers=headers, timeout=30)
    detail = answer.json()["detail"]
    assert (answer.status_code, detail["reason"]) == (status, reason)
    assert "xpected" in detail["message"]
    if reason in REASONS and reason.startswith("image") and status == 422:
        assert detail["message"].startswith("messages[0].content[0]: ")
        assert REASONS[reason].expected in detail["message"]
    assert httpx.post(f"{server}/search", content=encode(asked("x")), headers=JSON).json() == {"data": []}


def test_a_body_that_announces_too_much_is_refused_before_it_is_read(server: str) -> None:
    url = httpx.URL(server)

    async def go() -> bytes:
        reader, writer = await asyncio.open_connection(url.host, url.port)
        head = f"POST /add HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {49 * MIB}\r\n\r\n"
        writer.write(head.encode() + b"{")
        answer = await asyncio.wait_for(reader.readuntil(b"}}"), 5)
        writer.close()
        return answer

    answer = asyncio.run(go())
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert b'"body_too_large"' in answer


def test_a_body_that_grows_past_the_limit_is_refused(server: str) -> None:
    answer = httpx.post(f"{server}/add", content=(b" " * MIB for _ in range(49)), headers=JSON, timeout=30)
    assert (answer.status_code, answer.json()["detail"]["reason"]) == (413, "body_too_large")


def test_an_answer_ends_before_it_would_pass_a_limit(store: MemoryStore) -> None:
    for at in range(5):
        store.add(added(f"r{at}", (TextPart(f"picture {at}"), picture(str(at), 9 * MIB))))
    body = encode_memories(store.search(asked("picture")))
    outcome = read_search(200, JSON, body, request=asked("picture"), track="multimodal")
    assert (outcome.verdict, len(outcome.memories)) == (Verdict.OK, MAX_IMAGES_BYTES // (9 * MIB))
    for at in range(4):
        store.add(added(f"t{at}", f"long {'x' * (3 * MIB)}"))
    body = encode_memories(store.search(asked("long")))
    assert len(body) <= MAX_BODY_BYTES["textual"]
    outcome = read_search(200, JSON, body, request=asked("long"), track="textual")
    assert (outcome.verdict, len(outcome.memories)) == (Verdict.OK, 3)


class Clock:
    now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def test_a_promise_is_kept_when_it_is_due_and_not_before(tmp_path: Path) -> None:
    clock = Clock()
    store = MemoryStore(tmp_path / "memory.sqlite3", clock=clock)
    task_id = store.promise(added("r", "the code is 41"), 10)
    assert store.promise(added("r", "the code is 41"), 10) == task_id
    promise = store.promised(task_id)
    assert promise is not None
    assert (promise.request_id, promise.user_id, promise.session_id, promise.seconds_left) == ("r", "u", "s", 10)
    assert contents(store, "code") == []
    clock.now += 9
    assert contents(store, "code") == []
    store.close()
    restarted = MemoryStore(tmp_path / "memory.sqlite3", clock=clock)
    clock.now += 1
    promise = restarted.promised(task_id)
    assert promise is not None
    assert promise.seconds_left == 0
    assert contents(restarted, "code") == ["the code is 41"]
    assert restarted.promise(added("r", "the code is 41"), 10) == task_id
    assert contents(restarted, "code") == ["the code is 41"]
    with pytest.raises(Conflict):
        restarted.promise(added("r", "another body"), 10)
    assert restarted.promised("unknown") is None
    restarted.close()


def test_promises_are_kept_in_the_order_in_which_they_came(store: MemoryStore) -> None:
    for at in range(5):
        store.promise(added(f"r{at}", f"code {at}"), 0)
    assert contents(store, "code") == [f"code {at}" for at in (4, 3, 2, 1, 0)]


def test_a_server_without_deferral_keeps_what_one_with_it_promised(tmp_path: Path) -> None:
    store = MemoryStore(tmp_path / "memory.sqlite3")
    store.promise(added("r", "the code is 41"), 3600)
    store.add(added("r", "the code is 41"))
    assert contents(store, "code") == ["the code is 41"]
    store.close()


def test_the_platform_s_own_client_follows_a_deferred_write_to_its_end() -> None:
    key = "right-key-0123456789"
    clock = Clock()
    request = added("r 1", "deferred words")
    app = create_app(MemoryStore(clock=clock), auth=AuthScheme.X_API_KEY, key=key, deferred_s=30)

    async def go(url: str) -> tuple[AddOutcome, ...]:
        address = httpx.URL(url)
        client = Client(GuardPolicy(frozenset({(address.host, address.port or 80)})))

        def target(path: str, secret: str = key) -> Target:
            return Target(f"{url}{path}", AuthScheme.X_API_KEY, lambda: secret)

        body = encode(request)
        accepted, _ = await client.add(target("/add"), body, request, track="textual", add_status_bound=True)
        status = target("/add-status/{task_id}")
        assert accepted.task_id
        working, _ = await client.add_status(status, accepted.task_id, request, track="textual")
        wrong, _ = await client.add_status(
            target("/add-status/{task_id}", key + "x"), accepted.task_id, request, track="textual"
        )
        clock.now += 30
        stored, _ = await client.add_status(status, accepted.task_id, request, track="textual")
        unknown, _ = await client.add_status(status, "nobody", request, track="textual")
        unbound, _ = await client.add(target("/add"), body, request, track="textual")
        return accepted, working, wrong, stored, unknown, unbound

    with running(app) as url:
        accepted, working, wrong, stored, unknown, unbound = asyncio.run(go(url))
    assert accepted.verdict is Verdict.PENDING
    assert (working.verdict, working.retry_after_s) == (Verdict.PENDING, 30.0)
    assert stored.verdict is Verdict.OK
    codes = [outcome.reason.code for outcome in (wrong, unknown, unbound) if outcome.reason]
    assert codes == ["auth_failed", "not_found", "status_202_unbound"]


def test_another_body_under_a_promised_id_conflicts() -> None:
    with running(create_app(MemoryStore(), deferred_s=5)) as url:
        first = httpx.post(f"{url}/add", content=encode(added("r", "one")), headers=JSON)
        again = httpx.post(f"{url}/add", content=encode(added("r", "one")), headers=JSON)
        other = httpx.post(f"{url}/add", content=encode(added("r", "two")), headers=JSON)
    assert (first.status_code, again.status_code, first.json()) == (202, 202, again.json())
    assert (other.status_code, other.json()["detail"]["reason"]) == (409, "conflict")


def test_without_deferral_there_is_no_add_status(server: str) -> None:
    assert httpx.get(f"{server}/add-status/x").status_code == 404


def test_64_parallel_adds_of_pictures_and_their_repetitions_are_stored_once(server: str) -> None:
    def add(number: int) -> int:
        request = added(f"r{number % 64}", (TextPart(f"parallel word{number % 64}"), picture(f"{number % 64}", 20_000)))
        return client.post(f"{server}/add", content=encode(request), headers=JSON).status_code

    limits = httpx.Limits(max_connections=64)
    with httpx.Client(limits=limits, timeout=60) as client, ThreadPoolExecutor(64) as pool:
        assert list(pool.map(add, range(128))) == [200] * 128
    answer = httpx.post(f"{server}/search", content=encode(asked("parallel")), headers=JSON, timeout=60)
    assert len({item["id"] for item in json.loads(answer.content)["data"]}) == len(answer.json()["data"]) == 64


def test_the_command_offers_deferral() -> None:
    shown = CliRunner().invoke(command, ["serve", "--help"], env={"COLUMNS": "200"})
    assert "--deferred" in shown.output
    refused = CliRunner().invoke(command, ["serve", "--deferred", "-1"])
    assert refused.exit_code == 2
