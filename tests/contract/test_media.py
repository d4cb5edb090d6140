"""Images: sizes and forms from the text, sides from the header, nothing decompressed and little copied."""

from __future__ import annotations

import base64
import struct
import time
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contract.jsonreader import Broken
from contract.media import MAX_DATA_URI, MAX_IMAGE_BYTES, MAX_IMAGE_SIDE, data_uri, decoded_size, read_image

MIB = 1024 * 1024
sides = st.tuples(st.integers(1, MAX_IMAGE_SIDE), st.integers(1, MAX_IMAGE_SIDE))


def png(width: int, height: int) -> bytes:
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", width, height) + b"\x08\x02\0\0\0"


def jpeg(width: int, height: int, *, marker: int = 0xC0, before: bytes = b"") -> bytes:
    return b"\xff\xd8" + before + struct.pack(">BBHBHHB", 0xFF, marker, 17, 8, height, width, 3) + bytes(10)


def segment(marker: int, data: bytes) -> bytes:
    return struct.pack(">BBH", 0xFF, marker, len(data) + 2) + data


def webp(chunk: bytes, data: bytes) -> bytes:
    body = b"WEBP" + chunk + struct.pack("<I", len(data)) + data
    return b"RIFF" + struct.pack("<I", len(body)) + body


def vp8(width: int, height: int) -> bytes:
    """Lossy: a key frame's tag, its start code, then 14 bits of each side and 2 of its scale."""
    return webp(b"VP8 ", b"\x10\0\0\x9d\x01\x2a" + struct.pack("<HH", width | 0x4000, height | 0x8000))


def vp8l(width: int, height: int) -> bytes:
    """Lossless: a signature, then 14 bits of each side less one."""
    return webp(b"VP8L", b"\x2f" + struct.pack("<I", (width - 1) | (height - 1) << 14 | 1 << 28) + bytes(5))


def vp8x(width: int, height: int) -> bytes:
    """Extended: flags, then 24 bits of each side less one."""
    return webp(b"VP8X", b"\x10\0\0\0" + (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little"))


MAKERS = {
    "png": ("image/png", png),
    "jpeg": ("image/jpeg", jpeg),
    "vp8": ("image/webp", vp8),
    "vp8l": ("image/webp", vp8l),
    "vp8x": ("image/webp", vp8x),
}


def code(url: object) -> str:
    with pytest.raises(Broken) as raised:
        read_image(url)
    return raised.value.reason.code


@pytest.mark.parametrize("name", MAKERS)
@given(size=sides, rest=st.binary(max_size=50))
def test_the_sides_are_those_that_the_header_states(name: str, size: tuple[int, int], rest: bytes) -> None:
    media_type, make = MAKERS[name]
    width, height = (min(side, 16_383) for side in size) if name == "vp8" else size
    image = make(width, height) + rest
    facts = read_image(data_uri(media_type, image))
    assert (facts.media_type, facts.size, facts.width, facts.height) == (media_type, len(image), width, height)


WRONG_SIDES = [(0, 5), (5, 0), (16_385, 5), (5, 16_385), (65_535, 65_535)]


@pytest.mark.parametrize(
    ("name", "width", "height"),
    # VP8X states a side less one, so that it has no way to say 0
    [(name, *pair) for name in ("png", "jpeg", "vp8x") for pair in WRONG_SIDES if name != "vp8x" or 0 not in pair],
)
def test_a_picture_without_a_side_or_with_too_long_a_one_is_refused(name: str, width: int, height: int) -> None:
    media_type, make = MAKERS[name]
    assert code(data_uri(media_type, make(width, height))) == "image_dimensions"


@pytest.mark.parametrize("marker", [0xC0, 0xC1, 0xC2, 0xC9, 0xCF])
def test_a_jpeg_states_its_sides_behind_its_other_segments(marker: int) -> None:
    before = (
        segment(0xE0, b"JFIF\0")
        + segment(0xE1, bytes(60_000))
        + b"\xff"
        + segment(0xC4, bytes(30))
        + b"\xff\xd0"
        + segment(0xDB, bytes(64))
    )
    facts = read_image(data_uri("image/jpeg", jpeg(640, 480, marker=marker, before=before)))
    assert (facts.width, facts.height) == (640, 480)


UNREADABLE = {
    "a PNG without IHDR": ("image/png", b"\x89PNG\r\n\x1a\n" + bytes(30)),
    "a PNG cut short": ("image/png", png(2, 2)[:20]),
    "a JPEG that ends before its frame": ("image/jpeg", b"\xff\xd8\xff\xd9" + bytes(20)),
    "a JPEG with a segment that leads outside": ("image/jpeg", b"\xff\xd8" + segment(0xE1, b"")[:2] + b"\xff\xff\0\0"),
    "a JPEG with a segment of no length": ("image/jpeg", b"\xff\xd8\xff\xe1\0\0" + bytes(20)),
    "a WebP of an unknown kind": ("image/webp", webp(b"ABCD", bytes(20))),
    "a WebP cut short": ("image/webp", vp8x(5, 5)[:24]),
    "a VP8 that is no key frame": ("image/webp", webp(b"VP8 ", bytes(10))),
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_a_header_that_cannot_be_read_is_told_and_not_refused(name: str) -> None:
    media_type, image = UNREADABLE[name]
    facts = read_image(data_uri(media_type, image))
    assert (facts.width, facts.height, facts.size) == (None, None, len(image))


def test_a_jpeg_forged_to_be_walked_for_ever_costs_little() -> None:
    for filler in (b"\xff", b"\xff\xe1\0\x02", b"\xff\xd0"):
        image = b"\xff\xd8\xff" + (filler * (9 * MIB // len(filler)))
        began = time.process_time()
        assert read_image(data_uri("image/jpeg", image)).width is None
        assert time.process_time() - began < 0.5


@given(st.binary(max_size=400))
def test_a_data_uri_is_what_the_standard_library_makes_and_its_size_is_known_without_decoding(image: bytes) -> None:
    url = data_uri("image/png", image)
    assert url == "data:image/png;base64," + base64.b64encode(image).decode()
    assert decoded_size(url) == len(image)


def test_a_data_uri_longer_than_a_piece_is_the_same() -> None:
    image = bytes(range(256)) * 8192 + b"x"
    assert data_uri("image/png", memoryview(image)) == "data:image/png;base64," + base64.b64encode(image).decode()


@given(st.binary(min_size=1, max_size=40), st.data())
def test_base64_is_taken_to_the_letter(image: bytes, data: st.DataObject) -> None:
    good = base64.b64encode(png(1, 1) + image).decode()
    at = data.draw(st.integers(0, len(good)))
    for bad in (
        good[:at] + data.draw(st.sampled_from(["\n", " ", "-", "_", "=", "%3D", "é", "\0"])) + good[at:],
        good.rstrip("=") + "=" * (good.count("=") + 1),
        good[:at] + "****" + good[at:],
        good[:-1],
    ):
        assert code(f"data:image/png;base64,{bad}") == "image_not_base64"


def test_the_largest_picture_is_read_and_one_byte_more_is_not() -> None:
    largest = data_uri("image/png", png(9, 9).ljust(MAX_IMAGE_BYTES, b"\0"))
    assert len(largest) <= MAX_DATA_URI
    assert read_image(largest).size == MAX_IMAGE_BYTES
    assert code(data_uri("image/png", png(9, 9).ljust(MAX_IMAGE_BYTES + 1, b"\0"))) == "image_too_large"


def test_reading_a_picture_of_10_mib_takes_a_fraction_of_it_in_memory() -> None:
    url = data_uri("image/png", png(9, 9).ljust(MAX_IMAGE_BYTES, b"\0"))
    tracemalloc.start()
    read_image(url)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < MAX_IMAGE_BYTES / 2


def test_making_a_data_uri_of_10_mib_takes_two_copies_of_the_text_at_most() -> None:
    image = bytes(MAX_IMAGE_BYTES)
    tracemalloc.start()
    url = data_uri("image/png", image)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2.1 * len(url)
