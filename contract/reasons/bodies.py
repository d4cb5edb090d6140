"""Sentences for bodies that are no JSON object as the contract wants it."""

from __future__ import annotations

from contract.reasons.text import ReasonText
from contract.words import gettext_noop

__all__ = ["BODIES"]

BODIES = (
    ReasonText(
        "empty_body",
        gettext_noop("A JSON object as the body."),
        gettext_noop("Return the JSON object that the API guide describes."),
    ),
    ReasonText(
        "body_too_large",
        gettext_noop("A body of at most 10 MiB, or 48 MiB on the multimodal track."),
        gettext_noop("Return fewer or shorter memories."),
    ),
    ReasonText(
        "content_encoding",
        gettext_noop("An uncompressed body; the request says Accept-Encoding: identity."),
        gettext_noop("Turn off compression for this endpoint in the server and its proxy."),
    ),
    ReasonText(
        "content_type",
        gettext_noop("A JSON body with Content-Type: application/json."),
        gettext_noop("Check that the URL leads to the API and not to a web page or a login."),
    ),
    ReasonText(
        "charset",
        gettext_noop("A body in UTF-8."),
        gettext_noop("Encode the body in UTF-8 and leave charset out of Content-Type."),
    ),
    ReasonText(
        "bom",
        gettext_noop("JSON without a byte order mark."),
        gettext_noop("Write UTF-8 without a byte order mark."),
    ),
    ReasonText(
        "not_utf8",
        gettext_noop("A body in UTF-8."),
        gettext_noop("Encode the body in UTF-8 and leave charset out of Content-Type."),
    ),
    ReasonText(
        "invalid_json",
        gettext_noop("One JSON document and nothing behind it."),
        gettext_noop("Build the body with a JSON library instead of putting strings together."),
    ),
    ReasonText(
        "duplicate_key",
        gettext_noop("JSON objects in which each key stands once."),
        gettext_noop("Remove the repeated key; readers disagree on which one counts."),
    ),
    ReasonText(
        "non_finite_number",
        gettext_noop("Finite numbers within the range of a double."),
        gettext_noop("Leave the field out when it has no finite value; NaN and Infinity are not JSON."),
    ),
    ReasonText(
        "lone_surrogate",
        gettext_noop("Strings of whole Unicode characters."),
        gettext_noop("Cut texts between characters; half an emoji cannot be stored."),
    ),
    ReasonText(
        "nul_character",
        gettext_noop("Strings without the character U+0000."),
        gettext_noop("Remove U+0000 from texts before storing or returning them."),
    ),
    ReasonText(
        "json_too_deep",
        gettext_noop("At most 64 arrays and objects inside one another."),
        gettext_noop("Return the fields that the API guide names, and nothing nested deeper."),
    ),
    ReasonText(
        "not_object",
        gettext_noop("A JSON object at the top."),
        gettext_noop("Return the JSON object that the API guide describes."),
    ),
)
