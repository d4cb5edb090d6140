"""JSON Schema of everything that goes over the wire, for each track, made from the types that read and write it.

A schema tells what can be told of one document by itself: shapes, lengths, forms. That ids are echoed as they were
sent, that keys stand once, and what images add up to, the reader of answers decides.
Source: JSON Schema, draft 2020-12.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Annotated, Any, Literal, get_args

import msgspec

from contract.answers import TASK_ID_PATTERN
from contract.memories import Memory
from contract.messages import AddRequest, SearchRequest, Track

__all__ = ["ANSWERS", "DIALECT", "REQUESTS", "TRACKS", "Wire", "schema", "schemas"]

DIALECT = "https://json-schema.org/draft/2020-12/schema"
TRACKS: tuple[Track, ...] = get_args(Track)
Wire = Literal["add_request", "add_response", "add_accepted", "search_request", "search_response"]


class AddResponse(msgspec.Struct):
    """The answer to Add, and of the Add-status URL once the write is done: HTTP 200."""

    success: Annotated[bool, msgspec.Meta(extra_json_schema={"const": True})]
    request_id: str
    user_id: str
    session_id: str


class AddAccepted(msgspec.Struct):
    """The answer to Add where the version has an Add-status URL: HTTP 202."""

    task_id: Annotated[str, msgspec.Meta(pattern=TASK_ID_PATTERN)]


class SearchResponse(msgspec.Struct):
    """The answer to Search, best memory first: HTTP 200."""

    data: tuple[Memory, ...]


REQUESTS: dict[Wire, type] = {"add_request": AddRequest, "search_request": SearchRequest}
"""What the platform sends: these fields and no others."""
ANSWERS: dict[Wire, type] = {
    "add_response": AddResponse,
    "add_accepted": AddAccepted,
    "search_response": SearchResponse,
}
"""What a server answers; fields beside these are ignored."""


def schemas(top_k: int | None = None) -> dict[Track, dict[Wire, dict[str, Any]]]:
    """Return every schema by track and name. `top_k` is the most that a Search answer may hold."""
    return {track: {name: schema(name, track, top_k) for name in (*REQUESTS, *ANSWERS)} for track in TRACKS}


def schema(name: Wire, track: Track, top_k: int | None = None) -> dict[str, Any]:
    """Return the schema of one message or answer on one track."""
    kind = REQUESTS.get(name) or ANSWERS[name]
    document: dict[str, Any] = msgspec.json.schema(kind, ref_template="#/$defs/{name}")
    definitions = document["$defs"]
    for node in _nodes(document):
        node.pop("discriminator", None)  # OpenAPI's, not JSON Schema's
        if track != "multimodal":
            _leave_out(node, _is_array_of_parts)
    if name in REQUESTS:
        _describe_what_is_sent(document)
    elif "TextPart" in definitions:
        definitions["TextPart"]["properties"]["text"]["pattern"] = r"\S"
    if name == "search_response" and top_k is not None:
        definitions["SearchResponse"]["properties"]["data"]["maxItems"] = top_k
    used = _reachable(document["$ref"], definitions)
    kept = {key: value for key, value in definitions.items() if key in used}
    return {"$schema": DIALECT, "title": f"{name}, {track} track", "$ref": document["$ref"], "$defs": kept}


def _nodes(node: Any) -> Iterator[dict[str, Any]]:
    """Yield every object in a schema."""
    if isinstance(node, dict):
        yield node
    for inner in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from _nodes(inner)


def _leave_out(node: dict[str, Any], unwanted: Callable[[dict[str, Any]], bool]) -> None:
    """Take choices out of a node's `anyOf`; a single one that is left takes the node's place."""
    if "anyOf" not in node:
        return
    choices = [choice for choice in node["anyOf"] if not unwanted(choice)]
    if len(choices) == 1:
        del node["anyOf"]
        node.update(choices[0])
    else:
        node["anyOf"] = choices


def _is_array_of_parts(choice: dict[str, Any]) -> bool:
    return "anyOf" in choice.get("items", {})


def _describe_what_is_sent(document: dict[str, Any]) -> None:
    """An absent field is left out and never null, and there are no fields but these."""
    for node in _nodes(document):
        _leave_out(node, lambda choice: choice.get("type") == "null")
        if node.get("default", "") is None:
            del node["default"]
        if node.get("type") == "object":
            node["additionalProperties"] = False


def _reachable(ref: str, definitions: dict[str, Any]) -> set[str]:
    """Return the names of the definitions that the one under `ref` leads to."""
    used: set[str] = set()
    pending = [ref]
    while pending:
        name = pending.pop().rpartition("/")[2]
        if name not in used:
            used.add(name)
            pending += [node["$ref"] for node in _nodes(definitions[name]) if "$ref" in node]
    return used
