"""The wire contract as the API guide shows it: requests made by the code that sends them, tables asked of the code
that decides. So the page can't say anything else than what happens."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import msgspec
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from aml.statuses import HTTP_STATUSES, verdicts
from contract.client import BROKEN_ANSWERS, RETRIED_FAULTS
from contract.messages import (
    AddRequest,
    ImagePart,
    ImageUrl,
    Message,
    SearchRequest,
    TextPart,
    Track,
    encode,
)
from contract.reasons import REASONS, ReasonText
from contract.reasons.addresses import ADDRESSES
from contract.reasons.bodies import BODIES
from contract.reasons.fields import FIELDS
from contract.reasons.media import MEDIA
from contract.reasons.statuses import STATUSES
from contract.reasons.transport import TRANSPORT
from contract.schemas import Wire, schema
from evaluation.pipeline.baseline import TOP_K

ADD = AddRequest(
    request_id="eval:run_abc123:hearth:conv-0:s1:chunk-0",
    messages=(
        Message(role="user", content="We moved the picnic to Saturday.", timestamp=1704067200000),
        Message(role="assistant", content="Saturday it is. I will bring the blue blanket.", timestamp=1704067260000),
    ),
    user_id="eval:run_abc123:hearth:conv-0",
    session_id="eval:run_abc123:hearth:conv-0:s1",
)
ADD_RESPONSE = {
    "success": True,
    "request_id": ADD.request_id,
    "user_id": ADD.user_id,
    "session_id": ADD.session_id,
}
SEARCH = SearchRequest(query="When is the picnic?", user_id=ADD.user_id, top_k=TOP_K)
CHOICE_SEARCH = SearchRequest(
    query="When is the picnic?", options=("A. Friday", "B. Saturday"), user_id=ADD.user_id, top_k=TOP_K
)
ADD_ACCEPTED = {"task_id": "9f2c41d0a8"}
SEARCH_RESPONSE = {
    "data": [
        {
            "id": "mem_123",
            "content": "[2024-01-01 00:00] We moved the picnic to Saturday.",
            "score": 0.87,
            "created_at": "2024-01-01T00:00:00Z",
        }
    ]
}
# a whole picture of 2 × 2 pixels, so that the samples are ones that a server accepts
_PICTURE_URL = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAC0lEQVR4nGNgQAUAABAAATm9j2UAAAAASUVORK5CYII="
)
_PICTURE = ImagePart(image_url=ImageUrl(url=_PICTURE_URL))
IMAGE_ADD = AddRequest(
    request_id="eval:run_abc123:gallery:album-0:s1:chunk-0",
    messages=(
        Message(role="user", content=(TextPart(text="The blanket, at last."), _PICTURE), timestamp=1704067200000),
    ),
    user_id="eval:run_abc123:gallery:album-0",
    session_id="eval:run_abc123:gallery:album-0:s1",
)
IMAGE_SEARCH = SearchRequest(
    query=(TextPart(text="What colour is the blanket in this picture?"), _PICTURE),
    user_id=IMAGE_ADD.user_id,
    top_k=TOP_K,
)
IMAGE_SEARCH_RESPONSE = {
    "data": [
        {
            "id": "mem_9",
            "content": [
                {"type": "text", "text": "The blanket, at last."},
                {"type": "image_url", "image_url": {"url": _PICTURE_URL}},
            ],
        }
    ]
}


@dataclass(frozen=True, slots=True)
class RetryRow:
    """What follows on one event: a verdict for Add and one for Search. `codes` are the reasons that the event has."""

    event: str | Promise
    add: str
    search: str
    codes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ReasonGroup:
    id: str
    title: str | Promise
    reasons: tuple[ReasonText, ...]


def pretty(message: AddRequest | SearchRequest | Mapping[str, Any]) -> str:
    """A message as indented JSON, with the field names and the order of the wire."""
    document = json.loads(encode(message)) if isinstance(message, msgspec.Struct) else message
    return json.dumps(document, ensure_ascii=False, indent=2)


def schema_tabs(name: Wire) -> list[dict[str, Any]]:
    """The JSON Schema of a message or answer for tabs; that of textual differs from that of coding in its title."""
    tracks: tuple[tuple[Track, object], ...] = (("textual", _("Textual and coding")), ("multimodal", _("Multimodal")))
    return [
        {"language": track, "title": title, "text": json.dumps(schema(name, track, TOP_K), indent=2)}
        for track, title in tracks
    ]


def by_track(textual: object, multimodal: object, *, choice: object = None) -> list[dict[str, Any]]:
    """One message in the formats of the tracks, for tabs."""
    samples = [
        {"language": "textual", "title": _("Textual and coding"), "text": pretty(textual)},  # type: ignore[arg-type]
        {"language": "multimodal", "title": _("Multimodal"), "text": pretty(multimodal)},  # type: ignore[arg-type]
    ]
    if choice is not None:
        extra = {"language": "choice", "title": _("Choice question"), "text": pretty(choice)}  # type: ignore[arg-type]
        samples.insert(1, extra)
    return samples


def retry_rows() -> list[RetryRow]:
    """The retry table, each verdict by the code that gives it at run time."""
    lost = RetryRow(_("no complete answer came"), "retry", "retry", tuple(sorted(RETRIED_FAULTS)))
    statuses = [
        RetryRow(f"HTTP {', '.join(str(status) for status in group)}", add, search)
        for (add, search), group in groupby(HTTP_STATUSES, key=verdicts)
    ]
    broken = RetryRow(_("200 with a body that breaks the contract"), "contract_error", "contract_error")
    garbled = RetryRow(
        _("an answer that is not HTTP or too large"),
        "contract_error",
        "contract_error",
        tuple(sorted(BROKEN_ANSWERS)),
    )
    denied = RetryRow(_("address denied by the network guard, TLS certificate refused"), "fail", "fail")
    return [lost, *statuses, broken, garbled, denied]


def reason_groups() -> list[ReasonGroup]:
    """Every reason code, grouped by where a run meets it."""
    return [
        ReasonGroup("transport", _("On the way"), TRANSPORT),
        ReasonGroup("status", _("Status codes"), STATUSES),
        ReasonGroup("json", _("JSON bodies"), BODIES),
        ReasonGroup("fields", _("Fields of a response"), FIELDS),
        ReasonGroup("media", _("Images and parts"), MEDIA),
        ReasonGroup("address", _("Addresses"), ADDRESSES),
    ]


def reason_count() -> int:
    return len(REASONS)
