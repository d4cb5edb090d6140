"""The wire contract as data, read off the code that enforces it. Sentences stand in every language of the site, so the
document is the same for every caller."""

from collections.abc import Sequence
from dataclasses import asdict
from functools import cache
from typing import Any

from django.conf import settings
from django.utils.functional import Promise
from django.utils.translation import gettext as translated  # translates messages from data
from django.utils.translation import override

from aml.pages import rules, wire
from aml.statuses import HTTP_STATUSES, verdicts
from benchmarks.datasets.chunking import MAX_MESSAGES
from benchmarks.datasets.words import COUNTER_ID, MAX_WORDS
from contract.answers import MAX_BODY_BYTES
from contract.auth import AuthScheme
from contract.client import BROKEN_ANSWERS, RETRIED_FAULTS
from contract.exchange import MAX_HEADER_BYTES, MAX_HEADER_FIELDS, CallBudget
from contract.guard import PLACEHOLDER, GuardPolicy
from contract.guard.urls import BAD_PORTS, MAX_URL, SPECIAL_LAST_LABELS
from contract.jsonreader import MAX_DEPTH
from contract.media import MAX_IMAGE_BYTES, MAX_IMAGE_SIDE, MAX_IMAGES_BYTES
from contract.memories import MAX_CREATED_AT, MAX_ID
from contract.retry import LIMITS
from contract.schemas import schemas
from evaluation.pipeline.baseline import TOP_K

SCHEMA = "aml.contract.v1"
_LANGUAGES = tuple(code for code, _name in settings.LANGUAGES)

Sentences = dict[str, str]
"""A sentence by the code of its language."""


@cache
def contract_document() -> dict[str, Any]:
    """The contract as JSON values."""
    return {
        "schema": SCHEMA,
        "auth_schemes": [str(scheme) for scheme in AuthScheme],
        "limits": limits(),
        "urls": url_limits(),
        "messages": schemas(TOP_K),
        "retry": {"statuses": status_table(), "transport": transport_table(), "bounds": asdict(LIMITS)},
        "chunking": chunking(),
        "reasons": reason_list(),
        "flags": [{"flag": flag, "meaning": in_every_language(text)} for flag, text in rules.flag_rows()],
    }


def in_every_language(message: str | Promise) -> Sentences:
    """A marked message, or a lazy one, in each language of the site."""
    sentences = {}
    for code in _LANGUAGES:
        with override(code):
            sentences[code] = translated(message) if isinstance(message, str) else str(message)
    return sentences


def limits() -> dict[str, Any]:
    """Sizes in bytes, lengths in characters, times in seconds."""
    budget = CallBudget()
    return {
        "top_k": TOP_K,
        "body_bytes": dict(MAX_BODY_BYTES),
        "header_bytes": MAX_HEADER_BYTES,
        "header_fields": MAX_HEADER_FIELDS,
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


def url_limits() -> dict[str, Any]:
    """Which URLs may be submitted: lists for one's own check, and the rules in sentences."""
    return {
        "schemes": ["http", "https"],
        "characters": MAX_URL,
        "ports": {"always": [80, 443], "from": 1024, "except": sorted(BAD_PORTS)},
        "refused_endings": sorted(SPECIAL_LAST_LABELS),
        "addresses": GuardPolicy().max_addresses,
        "placeholder": PLACEHOLDER,
        "rules": _rule_list(rules.url_rules()),
    }


def chunking() -> dict[str, Any]:
    """How sessions become Adds. `examples` hold the counter to its word."""
    return {
        "counter": COUNTER_ID,
        "messages": MAX_MESSAGES,
        "words": MAX_WORDS,
        "rules": _rule_list(rules.sending_rules()),
        "examples": rules.word_examples(),
    }


def status_table() -> list[dict[str, Any]]:
    """What each HTTP status means for an Add and for a Search: retry, fail or contract_error."""
    rows = ((status, *verdicts(status)) for status in sorted(HTTP_STATUSES))
    return [{"status": status, "add": add, "search": search} for status, add, search in rows]


def transport_table() -> dict[str, list[str]]:
    """Reason codes of transport faults by verdict; what stands in neither list fails."""
    return {"retry": sorted(RETRIED_FAULTS), "contract_error": sorted(BROKEN_ANSWERS)}


def reason_list() -> list[dict[str, Any]]:
    """Every reason code with its group, what was expected and what to do next."""
    return [
        {
            "code": text.code,
            "group": group.id,
            "expected": in_every_language(text.expected),
            "advice": in_every_language(text.advice),
        }
        for group in wire.reason_groups()
        for text in group.reasons
    ]


def _rule_list(found: Sequence[rules.Rule]) -> list[dict[str, Any]]:
    return [{"rule": rule.name, "text": in_every_language(rule.text)} for rule in found]
