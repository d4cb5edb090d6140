"""Small and large PNG pictures, made without an image library. Source: ISO/IEC 15948 (PNG)."""

from __future__ import annotations

import base64
import struct
import zlib

__all__ = ["data_uri", "picture"]

WIDTH = 512


def picture(size: int = 0, *, colour: tuple[int, int, int] = (200, 60, 40)) -> bytes:
    """Return a valid RGB PNG of one colour: 16 × 16 pixels, or, uncompressed, of about `size` bytes."""
    width, height = (WIDTH, max(1, size // (3 * WIDTH + 1))) if size else (16, 16)
    row = b"\0" + bytes(colour) * width
    data = zlib.compress(row * height, 0 if size else 9)
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", header) + _chunk(b"IDAT", data) + _chunk(b"IEND", b"")


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def data_uri(png: bytes) -> str:
    """Return `png` as the data URI that the contract asks for."""
    return f"data:image/png;base64,{base64.b64encode(png).decode('ascii')}"
