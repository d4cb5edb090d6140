"""The wire contract as data, read off the code that enforces it: limits, retry table, reason codes, chunking."""

from dataclasses import asdict
from typing import Any

from django.utils.translation import gettext as translated  # translates messages from data

from benchmarks.datasets.chunking import MAX_MESSAGES
from benchmarks.datasets.words import COUNTER_ID, MAX_WORDS
from contract.answers import MAX_BODY_BYTES, read_add, read_search
from contract.auth import AuthScheme
from contract.client import BROKEN_ANSWERS, RETRIED_FAULTS
from contract.exchange import CallBudget
from contract.jsonreader import MAX_DEPTH
from contract.media import MAX_IMAGE_BYTES, MAX_IMAGE_SIDE, MAX_IMAGES_BYTES
from contract.memories import MAX_CREATED_AT, MAX_ID
from contract.messages import AddRequest, Message, SearchRequest
from contract.reasons import REASONS
from contract.retry import LIMITS
from evaluation.releases import TOP_K

SCHEMA = "aml.contract.v1"
STATUSES = (
    *(201, 202, 204, 301, 302, 307, 308, 400, 401, 403, 404, 405, 408, 409, 410, 413, 415, 422, 425, 429),
    *(500, 501, 502, 503, 504, 505, 524),
)
"""HTTP statuses that the retry table names, and neighbours that people ask about; 200 is judged by its body."""

_ADD = AddRequest(request_id="r", messages=(Message(role="user", content="m"),), user_id="u", session_id="s")
_SEARCH = SearchRequest(query="q", user_id="u", top_k=1)


def contract_document() -> dict[str, Any]:
    """The contract as JSON values; sentences are in the active language, codes are the same in all."""
    return {
        "schema": SCHEMA,
        "auth_schemes": [str(scheme) for scheme in AuthScheme],
        "limits": limits(),
        "retry": {"statuses": status_table(), "transport": transport_table(), "bounds": asdict(LIMITS)},
        "chunking": {"counter": COUNTER_ID, "messages": MAX_MESSAGES, "words": MAX_WORDS},
        "reasons": reason_list(),
    }


def limits() -> dict[str, Any]:
    """Sizes in bytes, lengths in characters, times in seconds."""
    budget = CallBudget()
    return {
        "top_k": TOP_K,
        "body_bytes": dict(MAX_BODY_BYTES),
        "json_depth": MAX_DEPTH,
        "memory_id_characters": MAX_ID,
        "created_at_characters": MAX_CREATED_AT,
        "image_bytes": MAX_IMAGE_BYTES,
        "images_bytes": MAX_IMAGES_BYTES,
        "image_side_pixels": MAX_IMAGE_SIDE,
        "connect_s": budget.connect_s,
        "request_s": budget.headers_s,
        "body_s": budget.body_s,
    }


def status_table() -> list[dict[str, Any]]:
    """What each HTTP status means for an Add and for a Search: retry, fail or contract_error."""
    return [
        {
            "status": status,
            "add": str(read_add(status, {}, b"", request=_ADD, track="textual").verdict),
            "search": str(read_search(status, {}, b"", request=_SEARCH, track="textual").verdict),
        }
        for status in STATUSES
    ]


def transport_table() -> dict[str, list[str]]:
    """Reason codes of transport faults by verdict; what stands in neither list fails."""
    return {"retry": sorted(RETRIED_FAULTS), "contract_error": sorted(BROKEN_ANSWERS)}


def reason_list() -> list[dict[str, str]]:
    """Every reason code with what was expected and what to do next."""
    return [
        {"code": code, "expected": translated(text.expected), "advice": translated(text.advice)}
        for code, text in sorted(REASONS.items())
    ]
