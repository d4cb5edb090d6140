"""Reads what a participant's server answered: one attempt in, one verdict out.

Pure: bytes, a status and headers come in, an outcome goes out, and nothing that a peer can write raises.
The rules are checked in this order, and the first that is broken names the reason: status, emptiness, size,
content coding, charset, JSON, fields. A body under another media type is read too; it is flagged when it is the
JSON that the contract asks for, and refused as `content_type` when it is not.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, TypedDict, TypeVar

from contract.jsonreader import Broken, read_object
from contract.memories import Memory, read_memories
from contract.messages import AddRequest, SearchRequest, Track
from contract.verdicts import MAX_GOT, Reason, Verdict, excerpt

__all__ = [
    "MAX_BODY_BYTES",
    "TASK_ID_PATTERN",
    "AddOutcome",
    "Memory",
    "Outcome",
    "SearchOutcome",
    "read_add",
    "read_add_status",
    "read_search",
    "retry_after_seconds",
]

MAX_BODY_BYTES: Mapping[Track, int] = {
    "textual": 10 * 1024 * 1024,
    "coding": 10 * 1024 * 1024,
    "multimodal": 48 * 1024 * 1024,
}

RETRIED = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Status codes after which the same bytes may be sent again."""
RETRIED_ADD = RETRIED | {409, 524}

TASK_ID_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._~:-]{0,199}$"
_TASK_ID = re.compile(TASK_ID_PATTERN)
_CHARSET = re.compile(r'charset\s*=\s*"?([^";\s]+)', re.IGNORECASE)
_HALF_OF_GOT = (MAX_GOT - len("sent , came ")) // 2
_UTF8 = frozenset({"utf-8", "utf8", "us-ascii"})
Found = TypeVar("Found")

_NAMED = {401: "auth_failed", 403: "access_denied", 404: "not_found", 409: "conflict"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What one attempt came to.

    `flags` are remarks for reviewers, no errors. `retry_after_s` is what the server asked for, in seconds and
    not yet capped. `raw` is the body as it came, without the credential, for evidence.
    """

    verdict: Verdict
    reason: Reason | None = None
    flags: tuple[str, ...] = ()
    retry_after_s: float | None = None
    raw: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class AddOutcome(Outcome):
    """An answer to Add. `task_id` is set when the verdict is `pending`."""

    task_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchOutcome(Outcome):
    """An answer to Search. `memories` stand in the order of the answer; empty unless the verdict is `ok`."""

    memories: tuple[Memory, ...] = ()


def read_add(
    status: int,
    headers: Mapping[str, str],
    body: bytes,
    *,
    request: AddRequest,
    track: Track,
    add_status_bound: bool = False,
    now: datetime | None = None,
) -> AddOutcome:
    """Judge an answer to Add.

    `add_status_bound` tells whether the version has an approved Add-status URL, without which a 202 is a
    contract error. `now` (aware) is what a Retry-After date is measured against, the clock by default.
    """
    lowered = _lower(headers)
    if status != 200 and (status != 202 or not add_status_bound):
        return AddOutcome(raw=body, **_refused(status, lowered, add=True, now=now))
    try:
        if status == 202:
            task_id, flags = _judge(lowered, body, track, lambda content: _read_task_id(read_object(content)))
            wait = retry_after_seconds(lowered.get("retry-after"), now)
            return AddOutcome(verdict=Verdict.PENDING, task_id=task_id, flags=flags, retry_after_s=wait, raw=body)
        _, flags = _judge(lowered, body, track, lambda content: _check_echo(read_object(content), request))
    except Broken as broken:
        return AddOutcome(verdict=Verdict.CONTRACT_ERROR, reason=broken.reason, raw=body)
    return AddOutcome(verdict=Verdict.OK, flags=flags, raw=body)


def read_add_status(
    status: int,
    headers: Mapping[str, str],
    body: bytes,
    *,
    request: AddRequest,
    track: Track,
    now: datetime | None = None,
) -> AddOutcome:
    """Judge an answer of the Add-status URL: 202 means still working, 200 must carry the Add response."""
    if status == 202:
        wait = retry_after_seconds(_lower(headers).get("retry-after"), now)
        return AddOutcome(verdict=Verdict.PENDING, retry_after_s=wait, raw=body)
    return read_add(status, headers, body, request=request, track=track, now=now)


def read_search(
    status: int,
    headers: Mapping[str, str],
    body: bytes,
    *,
    request: SearchRequest,
    track: Track,
    now: datetime | None = None,
) -> SearchOutcome:
    """Judge an answer to Search: at most `request.top_k` items, each valid, none dropped or cut."""
    lowered = _lower(headers)
    if status != 200:
        return SearchOutcome(raw=body, **_refused(status, lowered, add=False, now=now))

    try:
        (memories, remarks), flags = _judge(
            lowered, body, track, lambda content: read_memories(content, top_k=request.top_k, track=track)
        )
    except Broken as broken:
        return SearchOutcome(verdict=Verdict.CONTRACT_ERROR, reason=broken.reason, raw=body)
    return SearchOutcome(verdict=Verdict.OK, memories=memories, flags=flags + remarks, raw=body)


def retry_after_seconds(value: str | None, now: datetime | None = None) -> float | None:
    """Return the seconds that a Retry-After header asks for, None when it is absent or unreadable.

    Source: RFC 9110, section 10.2.3 (seconds, or a date, which is measured against `now`).
    """
    text = (value or "").strip()
    if not text:
        return None
    if text.isascii() and text.isdigit():
        return float(int(text[:9]))
    try:
        date = parsedate_to_datetime(text)
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
    date = date if date.tzinfo else date.replace(tzinfo=UTC)
    return max(0.0, (date - (now or datetime.now(UTC))).total_seconds())


def _lower(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}


class _Refusal(TypedDict):
    verdict: Verdict
    reason: Reason
    retry_after_s: float | None


def _refused(status: int, headers: Mapping[str, str], *, add: bool, now: datetime | None) -> _Refusal:
    """Return verdict and reason of a status that carries no answer. Source: the wire contract, retry table."""
    wait, got = None, f"HTTP {status}"
    if status == 202 and add:
        verdict, reason = Verdict.CONTRACT_ERROR, Reason("status_202_unbound", got)
    elif 300 <= status < 400:
        location = headers.get("location", "")
        verdict, reason = (
            Verdict.CONTRACT_ERROR,
            Reason("redirect_not_followed", f"{got}, Location {excerpt(location)}"),
        )
    elif status < 300:
        verdict, reason = Verdict.CONTRACT_ERROR, Reason("unexpected_status", got)
    elif status in (400, 422):
        verdict, reason = Verdict.CONTRACT_ERROR, Reason(f"http_{status}", got)
    elif status in (RETRIED_ADD if add else RETRIED):
        verdict, reason = Verdict.RETRY, Reason(f"http_{status}", got)
        wait = retry_after_seconds(headers.get("retry-after"), now)
    else:
        verdict, reason = Verdict.FAIL, Reason(_NAMED.get(status, f"http_{status}"), got)
    return {"verdict": verdict, "reason": reason, "retry_after_s": wait}


def _judge(
    headers: Mapping[str, str], body: bytes, track: Track, read: Callable[[bytes], Found]
) -> tuple[Found, tuple[str, ...]]:
    """Return what `read` finds in the body, and flags. Raises `Broken`."""
    _check_size(headers, body, track)
    content_type = headers.get("content-type", "")
    media_type, _, parameters = content_type.partition(";")
    if _is_json(media_type):
        _check_charset(parameters)
        return read(body), ()
    try:
        _check_charset(parameters)
        return read(body), ("content_type",)
    except Broken as broken:
        what = excerpt(content_type) if content_type else "no Content-Type"
        raise Broken("content_type", f"{what} ({broken.reason.code})", broken.reason.where) from None


def _check_size(headers: Mapping[str, str], body: bytes, track: Track) -> None:
    if not body or body.isspace():
        raise Broken("empty_body")
    if len(body) > MAX_BODY_BYTES[track]:
        raise Broken("body_too_large", f"{len(body)} bytes")
    coding = headers.get("content-encoding", "identity").strip().lower()
    if coding not in ("", "identity"):
        raise Broken("content_encoding", excerpt(coding))


def _is_json(media_type: str) -> bool:
    name = media_type.strip().lower()
    return name in ("application/json", "text/json") or (name.startswith("application/") and name.endswith("+json"))


def _check_charset(parameters: str) -> None:
    charset = _CHARSET.search(parameters)
    if charset and charset[1].lower() not in _UTF8:
        raise Broken("charset", excerpt(charset[1]))


def _check_echo(document: dict[str, Any], request: AddRequest) -> None:
    """Compare the decoded ids with those that were sent: no trimming, folding or normalisation."""
    if document.get("success") is not True:
        raise Broken("success_not_true", excerpt(document["success"]) if "success" in document else "", "success")
    for field in ("request_id", "user_id", "session_id"):
        if field not in document:
            raise Broken("echo_missing", excerpt(document), field)
        echo = document[field]
        if not isinstance(echo, str):
            raise Broken("echo_type", excerpt(echo), field)
        if echo != getattr(request, field):
            raise Broken("echo_mismatch", _sent_and_came(getattr(request, field), echo), field)


def _sent_and_came(sent: str, came: str) -> str:
    """Quote both, each short enough that the other is seen as well."""
    return f"sent {excerpt(sent, _HALF_OF_GOT)}, came {excerpt(came, _HALF_OF_GOT)}"


def _read_task_id(document: dict[str, Any]) -> str:
    if "task_id" not in document:
        raise Broken("task_id_missing", excerpt(document), "task_id")
    task_id = document["task_id"]
    if not isinstance(task_id, str):
        raise Broken("task_id_type", excerpt(task_id), "task_id")
    if not _TASK_ID.fullmatch(task_id):
        raise Broken("task_id_charset", excerpt(task_id), "task_id")
    return task_id
