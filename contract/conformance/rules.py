"""The rules of the check, in the order in which they are tried."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from contract.conformance import conclusions, images, isolation, keys, reach, recall, strain
from contract.conformance.echo import echo_of
from contract.conformance.findings import Finding
from contract.conformance.probe import Probe
from contract.words import gettext_noop

__all__ = ["GROUPS", "RULES", "Rule"]


@dataclass(frozen=True, slots=True)
class Rule:
    """One line of the report: what must hold, and how it is tried.

    `needs` are states that earlier rules have proven (reach, add, search, recall) and conditions of the check (key,
    images, status); `gives` is the state that this one proves by passing.
    """

    name: str
    group: str
    title: str
    check: Callable[[Probe], Awaitable[Finding]]
    needs: tuple[str, ...] = ()
    gives: str = ""


GROUPS: Mapping[str, str] = {
    "reach": gettext_noop("Address and connection"),
    "keys": gettext_noop("Keys"),
    "echo": gettext_noop("Ids in the answer to Add"),
    "recall": gettext_noop("Memory"),
    "isolation": gettext_noop("Isolation"),
    "strain": gettext_noop("Load and limits"),
    "images": gettext_noop("Images"),
    "conclusions": gettext_noop("All answers together"),
}

_CALLS = ("reach", "add", "search")
_MEMORY = (*_CALLS, "recall")

_REACH = (
    Rule("url_form", "reach", gettext_noop("The URLs follow the platform's rules"), reach.url_form),
    Rule("reachable", "reach", gettext_noop("The server accepts connections"), reach.reachable, gives="connection"),
    Rule(
        "tls",
        "reach",
        gettext_noop("TLS with a certificate that the platform trusts"),
        reach.tls,
        ("connection",),
        "reach",
    ),
    Rule(
        "resolved_address",
        "reach",
        gettext_noop("The resolved address is public"),
        reach.resolved_address,
        ("connection",),
    ),
    Rule("health", "reach", gettext_noop("Health answers 2xx without a key"), reach.health, ("reach",)),
    Rule("add", "reach", gettext_noop("Add is answered as the contract says"), reach.add_works, ("reach",), "add"),
    Rule(
        "search",
        "reach",
        gettext_noop("Search is answered as the contract says"),
        reach.search_works,
        ("reach",),
        "search",
    ),
)

_KEYS = (
    Rule("right_key", "keys", gettext_noop("The right key is accepted"), keys.right_key, ("key", "reach")),
    Rule("wrong_key", "keys", gettext_noop("A wrong key is refused with 401 or 403"), keys.wrong_key, ("key", *_CALLS)),
    Rule("no_key", "keys", gettext_noop("A missing key is refused with 401 or 403"), keys.no_key, ("key", *_CALLS)),
)

_ECHO = (
    Rule(
        "echo_case",
        "echo",
        gettext_noop("Upper and lower case come back as sent"),
        echo_of("echo_case"),
        ("reach", "add"),
    ),
    Rule(
        "echo_spaces",
        "echo",
        gettext_noop("Spaces inside and at the end come back as sent"),
        echo_of("echo_spaces"),
        ("reach", "add"),
    ),
    Rule(
        "echo_non_ascii",
        "echo",
        gettext_noop("Letters beyond ASCII come back as sent, not normalised"),
        echo_of("echo_non_ascii"),
        ("reach", "add"),
    ),
    Rule("echo_emoji", "echo", gettext_noop("Emoji come back as sent"), echo_of("echo_emoji"), ("reach", "add")),
)

_RECALL = (
    Rule(
        "visible_at_once",
        "recall",
        gettext_noop("What was added is found at once"),
        recall.visible_at_once,
        _CALLS,
        "recall",
    ),
    Rule("replay", "recall", gettext_noop("The same Add again changes nothing"), recall.replay, _CALLS),
    Rule("empty_user", "recall", gettext_noop("A user without memories gets []"), recall.empty_user, _CALLS),
    Rule(
        "unknown_user",
        "recall",
        gettext_noop("A Search may come before the first Add of a user"),
        recall.unknown_user,
        _MEMORY,
    ),
    Rule("top_k_one", "recall", gettext_noop("top_k 1 brings one memory at most"), recall.top_k_one, _CALLS),
    Rule("long_message", "recall", gettext_noop("A message of 2,000 words is kept"), recall.long_message, _MEMORY),
    Rule("twenty_messages", "recall", gettext_noop("20 messages in one Add are kept"), recall.twenty_messages, _MEMORY),
    Rule("no_timestamp", "recall", gettext_noop("A message may lack its timestamp"), recall.no_timestamp, _MEMORY),
    Rule("options", "recall", gettext_noop("A Search may carry options"), recall.options, _CALLS),
    Rule("chinese", "recall", gettext_noop("Chinese is found by Chinese"), recall.chinese, _MEMORY),
)

_ISOLATION = (
    Rule("twins", "isolation", gettext_noop("Two users find their own memories only"), isolation.twins, _MEMORY),
    Rule(
        "neighbours",
        "isolation",
        gettext_noop("Users with similar ids find their own memories only"),
        isolation.neighbours,
        _MEMORY,
    ),
)

_STRAIN = (
    Rule(
        "malformed_add",
        "strain",
        gettext_noop("A malformed Add is refused with 4xx"),
        strain.malformed_add,
        ("reach", "add"),
    ),
    Rule(
        "malformed_search",
        "strain",
        gettext_noop("A malformed Search is refused with 4xx"),
        strain.malformed_search,
        ("reach", "search"),
    ),
    Rule(
        "parallel_adds",
        "strain",
        gettext_noop("Many Adds at once succeed, and none is lost"),
        strain.parallel_adds,
        _MEMORY,
    ),
    Rule("largest_body", "strain", gettext_noop("Large bodies are accepted"), strain.largest_body, ("reach", "add")),
    Rule(
        "deferred_add",
        "strain",
        gettext_noop("An accepted Add is done in the end"),
        strain.deferred_add,
        ("status", "reach"),
    ),
)

_IMAGES = (
    Rule("parts", "images", gettext_noop("Text and image parts are kept"), images.parts, ("images", *_MEMORY)),
    Rule(
        "image_only_message",
        "images",
        gettext_noop("A message may be an image alone"),
        images.image_only_message,
        ("images", "reach", "add"),
    ),
    Rule(
        "image_only_query",
        "images",
        gettext_noop("A query may be an image alone"),
        images.image_only_query,
        ("images", "reach", "search"),
    ),
    Rule(
        "returned_parts",
        "images",
        gettext_noop("Images in memories are whole and inline"),
        images.returned_parts,
        ("images", "reach", "search"),
    ),
)

_CONCLUSIONS = (
    Rule("order", "conclusions", gettext_noop("The best memory comes first"), conclusions.order, ("reach", "search")),
    Rule(
        "unique_ids",
        "conclusions",
        gettext_noop("No id stands twice in an answer"),
        conclusions.without_flag("duplicate_id"),
        ("reach", "search"),
    ),
    Rule(
        "media_type",
        "conclusions",
        gettext_noop("Answers are declared as JSON"),
        conclusions.without_flag("content_type"),
        ("reach",),
    ),
    Rule(
        "image_headers",
        "conclusions",
        gettext_noop("Returned images tell their size"),
        conclusions.without_flag("image_header_unreadable"),
        ("images", "reach", "search"),
    ),
    Rule(
        "credential_kept",
        "conclusions",
        gettext_noop("No answer returns the key"),
        keys.credential_kept,
        ("key", "reach"),
    ),
    Rule("steady", "conclusions", gettext_noop("No call needs a second attempt"), conclusions.steady, ("reach",)),
    Rule("latency", "conclusions", gettext_noop("Time on the wire"), conclusions.latency, ("reach", "add", "search")),
)

RULES: tuple[Rule, ...] = (*_REACH, *_KEYS, *_ECHO, *_RECALL, *_ISOLATION, *_STRAIN, *_IMAGES, *_CONCLUSIONS)
