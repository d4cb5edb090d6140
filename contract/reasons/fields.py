"""Sentences for the fields of Add and Search answers."""

from __future__ import annotations

from contract.reasons.text import ReasonText
from contract.words import gettext_noop

__all__ = ["FIELDS"]

FIELDS = (
    ReasonText(
        "success_not_true",
        gettext_noop("success with the JSON value true."),
        gettext_noop("Return true without quotation marks, once the messages are stored and searchable."),
    ),
    ReasonText(
        "echo_missing",
        gettext_noop("request_id, user_id and session_id of the request in the answer."),
        gettext_noop("Copy the three ids from the request into the answer."),
    ),
    ReasonText(
        "echo_type",
        gettext_noop("request_id, user_id and session_id as strings."),
        gettext_noop("Copy the three ids from the request into the answer."),
    ),
    ReasonText(
        "echo_mismatch",
        gettext_noop("Exactly the ids that were sent."),
        gettext_noop("Return the ids unchanged: no trimming, change of case, encoding or Unicode normalisation."),
    ),
    ReasonText(
        "data_missing",
        gettext_noop("An array named data."),
        gettext_noop("Return the memories in data, and [] when there are none."),
    ),
    ReasonText(
        "data_type",
        gettext_noop("An array named data."),
        gettext_noop("Return the memories in data, and [] when there are none."),
    ),
    ReasonText(
        "too_many_items",
        gettext_noop("At most top_k items in data."),
        gettext_noop("Cut the list to the top_k of the request before returning it."),
    ),
    ReasonText(
        "item_type",
        gettext_noop("Objects with id and content as the items of data."),
        gettext_noop("Return each memory as an object with id and content."),
    ),
    ReasonText(
        "id_missing",
        gettext_noop("An id in each item."),
        gettext_noop("Give each memory a stable id that is a string."),
    ),
    ReasonText(
        "id_type",
        gettext_noop("An id that is a string."),
        gettext_noop("Give each memory a stable id that is a string."),
    ),
    ReasonText(
        "id_empty",
        gettext_noop("An id that is not blank."),
        gettext_noop("Give each memory a stable id that is a string."),
    ),
    ReasonText(
        "id_too_long",
        gettext_noop("An id of at most 512 characters."),
        gettext_noop("Shorten the id, for instance to a hash of it."),
    ),
    ReasonText(
        "content_missing",
        gettext_noop("A content in each item."),
        gettext_noop("Return the memory's text under the name content."),
    ),
    ReasonText(
        "content_shape",
        gettext_noop("A content that is a string, or an array of parts on the multimodal track."),
        gettext_noop("Return the memory's text as one string."),
    ),
    ReasonText(
        "content_empty",
        gettext_noop("A content that is not blank."),
        gettext_noop("Leave out memories without text instead of returning them blank."),
    ),
    ReasonText(
        "score_type",
        gettext_noop("A score that is a finite number."),
        gettext_noop("Return score as a JSON number, or leave it out."),
    ),
    ReasonText(
        "created_at_type",
        gettext_noop("A created_at that is a number or a string of at most 64 characters."),
        gettext_noop("Return created_at as an ISO 8601 date or a number, or leave it out."),
    ),
)
