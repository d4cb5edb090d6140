"""Reads the memories in a Search answer: one bad item fails the whole answer, nothing is dropped or cut."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Any

import msgspec

from contract.jsonreader import Broken, has_nul, read_object
from contract.media import MAX_IMAGES_BYTES, read_image
from contract.messages import ImagePart, ImageUrl, Part, TextPart, Track
from contract.verdicts import excerpt

__all__ = ["MAX_CREATED_AT", "MAX_ID", "Memory", "read_memories"]

Found = tuple[tuple["Memory", ...], tuple[str, ...]]
"""Memories in the order of the answer, and flags."""


MAX_ID = 512
"""Characters of a memory's id."""
MAX_CREATED_AT = 64
"""Characters of `created_at` when it is a string."""


_NOT_BLANK = {"pattern": r"\S"}  # for the schema; the reader asks for white space more quickly than a pattern would


class Memory(msgspec.Struct, frozen=True):
    """One memory as it came. `content` is a string, or parts on the multimodal track; `created_at` is kept as
    given (a date in any form, or a number)."""

    id: Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_ID, extra_json_schema=_NOT_BLANK)]
    content: (
        Annotated[str, msgspec.Meta(min_length=1, extra_json_schema=_NOT_BLANK)]
        | Annotated[tuple[Part, ...], msgspec.Meta(min_length=1)]
    )
    score: float | None = None
    created_at: Annotated[str, msgspec.Meta(max_length=MAX_CREATED_AT)] | int | float | None = None


class _Answer(msgspec.Struct):
    data: tuple[Memory, ...]


_DECODER = msgspec.json.Decoder(_Answer)


def read_memories(body: bytes, *, top_k: int, track: Track) -> Found:
    """Return the memories in the body of a Search answer, and flags (duplicate_id, score_not_descending,
    image_header_unreadable).

    Raises `Broken` with a code of `read_object`, or one of data_missing, data_type, too_many_items, item_type,
    id_*, content_*, part_*, image_*, images_total_too_large, score_type, created_at_type.
    """
    memories = _read_at_once(body, top_k)
    if memories is not None:
        return memories, _flags(memories)
    return _read_one_by_one(read_object(body), top_k, track)


def _read_at_once(body: bytes, top_k: int) -> tuple[Memory, ...] | None:
    """Return the memories of a body that holds text alone, nothing else and nothing wrong; None for any other."""
    try:
        memories = _DECODER.decode(body).data
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return None
    if len(memories) > top_k or has_nul(body):
        return None
    for memory in memories:
        content = memory.content
        if content.__class__ is not str or content.isspace() or memory.id.isspace():
            return None
    return memories if _count_strings(body) == _expected_strings(memories) else None


def _count_strings(body: bytes) -> int:
    """Return how many strings, keys included, stand in a JSON document; -1 where that takes more than counting."""
    if b"\\" not in body:
        return body.count(b'"') // 2
    if b"\\\\" in body:  # an escaped backslash before a quotation mark would be taken for an escaped mark
        return -1
    return (body.count(b'"') - body.count(b'\\"')) // 2


def _expected_strings(memories: tuple[Memory, ...]) -> int:
    """Return how many strings these memories are written with. A body with more of them holds a key twice, or one
    that the decoder passed over."""
    times = [memory.created_at for memory in memories if memory.created_at is not None]
    scores = [1 for memory in memories if memory.score is not None]
    texts = [1 for time in times if time.__class__ is str]
    return 1 + 4 * len(memories) + len(scores) + len(times) + len(texts)


def _read_one_by_one(document: dict[str, Any], top_k: int, track: Track) -> Found:
    """Read an answer with parts in it, or name the first rule that it breaks."""
    if "data" not in document:
        raise Broken("data_missing", excerpt(document), "data")
    data = document["data"]
    if not isinstance(data, list):
        raise Broken("data_type", excerpt(data), "data")
    if len(data) > top_k:
        raise Broken("too_many_items", str(len(data)), "data")
    images = _Images(track)
    memories = []
    for at, item in enumerate(data):
        try:
            memories.append(_read_item(item, images))
        except Broken as broken:
            reason = broken.reason
            raise Broken(reason.code, reason.got, f"data[{at}]{reason.where}") from None
    unreadable = ("image_header_unreadable",) if images.unreadable else ()
    return tuple(memories), _flags(memories) + unreadable


class _Images:
    """The track's rule on parts, and what the images of one answer add up to."""

    def __init__(self, track: Track) -> None:
        self.allowed = track == "multimodal"
        self.total = 0
        self.unreadable = False

    def take(self, url: object) -> None:
        facts = read_image(url)
        self.total += facts.size
        self.unreadable = self.unreadable or facts.width is None


def _read_item(item: object, images: _Images) -> Memory:
    if not isinstance(item, dict):
        raise Broken("item_type", excerpt(item))
    identity = _read_id(item)
    if "content" not in item:
        raise Broken("content_missing", excerpt(item), ".content")
    content = item["content"]
    if not isinstance(content, str):
        content = _read_parts(content, images)
    elif not content or content.isspace():
        raise Broken("content_empty", excerpt(content), ".content")
    return Memory(identity, content, _read_score(item.get("score")), _read_created_at(item.get("created_at")))


def _read_id(item: dict[str, Any]) -> str:
    if "id" not in item:
        raise Broken("id_missing", excerpt(item), ".id")
    identity = item["id"]
    if not isinstance(identity, str):
        raise Broken("id_type", excerpt(identity), ".id")
    if not identity or identity.isspace():
        raise Broken("id_empty", excerpt(identity), ".id")
    if len(identity) > MAX_ID:
        raise Broken("id_too_long", f"{len(identity)} characters", ".id")
    return identity


def _read_parts(content: object, images: _Images) -> tuple[Part, ...]:
    if not images.allowed or not isinstance(content, list):
        raise Broken("content_shape", excerpt(content), ".content")
    if not content:
        raise Broken("content_empty", "[]", ".content")
    parts = []
    for at, part in enumerate(content):
        try:
            parts.append(_read_part(part, images))
        except Broken as broken:
            reason = broken.reason
            raise Broken(reason.code, reason.got, f".content[{at}]{reason.where}") from None
    if images.total > MAX_IMAGES_BYTES:
        raise Broken("images_total_too_large", f"{images.total} bytes", ".content")
    return tuple(parts)


def _read_part(part: object, images: _Images) -> Part:
    if not isinstance(part, dict):
        raise Broken("part_shape", excerpt(part))
    kind = part.get("type")
    if kind == "text":
        text = part.get("text")
        if not isinstance(text, str):
            raise Broken("part_text_missing", excerpt(text), ".text")
        if not text or text.isspace():
            raise Broken("part_text_empty", excerpt(text), ".text")
        return TextPart(text)
    if kind != "image_url":
        raise Broken("part_type", excerpt(kind), ".type")
    holder = part.get("image_url")
    if not isinstance(holder, dict):
        raise Broken("part_image_shape", excerpt(holder), ".image_url")
    url = holder.get("url")
    try:
        images.take(url)
    except Broken as broken:
        raise Broken(broken.reason.code, broken.reason.got, ".image_url.url") from None
    assert isinstance(url, str)  # read_image has refused everything else
    return ImagePart(ImageUrl(url))


def _read_score(score: object) -> float | None:
    if score is None:
        return None
    if isinstance(score, bool) or not isinstance(score, int | float):
        raise Broken("score_type", excerpt(score), ".score")
    try:
        number = float(score)
    except OverflowError:  # an integer beyond the range of a double
        raise Broken("non_finite_number", excerpt(score), ".score") from None
    if not math.isfinite(number):
        raise Broken("non_finite_number", excerpt(number), ".score")
    return number


def _read_created_at(value: Any) -> str | int | float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise Broken("created_at_type", excerpt(value), ".created_at")
    if isinstance(value, str) and len(value) > MAX_CREATED_AT:
        raise Broken("created_at_type", f"{len(value)} characters", ".created_at")
    return value


def _flags(memories: Sequence[Memory]) -> tuple[str, ...]:
    flags: tuple[str, ...] = ()
    if len({memory.id for memory in memories}) < len(memories):
        flags += ("duplicate_id",)
    scores = [memory.score for memory in memories if memory.score is not None]
    if scores != sorted(scores, reverse=True):
        flags += ("score_not_descending",)
    return flags
