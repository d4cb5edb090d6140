"""The contract's rules in sentences, with their numbers from the code that enforces them. Page and API share them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.utils.functional import Promise
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from benchmarks.datasets.chunking import MAX_MESSAGES
from benchmarks.datasets.words import COUNTER_ID, MAX_WORDS, count_words
from contract.guard import PLACEHOLDER, GuardPolicy
from contract.guard.urls import BAD_PORTS, MAX_URL, SPECIAL_LAST_LABELS
from contract.reasons import FLAGS

WORD_SAMPLES = (
    "two words",
    "well-known, it's 3.5 km!",
    "你好，世界。",
    "我用Python写代码",
    "カタカナとひらがな",
    "한국어 문장",
)
"""Texts whose words are counted on the page, so that a counter of one's own can be held against it."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule under a stable name. `text` is translated when it is shown."""

    name: str
    title: str | Promise
    text: str | Promise


def _filled(text: Any, **values: Any) -> Promise:
    """Put values into `{name}` of a lazy text; a brace that is meant comes in as a value."""
    return format_lazy(text, **values)


def _textual_rule() -> Rule:
    textual = _(
        "One Add for each session of the source, split before the message that would exceed {messages} messages or"
        " {words} words. Words are counted by {counter}: text between white space is one word, a Chinese, Japanese or"
        " Korean character is a word by itself. Only a message longer than that is cut itself."
    )
    values = {"messages": MAX_MESSAGES, "words": f"{MAX_WORDS:,}", "counter": COUNTER_ID}
    return Rule("textual", _("Textual"), _filled(textual, **values))


def sending_rules() -> list[Rule]:
    """What is sent and in which order."""
    return [
        _textual_rule(),
        Rule(
            "streaming",
            _("Streaming"),
            _(
                "Adds and Searches of a user in one fixed order. A Search may come before any Add, and the same"
                " question may come more than once."
            ),
        ),
        Rule(
            "coding",
            _("Coding"),
            _("The sessions of a repository stay whole as trajectories; one user for each repository and condition."),
        ),
        Rule(
            "multimodal",
            _("Multimodal"),
            _("One Add for each unit of the source, split before the limits on images."),
        ),
        Rule(
            "parallel",
            _("Side by side"),
            _(
                "Adds of one user wait for each other. Different users, and Searches between two Adds, run in parallel"
                " up to the concurrency that you declare."
            ),
        ),
        Rule(
            "ids",
            _("Ids"),
            _(
                "Readable in a smoke test; opaque in a full evaluation. The same release and run give the same"
                " requests, byte for byte."
            ),
        ),
    ]


def word_examples() -> list[dict[str, Any]]:
    """Texts and how many words the counter finds in them."""
    return [{"text": text, "words": count_words(text)} for text in WORD_SAMPLES]


def url_rules() -> list[Rule]:
    """Which URLs may be submitted, and what happens at each call."""
    return [*_form_rules(), *_call_rules()]


def _form_rules() -> list[Rule]:
    ports = ", ".join(str(port) for port in sorted(BAD_PORTS))
    endings = ", ".join(f".{label}" for label in sorted(SPECIAL_LAST_LABELS))
    return [
        Rule(
            "form",
            _("Form"),
            _filled(
                _(
                    "http:// or https://, at most {characters} ASCII characters, no user name, password or # part."
                    " Percent-encode what is not ASCII in a path; write an international host name in its xn-- form."
                ),
                characters=f"{MAX_URL:,}",
            ),
        ),
        Rule(
            "host",
            _("Host"),
            _filled(
                _(
                    "A public host name, or an IPv4 address as four decimal numbers. Names without a dot, with a dot at"
                    " the end, or ending in {endings} are refused."
                ),
                endings=endings,
            ),
        ),
        Rule("port", _("Port"), _filled(_("80, 443, or from 1024 on, except {ports}."), ports=ports)),
        Rule(
            "path",
            _("Path and query"),
            _filled(
                _(
                    "No . or .. segments, no encoded control characters, no keys or tokens in the query. An Add-status"
                    " URL holds {placeholder} exactly once, in its path or query."
                ),
                placeholder=PLACEHOLDER,
            ),
        ),
    ]


def _call_rules() -> list[Rule]:
    return [
        Rule(
            "addresses",
            _("Name look-up"),
            _filled(
                _(
                    "At each connection the name is resolved once, to at most {most} addresses. All of them must be"
                    " public: private, shared, reserved and cloud metadata addresses are refused, and so is every IPv6"
                    " form that carries an IPv4 address. The connection goes to the very address that was checked."
                ),
                most=GuardPolicy().max_addresses,
            ),
        ),
        Rule(
            "tls",
            _("TLS"),
            _("The certificate must be valid for the host name and come from a public authority; TLS 1.2 or newer."),
        ),
    ]


def flag_rows() -> list[tuple[str, str]]:
    """Flags with their sentences, untranslated like those of reason codes."""
    return list(FLAGS.items())
