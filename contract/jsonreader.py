"""One strict reader for every JSON body that a participant sends.

`jiter` reads the good case: it refuses duplicate keys, NaN, lone surrogates, bad UTF-8 and text behind the
document. What it lets through (U+0000, 1e999, deep nesting) is looked for afterwards. A refused body is read
again, slowly, to name the first rule that it breaks.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

import jiter

from contract.verdicts import Reason, excerpt

__all__ = ["MAX_DEPTH", "Broken", "has_nul", "read_object"]

MAX_DEPTH = 64
"""Containers inside one another, the root being the first."""

_BOM = b"\xef\xbb\xbf"
_INFINITIES = (math.inf, -math.inf)
_CONTAINERS = (dict, list)
_WORTH_A_LOOK = frozenset({dict, list, float})
_TOKENS = re.compile(r'"(?:[^"\\]|\\.)*+"?|[\[{]|[\]}]', re.DOTALL)


class Broken(Exception):
    """A body breaks a rule; `reason` names it."""

    def __init__(self, code: str, got: str = "", where: str = "") -> None:
        super().__init__(code)
        self.reason = Reason(code, got, where)


def read_object(body: bytes) -> dict[str, Any]:
    """Return the JSON object in `body`.

    Raises `Broken` with one of empty_body, bom, not_utf8, invalid_json, duplicate_key, non_finite_number,
    json_too_deep, lone_surrogate, nul_character, not_object. Nothing else is raised for any bytes.
    Source: RFC 8259, and the wire contract's rules on bodies, which are narrower.
    """
    if not body or body.isspace():
        raise Broken("empty_body")
    if body.startswith(_BOM):
        raise Broken("bom")
    try:
        document = jiter.from_json(body, catch_duplicate_keys=True, allow_inf_nan=False, cache_mode="keys")
    except (ValueError, RecursionError):
        document = _read_slowly(body)
    else:
        if has_nul(body) or not _is_shallow_and_finite(document):
            _walk(document)
    if not isinstance(document, dict):
        raise Broken("not_object", excerpt(document))
    return document


def has_nul(body: bytes) -> bool:
    """Tell whether a string in `body` may hold U+0000, which JSON can only write as an escape."""
    return b"\\" in body and b"\\u0000" in body  # the first search is many times quicker, and often enough


def _is_shallow_and_finite(document: Any) -> bool:
    """Tell whether no container stands deeper than `MAX_DEPTH` and no number is infinite, a level at a time."""
    if document.__class__ not in _CONTAINERS:
        return document not in _INFINITIES
    level: list[Any] = [document]
    for _ in range(MAX_DEPTH):
        found: list[Any] = [
            value
            for container in level
            for value in (container.values() if container.__class__ is dict else container)
            if value.__class__ in _WORTH_A_LOOK
        ]
        floats = [value for value in found if value.__class__ is float]
        if _INFINITIES[0] in floats or _INFINITIES[1] in floats:
            return False
        level = [value for value in found if value.__class__ is not float] if floats else found
        if not level:
            return True
    return False


def _read_slowly(body: bytes) -> Any:
    """Read with the standard library, whose hooks say which rule broke; the same order on each run."""
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Broken("not_utf8", f"byte 0x{body[error.start]:02x} at offset {error.start}") from None
    try:
        document = json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        if (deep := _too_deep_at(text)) is not None and deep <= error.pos:
            raise Broken("json_too_deep") from None
        around = text[max(0, error.pos - 30) : error.pos + 30]
        raise Broken("invalid_json", f"{excerpt(around)} at line {error.lineno}, column {error.colno}") from None
    except RecursionError:
        raise Broken("json_too_deep") from None
    except ValueError:  # an integer of more than 4,300 digits
        raise Broken("invalid_json", "a number of more than 4,300 digits") from None
    _walk(document)
    # the standard library took what jiter refused: a number or escape at the edge of the grammar
    raise Broken("invalid_json", excerpt(text[:60]))


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise Broken("duplicate_key", excerpt(key))
            seen.add(key)
    return document


def _no_constant(name: str) -> Any:
    raise Broken("non_finite_number", name)


def _too_deep_at(text: str) -> int | None:
    """Return the offset of the bracket that opens one container too many, if there is one."""
    depth = 0
    for token in _TOKENS.finditer(text):
        mark = token[0][0]
        if mark in "[{":
            depth += 1
            if depth > MAX_DEPTH:
                return token.start()
        elif mark in "]}":
            depth -= 1
    return None


def _walk(document: Any) -> None:
    """Look at every value, in order of reading. Raises `Broken`."""
    pending: list[tuple[Any, int]] = [(document, 1)]
    while pending:
        value, depth = pending.pop()
        if isinstance(value, str):
            _check_text(value)
        elif isinstance(value, float):
            if not math.isfinite(value):
                raise Broken("non_finite_number", str(value))
        elif isinstance(value, dict | list):
            if depth > MAX_DEPTH:
                raise Broken("json_too_deep")
            children = [x for pair in value.items() for x in pair] if isinstance(value, dict) else value
            pending.extend((child, depth + 1) for child in reversed(children))


def _check_text(text: str) -> None:
    if "\x00" in text:
        raise Broken("nul_character", excerpt(text[:80]))
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise Broken("lone_surrogate", f"\\u{ord(text[error.start]):04x} at character {error.start}") from None
