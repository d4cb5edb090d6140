"""What was expected and what to do, for the codes of the check that the wire has no word for."""

from __future__ import annotations

from collections.abc import Mapping

from contract.reasons import ReasonText, reason_text
from contract.words import gettext_noop

__all__ = ["CAUSES", "cause_text"]

_VISIBLE = gettext_noop("What an answered Add stored, in the next Search of the same user.")
_KEY_STATUS = gettext_noop("Status 401 or 403.")
_OWN = gettext_noop("Memories of the user in user_id, and of nobody else.")

_FINDINGS = (
    ReasonText(
        "plain_http",
        gettext_noop("https where a key is sent."),
        gettext_noop("Serve the endpoints over TLS: over plain http everyone on the way can read the key."),
    ),
    ReasonText(
        "health_needs_key",
        gettext_noop("A Health that answers without a key."),
        gettext_noop("Leave Health out of the authentication; it says nothing but that the server is up."),
    ),
    ReasonText(
        "wrong_key_accepted",
        _KEY_STATUS,
        gettext_noop("Compare the whole key before anything is read or stored."),
    ),
    ReasonText(
        "no_key_accepted",
        _KEY_STATUS,
        gettext_noop("Refuse requests without the header of the authentication scheme."),
    ),
    ReasonText(
        "wrong_key_status",
        _KEY_STATUS,
        gettext_noop("Answer a key that is wrong or missing with 401, so that nobody looks for the fault elsewhere."),
    ),
    ReasonText(
        "credential_echoed",
        gettext_noop("Answers without the key that was sent."),
        gettext_noop("Keep request headers out of answers and error messages."),
    ),
    ReasonText(
        "not_visible",
        _VISIBLE,
        gettext_noop(
            "Store and index the messages under user_id before Add answers; look in the logs for a lost write."
        ),
    ),
    ReasonText(
        "visible_late",
        _VISIBLE,
        gettext_noop("Answer Add when the messages can be found, or answer 202 and have an Add-status URL approved."),
    ),
    ReasonText(
        "replay_refused",
        gettext_noop("Status 200 for a repeated request."),
        gettext_noop("Answer a repeated request with the same request_id and body as a success."),
    ),
    ReasonText(
        "replay_duplicated",
        gettext_noop("A repeated request that changes nothing."),
        gettext_noop("Remember request_id for each user, and answer a repetition without storing again."),
    ),
    ReasonText(
        "empty_user_not_empty",
        gettext_noop("An empty data for a user that nothing was added for."),
        gettext_noop("Look up by user_id before ranking, and return no default or built-in memories."),
    ),
    ReasonText(
        "leak_twin",
        _OWN,
        gettext_noop("Filter by user_id in every store, index and cache that Search reads."),
    ),
    ReasonText(
        "leak_neighbour",
        _OWN,
        gettext_noop("Compare user_id exactly: no folding of case, no trimming, no prefixes, no patterns."),
    ),
    ReasonText(
        "long_message_lost",
        gettext_noop("A fact from the end of a message of 2,000 words."),
        gettext_noop("Look for a limit that cuts texts before they are stored or embedded; split them instead."),
    ),
    ReasonText(
        "message_lost",
        gettext_noop("Each of the messages of one Add."),
        gettext_noop("Store all messages of the array, of both roles and of every shape."),
    ),
    ReasonText(
        "chinese_lost",
        gettext_noop("A Chinese message, found by a Chinese question."),
        gettext_noop("Store texts as UTF-8, and use a tokeniser or an embedding that knows Chinese."),
    ),
    ReasonText(
        "parallel_lost",
        gettext_noop("Every message of the Adds that were answered at the same time."),
        gettext_noop("Look for writes that overwrite each other, or that are answered before they are done."),
    ),
    ReasonText(
        "malformed_5xx",
        gettext_noop("A status from 400 to 499."),
        gettext_noop("Validate the body before it is used, and answer 400 or 422 with what is wrong."),
    ),
    ReasonText(
        "malformed_accepted",
        gettext_noop("A status from 400 to 499."),
        gettext_noop("Refuse what cannot be stored or answered instead of reporting success."),
    ),
    ReasonText(
        "body_limit",
        gettext_noop("A body of the size that an evaluation may send."),
        gettext_noop("Raise the limit on request bodies in the server and its proxy."),
    ),
    ReasonText(
        "never_done",
        gettext_noop("Status 200 at the Add-status URL once the messages are stored."),
        gettext_noop("Look for the task in the server's queue; the check waits a minute, an evaluation 30."),
    ),
    ReasonText(
        "duplicate_id",
        gettext_noop("An id of its own for each memory in an answer."),
        gettext_noop("Return each memory once; reviewers see this remark."),
    ),
    ReasonText(
        "score_not_descending",
        gettext_noop("Scores that fall with the rank, the best memory first."),
        gettext_noop("Sort the memories before cutting them to top_k; reviewers see this remark."),
    ),
    ReasonText(
        "image_header_unreadable",
        gettext_noop("Images whose size their header tells."),
        gettext_noop("Return the images as they came, or encode them anew as JPEG, PNG or WebP."),
    ),
)

_NOT_CHECKED = (
    ReasonText(
        "no_auth",
        gettext_noop("A check with an authentication scheme."),
        gettext_noop("Pass --auth and --key to check the keys too; a Full run needs one."),
    ),
    ReasonText(
        "other_track",
        gettext_noop("A check of the multimodal track."),
        gettext_noop("Pass --track multimodal to check images."),
    ),
    ReasonText(
        "no_status_url",
        gettext_noop("An Add-status URL."),
        gettext_noop("Pass --status-url when Add answers 202; nothing to do when it answers 200."),
    ),
    ReasonText(
        "answered_at_once",
        gettext_noop("Status 202 to Add."),
        gettext_noop("Nothing to do: Add answered 200, so nobody asked the Add-status URL."),
    ),
    ReasonText(
        "no_scores",
        gettext_noop("An answer with two scores or more."),
        gettext_noop("Nothing to do: scores are optional, and the order of the answer counts."),
    ),
    ReasonText(
        "no_image_returned",
        gettext_noop("A memory with an image in it."),
        gettext_noop("Nothing to do: memories may be texts alone."),
    ),
    ReasonText(
        "at_home",
        gettext_noop("A public address; the platform calls no other."),
        gettext_noop("Fine for a check at home. For an evaluation give the server a public host name."),
    ),
    ReasonText(
        "plain_http_at_home",
        gettext_noop("https where a key is sent."),
        gettext_noop("Fine for a check at home. For a Full run serve the endpoints over TLS."),
    ),
    ReasonText(
        "needs_reach",
        gettext_noop("A server that can be reached."),
        gettext_noop("Solve what stands above, then check again."),
    ),
    ReasonText(
        "needs_add",
        gettext_noop("An Add that succeeds."),
        gettext_noop("Solve what stands above, then check again."),
    ),
    ReasonText(
        "needs_search",
        gettext_noop("A Search that succeeds."),
        gettext_noop("Solve what stands above, then check again."),
    ),
    ReasonText(
        "needs_recall",
        gettext_noop("A Search that finds what was added."),
        gettext_noop("Solve what stands above, then check again."),
    ),
)

CAUSES: Mapping[str, ReasonText] = {cause.code: cause for cause in (*_FINDINGS, *_NOT_CHECKED)}
"""Every code that only the check gives; the others are reason codes of the wire."""


def cause_text(code: str) -> ReasonText:
    """Return the sentences for `code`, a code of the check or of the wire; never raises."""
    return CAUSES[code] if code in CAUSES else reason_text(code)
