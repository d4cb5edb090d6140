"""Inline images: read from a data URI without ever decompressing the picture.

Source: RFC 2397 (data URIs), RFC 4648 (Base64), ISO/IEC 15948 (PNG), ITU-T T.81 (JPEG), RFC 9649 (WebP).
"""

from __future__ import annotations

import re
from binascii import Error as Base64Error
from dataclasses import dataclass

import pybase64

from contract.jsonreader import Broken
from contract.verdicts import excerpt

__all__ = [
    "DATA_URI_PATTERN",
    "MAX_DATA_URI",
    "MAX_IMAGES_BYTES",
    "MAX_IMAGE_BYTES",
    "MAX_IMAGE_SIDE",
    "ImageFacts",
    "data_uri",
    "decoded_size",
    "read_image",
]

MAX_IMAGE_BYTES = 10 * 1024 * 1024
"""Decoded bytes of one image."""
MAX_IMAGES_BYTES = 30 * 1024 * 1024
"""Decoded bytes of all images over one request or one response."""
MAX_IMAGE_SIDE = 16_384
"""Pixels of width or height, as the image's own header states them."""

MAX_DATA_URI = len("data:image/jpeg;base64,") + -(-MAX_IMAGE_BYTES // 3) * 4
"""Characters of the longest data URI."""
DATA_URI_PATTERN = r"^data:image/(jpeg|png|webp);base64,[A-Za-z0-9+/]+={0,2}$"

_MEDIA_TYPES = ("image/jpeg", "image/png", "image/webp")
_REMOTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//")
_BYTES = 3 * 256 * 1024  # bytes coded at a time, so that a picture is never held twice
_CHARACTERS = _BYTES // 3 * 4
_MAX_SEGMENTS = 4096  # of a JPEG before its frame; a picture has dozens, a forged one as many as fit


@dataclass(frozen=True, slots=True)
class ImageFacts:
    """What an image's bytes say. `width` and `height` are pixels, None when the header cannot be read."""

    media_type: str
    size: int
    width: int | None
    height: int | None


def read_image(url: object) -> ImageFacts:
    """Check an `image_url.url` and return what it holds. The picture is never held as a whole beside its text.

    Raises `Broken` with one of image_url_missing, image_remote, image_not_data_uri, image_media_type,
    image_not_base64, image_too_large, image_empty, image_magic, image_dimensions.
    """
    text, media_type, start = _open(url)
    size = decoded_size(text, start)
    if size > MAX_IMAGE_BYTES:
        raise Broken("image_too_large", f"{size} bytes")
    head = _decode(text, start)
    if not head:
        raise Broken("image_empty")
    kind = _kind(head)
    if kind != media_type:
        raise Broken("image_magic", f"{kind or 'unknown bytes'} declared as {media_type}")
    sides = _sides(kind, head)
    if sides is None:
        return ImageFacts(media_type, size, None, None)
    width, height = sides
    if not (0 < width <= MAX_IMAGE_SIDE and 0 < height <= MAX_IMAGE_SIDE):
        raise Broken("image_dimensions", f"{width} × {height}")
    return ImageFacts(media_type, size, width, height)


def decoded_size(url: str, start: int | None = None) -> int:
    """Return the bytes that the Base64 in a data URI decodes to, without decoding it; `start` is where it begins."""
    begins = url.find(",") + 1 if start is None else start
    padding = 2 if url.endswith("==") else 1 if url.endswith("=") else 0
    return max(0, (len(url) - begins) // 4 * 3 - padding)


def data_uri(media_type: str, image: bytes | bytearray | memoryview) -> str:
    """Return `image` as a data URI, in one piece and with one copy of the text at a time beside it."""
    whole = memoryview(image).cast("B")
    parts = [f"data:{media_type};base64,"]
    parts += (pybase64.b64encode_as_string(whole[at : at + _BYTES]) for at in range(0, len(whole), _BYTES))
    return "".join(parts)


def _open(url: object) -> tuple[str, str, int]:
    """Return the URL, its media type, and where its data begins."""
    if not isinstance(url, str) or not url:
        raise Broken("image_url_missing", excerpt(url))
    if not url.startswith("data:"):
        remote = _REMOTE.match(url) and url[:5].lower() != "data:"
        raise Broken("image_remote" if remote else "image_not_data_uri", excerpt(url[:80]))
    comma = url.find(",")
    if comma < 0:
        raise Broken("image_not_data_uri", excerpt(url[:80]))
    media_type, *parameters = url[5:comma].split(";")
    if media_type not in _MEDIA_TYPES:
        raise Broken("image_media_type", excerpt(media_type[:80]))
    if parameters != ["base64"]:
        raise Broken("image_not_base64", excerpt(url[5:85].partition(",")[0]))
    return url, media_type, comma + 1


def _decode(text: str, start: int) -> bytes:
    """Check the whole of the data and return its decoded beginning, up to 768 KiB, where headers stand."""
    end = len(text)
    padded_wrongly = text.find("=", start, end - 2) >= 0 or text[-2:-1] == "=" != text[-1:]
    if (end - start) % 4 or padded_wrongly or not text.isascii():
        raise Broken("image_not_base64", f"{end - start} characters")
    head = b""
    try:
        for at in range(start, end, _CHARACTERS):
            piece = pybase64.b64decode(text[at : at + _CHARACTERS], validate=True)
            head = head or piece
    except (Base64Error, ValueError):
        raise Broken("image_not_base64", f"{end - start} characters") from None
    return head


def _kind(head: bytes) -> str | None:
    if head.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "image/webp"
    return None


def _sides(kind: str | None, head: bytes) -> tuple[int, int] | None:
    """Return width and height as the header states them, None where it cannot be read."""
    if kind == "image/png":
        return _png_sides(head)
    return _jpeg_sides(head) if kind == "image/jpeg" else _webp_sides(head)


def _png_sides(head: bytes) -> tuple[int, int] | None:
    if len(head) < 24 or head[12:16] != b"IHDR":
        return None
    return int.from_bytes(head[16:20], "big"), int.from_bytes(head[20:24], "big")


def _jpeg_sides(head: bytes) -> tuple[int, int] | None:
    """Walk the marker segments to the first start of frame (SOF0 to SOF15 without DHT, JPG and DAC)."""
    at = 2
    for _ in range(_MAX_SEGMENTS):
        if at + 9 > len(head) or head[at] != 0xFF:
            return None
        marker = head[at + 1]
        if marker == 0xFF:  # a fill byte
            at += 1
            continue
        if marker == 0x01 or 0xD0 <= marker <= 0xD8:  # markers that stand alone
            at += 2
            continue
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            return int.from_bytes(head[at + 7 : at + 9], "big"), int.from_bytes(head[at + 5 : at + 7], "big")
        length = int.from_bytes(head[at + 2 : at + 4], "big")
        if length < 2 or marker in (0xD9, 0xDA):  # the end, or the picture itself, before any frame
            return None
        at += 2 + length
    return None


def _webp_sides(head: bytes) -> tuple[int, int] | None:
    chunk, body = head[12:16], head[20:30]
    if len(body) < 10:
        return None
    if chunk == b"VP8X":
        return 1 + int.from_bytes(body[4:7], "little"), 1 + int.from_bytes(body[7:10], "little")
    if chunk == b"VP8L" and body[0] == 0x2F:
        bits = int.from_bytes(body[1:5], "little")
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    if chunk == b"VP8 " and body[3:6] == b"\x9d\x01\x2a":
        return int.from_bytes(body[6:8], "little") & 0x3FFF, int.from_bytes(body[8:10], "little") & 0x3FFF
    return None
