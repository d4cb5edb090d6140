"""Faults in what an answer says: the fields of Add and Search."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from contract.faulty.faults import After, Fault
from contract.faulty.visits import Answer, Visit
from contract.messages import SearchRequest
from contract.words import gettext_noop

__all__ = ["DOCUMENTS"]

IDS = ("request_id", "user_id", "session_id")
ADD, SEARCH = ("add",), ("search",)
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAC0lEQVR4nGNgQAUAABAAATm9j2UAAAAASUVORK5CYII="


def _fields(change: Callable[[dict[str, Any]], dict[str, Any]]) -> After:
    """Return an `after` that changes the document of a success."""

    def after(visit: Visit, answer: Answer, argument: str) -> Answer:
        if answer.status != 200 or not isinstance(answer.document, dict):
            return answer
        return replace(answer, document=change(dict(answer.document)))

    return after


def _echo(change: Callable[[str], object]) -> After:
    return _fields(lambda document: document | {name: change(document[name]) for name in IDS if name in document})


def _without(name: str) -> After:
    return _fields(lambda document: {key: value for key, value in document.items() if key != name})


def _items(change: Callable[[list[dict[str, Any]]], object]) -> After:
    """Return an `after` that changes the list of memories."""
    return _fields(lambda document: document | {"data": change(document["data"])})


def _each(**fields: object) -> After:
    return _items(lambda items: [item | fields for item in items])


def _each_without(name: str) -> After:
    return _items(lambda items: [{key: value for key, value in item.items() if key != name} for item in items])


def _swapped(document: dict[str, Any]) -> dict[str, Any]:
    return document | {"user_id": document["session_id"], "session_id": document["user_id"]}


def _not_a_list(visit: Visit, answer: Answer, argument: str) -> Answer:
    document = answer.document
    return replace(answer, document=document["data"]) if isinstance(document, dict) and "data" in document else answer


def _padded(visit: Visit, answer: Answer, argument: str) -> Answer:
    if not isinstance(visit.sent, SearchRequest):
        return answer
    count = visit.sent.top_k + 1
    more = [{"id": f"more-{n}", "content": "one more"} for n in range(count)]
    return _items(lambda items: [*items, *more][:count])(visit, answer, argument)


def _rising(items: list[dict[str, Any]]) -> object:
    return [item | {"score": float(rank)} for rank, item in enumerate(items)]


def _image(url: str) -> After:
    return _each(content=[{"type": "image_url", "image_url": {"url": url}}])


DOCUMENTS = (
    Fault(
        name="success_in_quotes",
        sentence=gettext_noop('Says "true" instead of true.'),
        on=ADD,
        after=_fields(lambda document: document | {"success": "true"}),
    ),
    Fault(
        name="success_false",
        sentence=gettext_noop("Says success: false under status 200."),
        on=ADD,
        after=_fields(lambda document: document | {"success": False}),
    ),
    Fault(
        name="echo_missing",
        sentence=gettext_noop("Leaves session_id out of the answer to Add."),
        on=ADD,
        after=_without("session_id"),
    ),
    Fault(name="echo_number", sentence=gettext_noop("Returns the ids as numbers."), on=ADD, after=_echo(len)),
    Fault(
        name="echo_lowercase",
        sentence=gettext_noop("Returns the ids in lower case."),
        on=ADD,
        after=_echo(str.lower),
    ),
    Fault(
        name="echo_squeezed",
        sentence=gettext_noop("Returns the ids with each run of spaces as one."),
        on=ADD,
        after=_echo(lambda value: " ".join(value.split())),
    ),
    Fault(
        name="echo_ascii",
        sentence=gettext_noop("Returns a question mark for each character beyond ASCII."),
        on=ADD,
        after=_echo(lambda value: value.encode("ascii", "replace").decode()),
    ),
    Fault(
        name="echo_normalised",
        sentence=gettext_noop("Returns the ids in Unicode's composed form."),
        on=ADD,
        after=_echo(lambda value: unicodedata.normalize("NFC", value)),
    ),
    Fault(
        name="echo_without_emoji",
        sentence=gettext_noop("Returns the ids without characters beyond U+FFFF."),
        on=ADD,
        after=_echo(lambda value: "".join(c for c in value if ord(c) < 0x10000)),
    ),
    Fault(
        name="echo_swapped",
        sentence=gettext_noop("Returns user_id and session_id in each other's place."),
        on=ADD,
        after=_fields(_swapped),
    ),
    Fault(
        name="data_missing",
        sentence=gettext_noop("Returns the memories under the name results."),
        on=SEARCH,
        after=_fields(lambda document: {"results": document["data"]}),
    ),
    Fault(
        name="data_object",
        sentence=gettext_noop("Returns data as an object."),
        on=SEARCH,
        after=_items(lambda items: {"items": items}),
    ),
    Fault(
        name="list_at_top",
        sentence=gettext_noop("Returns an array instead of an object."),
        on=SEARCH,
        after=_not_a_list,
    ),
    Fault(
        name="over_long_list",
        sentence=gettext_noop("Returns one memory more than top_k."),
        on=SEARCH,
        after=_padded,
    ),
    Fault(
        name="items_of_text",
        sentence=gettext_noop("Returns texts instead of objects in data."),
        on=SEARCH,
        after=_items(lambda items: [item["content"] for item in items]),
    ),
    Fault(
        name="duplicate_ids",
        sentence=gettext_noop("Gives all memories the same id, which is only flagged."),
        on=SEARCH,
        after=_each(id="same"),
    ),
    Fault(
        name="rising_scores",
        sentence=gettext_noop("Returns scores that rise with the rank, which is only flagged."),
        on=SEARCH,
        after=_items(_rising),
    ),
    Fault(name="id_missing", sentence=gettext_noop("Leaves the ids out."), on=SEARCH, after=_each_without("id")),
    Fault(
        name="id_number", sentence=gettext_noop("Returns the memories' ids as numbers."), on=SEARCH, after=_each(id=7)
    ),
    Fault(name="id_blank", sentence=gettext_noop("Returns blank ids."), on=SEARCH, after=_each(id=" ")),
    Fault(
        name="id_long",
        sentence=gettext_noop("Returns ids of 513 characters."),
        on=SEARCH,
        after=_each(id="x" * 513),
    ),
    Fault(
        name="content_missing",
        sentence=gettext_noop("Returns memories without content."),
        on=SEARCH,
        after=_each_without("content"),
    ),
    Fault(
        name="content_blank",
        sentence=gettext_noop("Returns memories whose content is blank."),
        on=SEARCH,
        after=_each(content=" \n"),
    ),
    Fault(
        name="content_object",
        sentence=gettext_noop("Returns the content as an object."),
        on=SEARCH,
        after=_each(content={"text": "x"}),
    ),
    Fault(name="score_text", sentence=gettext_noop("Returns scores as text."), on=SEARCH, after=_each(score="0.9")),
    Fault(
        name="score_infinite",
        sentence=gettext_noop("Returns scores beyond the range of a double."),
        on=SEARCH,
        after=_each(score=10**400),
    ),
    Fault(
        name="created_at_object",
        sentence=gettext_noop("Returns created_at as an object."),
        on=SEARCH,
        after=_each(created_at={"year": 2024}),
    ),
    Fault(
        name="remote_images",
        sentence=gettext_noop("Returns addresses of images instead of the images."),
        on=SEARCH,
        after=_image("https://images.example.com/cat.png"),
    ),
    Fault(
        name="mislabelled_images",
        sentence=gettext_noop("Returns PNG images that are declared as JPEG."),
        on=SEARCH,
        after=_image(f"data:image/jpeg;base64,{PIXEL}"),
    ),
    Fault(
        name="broken_images",
        sentence=gettext_noop("Returns images with line breaks in their Base64."),
        on=SEARCH,
        after=_image(f"data:image/png;base64,{PIXEL[:40]}\n{PIXEL[40:]}"),
    ),
)
