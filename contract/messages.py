"""What the platform sends: Add and Search, and the parts of their content.

The field names and their order are the wire contract. Encoding the same request twice gives the same bytes,
which is what lets a retry send "the same body" and a participant recognise it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import msgspec

from contract.media import DATA_URI_PATTERN, MAX_DATA_URI

__all__ = [
    "AddRequest",
    "Content",
    "ImagePart",
    "ImageUrl",
    "Message",
    "Part",
    "SearchRequest",
    "TextPart",
    "Track",
    "content_text",
    "encode",
]

NonEmpty = Annotated[str, msgspec.Meta(min_length=1)]
# years 1 to 9999, the range that a calendar date can be made of
UnixMs = Annotated[int, msgspec.Meta(ge=-62_135_596_800_000, le=253_402_300_799_999)]


Track = Literal["textual", "multimodal", "coding"]
"""The tracks that speak this contract; the multimodal one alone has parts and images."""


class TextPart(msgspec.Struct, frozen=True, tag_field="type", tag="text"):
    """A piece of text among ordered parts."""

    text: NonEmpty


_DATA_URI = {"pattern": DATA_URI_PATTERN, "maxLength": MAX_DATA_URI}  # for the schema; `contract.media` checks it


class ImageUrl(msgspec.Struct, frozen=True):
    """Holder of an inline image, data:image/(jpeg|png|webp);base64,..."""

    url: Annotated[str, msgspec.Meta(min_length=1, extra_json_schema=_DATA_URI)]


class ImagePart(msgspec.Struct, frozen=True, tag_field="type", tag="image_url"):
    """An image among ordered parts."""

    image_url: ImageUrl


Part = TextPart | ImagePart
Content = NonEmpty | Annotated[tuple[Part, ...], msgspec.Meta(min_length=1)]


class Message(msgspec.Struct, frozen=True, omit_defaults=True):
    """One message of a session. `timestamp` is in Unix milliseconds, absent when the source has none."""

    role: Literal["user", "assistant"]
    content: Content
    timestamp: UnixMs | None = None


class AddRequest(msgspec.Struct, frozen=True):
    """One logical write: the messages of a session, in source order."""

    request_id: NonEmpty
    messages: Annotated[tuple[Message, ...], msgspec.Meta(min_length=1)]
    user_id: NonEmpty
    session_id: NonEmpty


class SearchRequest(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One question to a user's memory. `options` only for choice questions; never the gold answer."""

    query: Content
    options: tuple[str, ...] | None = None
    user_id: NonEmpty
    top_k: Annotated[int, msgspec.Meta(ge=1, le=1000)]


_ENCODER = msgspec.json.Encoder(order=None)


def encode(request: AddRequest | SearchRequest) -> bytes:
    """Return the JSON body of `request`, UTF-8, the same bytes each time; absent optionals are left out.

    Raises `UnicodeEncodeError` for a lone surrogate, which no request may hold.
    """
    return _ENCODER.encode(request)


def content_text(content: str | Sequence[Part]) -> str:
    """Return the text of `content`: a string as it is, the text parts joined by new lines."""
    if isinstance(content, str):
        return content
    return "\n".join(part.text for part in content if isinstance(part, TextPart))
