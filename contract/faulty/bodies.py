"""Faults in the bytes of a body, and in the headers that describe it."""

from __future__ import annotations

from asyncio import StreamWriter

from contract.faulty.faults import Fault, Write
from contract.faulty.visits import JSON_TYPE, serialise
from contract.words import gettext_noop

__all__ = ["BODIES"]


def _under(media_type: str, encoding: str = "utf-8") -> Write:
    """Return a writer of the right body under another media type, and in another encoding."""

    async def write(response: bytes, writer: StreamWriter, argument: str) -> None:
        body = response.partition(b"\r\n\r\n")[2].decode("utf-8").encode(encoding, "replace")
        writer.write(serialise(200, body, ("Content-Type", media_type)))

    return write


async def _web_page(response: bytes, writer: StreamWriter, argument: str) -> None:
    page = b"<!doctype html><title>Log in</title><p>Please log in."
    writer.write(serialise(200, page, ("Content-Type", "text/html; charset=utf-8")))


async def _nothing(response: bytes, writer: StreamWriter, argument: str) -> None:
    writer.write(serialise(200, b"", JSON_TYPE))


def _with_field(field: bytes) -> Write:
    """Return a writer of the right body with one more field at its front."""

    async def write(response: bytes, writer: StreamWriter, argument: str) -> None:
        body = response.partition(b"\r\n\r\n")[2]
        writer.write(serialise(200, b"{" + field + b"," + body[1:], JSON_TYPE))

    return write


BODIES = (
    Fault(
        name="web_page",
        sentence=gettext_noop("Answers with a web page, as a login in front of an API does."),
        write=_web_page,
    ),
    Fault(
        name="plain_text",
        sentence=gettext_noop("Sends the right JSON as text/plain, which is only flagged."),
        write=_under("text/plain"),
    ),
    Fault(
        name="utf_16",
        sentence=gettext_noop("Sends the JSON in UTF-16 and says so."),
        write=_under("application/json; charset=utf-16", "utf-16"),
    ),
    Fault(
        name="latin_1",
        sentence=gettext_noop("Sends a byte that is not UTF-8."),
        write=_with_field(b'"note":"caf\xe9"'),
    ),
    Fault(
        name="bom",
        sentence=gettext_noop("Puts a byte order mark before the JSON."),
        change=lambda body: b"\xef\xbb\xbf" + body,
    ),
    Fault(name="empty_body", sentence=gettext_noop("Answers 200 with nothing in it."), write=_nothing),
    Fault(
        name="trailing_text",
        sentence=gettext_noop("Writes more behind the JSON document."),
        change=lambda body: body + b"\n{}",
    ),
    Fault(
        name="duplicate_key",
        sentence=gettext_noop("Sends an object in which a key stands twice."),
        write=_with_field(b'"note":1,"note":2'),
    ),
    Fault(
        name="not_a_number",
        sentence=gettext_noop("Sends NaN, which is not JSON."),
        write=_with_field(b'"note":NaN'),
    ),
    Fault(
        name="nul_character",
        sentence=gettext_noop("Sends a string with the character U+0000."),
        write=_with_field(b'"note":"a\\u0000b"'),
    ),
    Fault(
        name="lone_surrogate",
        sentence=gettext_noop("Sends half of an emoji."),
        write=_with_field(b'"note":"\\ud83d"'),
    ),
    Fault(
        name="deep_json",
        sentence=gettext_noop("Nests 100,000 arrays."),
        write=_with_field(b'"note":' + b"[" * 100_000 + b"]" * 100_000),
    ),
)
