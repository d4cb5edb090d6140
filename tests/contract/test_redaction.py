"""A server that returns the credential finds it nowhere afterwards."""

from __future__ import annotations

import asyncio
import base64
import json
import logging
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contract.client import AuthScheme, Client, Target
from contract.guard import GuardPolicy
from contract.messages import SearchRequest, encode
from contract.redaction import RedactingFilter, Redactor, live_secret, redact
from contract.verdicts import Verdict
from tests.contract.peers import Heard, http, raw_peer

SECRET = 'k3y/with+odd"chars=0123456789'
SEARCH = SearchRequest(query="q", user_id="u", top_k=100)
JSON = ("Content-Type", "application/json")


def leaks(text: str) -> bool:
    forms = (SECRET, json.dumps(SECRET)[1:-1], quote(SECRET, safe=""), base64.b64encode(SECRET.encode()).decode())
    return any(form in text or form in json.dumps(text) for form in forms)


def escaped(text: str) -> str:
    return "".join(f"\\u{ord(c):04X}" for c in text)


def memory(content: str) -> bytes:
    return b'{"data":[{"id":"m","content":"' + content.encode() + b'"}]}'


ECHOES = {
    "plain": lambda: http("200 OK", json.dumps({"data": [{"id": SECRET, "content": SECRET}]}).encode(), JSON),
    "base64 of the header": lambda: http(
        "200 OK", memory(base64.b64encode(f"Authorization: Bearer {SECRET}".encode()).decode()), JSON
    ),
    "url": lambda: http("200 OK", memory(quote(SECRET, safe="")), JSON),
    "hex": lambda: http("200 OK", memory(SECRET.encode().hex()), JSON),
    "unicode escapes": lambda: http("200 OK", memory(escaped(SECRET)), JSON),
    "half escaped": lambda: http("200 OK", memory(escaped(SECRET[:9]) + json.dumps(SECRET[9:])[1:-1]), JSON),
    "error body": lambda: http("500 Oops", f"Bearer {SECRET} is wrong".encode()),
    "location": lambda: http("302 Found", b"", ("Location", f"https://x.example.com/?k={SECRET}")),
    "content type": lambda: http("200 OK", b"no", ("Content-Type", SECRET)),
    "broken json": lambda: http("200 OK", f'{{"data": {SECRET}'.encode(), JSON),
    "status line": lambda: f"HTTP/1.1 2OO {SECRET}\r\n\r\n".encode(),
    "wrong type": lambda: http("200 OK", json.dumps({"data": SECRET}).encode(), JSON),
    "key": lambda: http("200 OK", json.dumps({SECRET: 1, "data": [{SECRET: 1}]}).encode(), JSON),
}


@pytest.mark.parametrize("how", ECHOES)
def test_an_echoed_credential_appears_in_no_outcome_receipt_or_log(how: str, caplog: pytest.LogCaptureFixture) -> None:
    async def script(heard: Heard, writer: asyncio.StreamWriter) -> None:
        writer.write(ECHOES[how]())

    async def go() -> tuple[Any, Any]:
        async with raw_peer(script) as peer:
            client = Client(GuardPolicy(frozenset({("127.0.0.1", peer.port)})))
            target = Target(peer.url("/search"), AuthScheme.BEARER, lambda: SECRET)
            assert SECRET not in repr(target)
            found = await client.search(target, encode(SEARCH), SEARCH, track="textual")
            assert SECRET in peer.heard[0].headers["authorization"]
            return found

    with caplog.at_level(logging.DEBUG):
        outcome, receipt = asyncio.run(go())
    assert not leaks(repr(outcome))
    assert not leaks(outcome.raw.decode("utf-8", "replace"))
    assert not leaks(repr(receipt))
    assert not leaks(caplog.text)
    if how in ("plain", "base64 of the header", "unicode escapes", "half escaped", "url", "hex"):
        assert outcome.verdict is Verdict.OK
        assert "***" in outcome.memories[0].content


@given(st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E), min_size=8, max_size=60), st.binary(max_size=5))
def test_base64_gives_the_secret_away_at_no_offset(secret: str, before: bytes) -> None:
    data = base64.b64encode(before + secret.encode() + b"tail")
    cleaned = Redactor(secret).data(data)
    assert cleaned != data
    try:
        decoded = base64.b64decode(cleaned.replace(b"***", b""), validate=False)
    except ValueError:
        return
    assert secret.encode() not in decoded


def test_a_text_that_merely_resembles_a_short_key_is_left_alone() -> None:
    assert Redactor("abc").text("abc abc") == "abc abc"
    assert Redactor(None).data(b"x") == b"x"


@pytest.mark.parametrize(
    "text",
    [
        "key aml_live_abcdefgh0123456789 refused",
        "key aml_test_abcdefgh0123456789 refused",
        "Authorization: Bearer abcdefgh.0123456789",
        "authorization: token abcdefgh0123456789",
        "X-Api-Key: abcdefgh0123456789",
        "model key sk-proj-abcdefgh0123456789",
    ],
)
def test_what_looks_like_a_key_is_masked_in_logs(text: str) -> None:
    assert "0123456789" not in redact(text)
    assert "***" in redact(text)


def test_the_log_filter_cleans_messages_arguments_and_tracebacks() -> None:
    lines: list[str] = []

    class Keep(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(self.format(record))

    logger, handler = logging.getLogger("tests.redaction"), Keep()
    handler.addFilter(RedactingFilter())
    logger.addHandler(handler)
    try:
        with live_secret(SECRET):
            try:
                raise ValueError(f"Illegal header value {SECRET}")
            except ValueError:
                logger.exception("call failed with %s", SECRET)
        logger.error("wrong number of arguments %s %s", "one")
    finally:
        logger.removeHandler(handler)
    assert "call failed with ***" in lines[0]
    assert "ValueError: Illegal header value ***" in lines[0]
    assert not any(leaks(line) for line in lines)
    assert "wrong number of arguments" in lines[1]
