"""Reads what a caller sent: a valid message, or a refusal that says what was expected.

Never trust a caller's size, type or shape: each has its own status, and none of them is a 5xx.
"""

from __future__ import annotations

from typing import TypeVar

import msgspec
from starlette.requests import Request

from contract.jsonreader import Broken
from contract.media import MAX_IMAGES_BYTES, read_image
from contract.messages import AddRequest, Content, ImagePart, SearchRequest
from contract.reasons import reason_text

__all__ = ["MAX_BODY", "Refusal", "read_request"]

MAX_BODY = 48 * 1024 * 1024
"""Bytes of a request's body."""

Message = TypeVar("Message", AddRequest, SearchRequest)


class Refusal(Exception):
    """The request cannot be served; becomes ``{"detail": {"reason", "message"}}``. `message` says what was expected."""

    def __init__(self, status: int, reason: str, message: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason
        self.message = message


async def read_request(request: Request, kind: type[Message]) -> Message:
    """Return the message in the body.

    Raises `Refusal` with 400 (no JSON), 413 (too large), 415 (no JSON by its headers) or 422 (not this message).
    """
    _check_headers(request)
    body = await _read_body(request)
    try:
        message = msgspec.json.decode(body, type=kind)
    except msgspec.ValidationError as error:
        raise Refusal(422, "invalid_request", f"Expected an object of type {kind.__name__}: {error}.") from None
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        raise Refusal(400, "invalid_json", "Expected one JSON document in UTF-8.") from None
    _check_images(message)
    return message


def _check_headers(request: Request) -> None:
    media_type = request.headers.get("content-type", "application/json").partition(";")[0].strip().lower()
    if media_type != "application/json":
        raise Refusal(415, "content_type", f"Expected Content-Type: application/json, got {media_type[:80]!r}.")
    coding = request.headers.get("content-encoding", "identity").strip().lower()
    if coding != "identity":
        raise Refusal(415, "content_encoding", f"Expected an uncompressed body, got {coding[:80]!r}.")


async def _read_body(request: Request) -> bytearray:
    """Read at most `MAX_BODY` bytes; a body that announces more is refused before it is read."""
    announced = request.headers.get("content-length", "0")
    body = bytearray()
    if not announced.isdigit() or int(announced) <= MAX_BODY:
        async for piece in request.stream():
            body += piece
            if len(body) > MAX_BODY:
                break
        else:
            return body
    raise Refusal(413, "body_too_large", f"Expected a body of at most {MAX_BODY} bytes.")


def _check_images(message: AddRequest | SearchRequest) -> None:
    """Refuse an image that is none: one bad part fails the request, nothing is dropped."""
    total = 0
    for where, content in _contents(message):
        for at, part in enumerate(() if isinstance(content, str) else content):
            if isinstance(part, ImagePart):
                try:
                    total += read_image(part.image_url.url).size
                except Broken as broken:
                    raise _refused_image(broken, f"{where}[{at}]") from None
    if total > MAX_IMAGES_BYTES:
        raise Refusal(
            413, "images_total_too_large", f"Expected at most {MAX_IMAGES_BYTES} bytes of images, got {total}."
        )


def _contents(message: AddRequest | SearchRequest) -> list[tuple[str, Content]]:
    if isinstance(message, SearchRequest):
        return [("query", message.query)]
    return [(f"messages[{at}].content", each.content) for at, each in enumerate(message.messages)]


def _refused_image(broken: Broken, where: str) -> Refusal:
    reason = broken.reason
    status = 413 if reason.code == "image_too_large" else 422
    return Refusal(status, reason.code, f"{where}: expected {reason_text(reason.code).expected} Got {reason.got}.")
