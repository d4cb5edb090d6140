"""Text from outside is shown to a model as data: as JSON, inside a fence that its author can't know.

Source: the spotlighting of untrusted input by delimiters (arXiv 2403.14720), which lowers injection but proves
nothing; so a judge also never sees what a participant wrote, only the answer that came of it.
"""

import hmac
import json
import re
from hashlib import sha256
from typing import Any, Final

__all__ = ["fence_token", "fenced", "neutralise"]

_TOKEN_BYTES: Final = 16
_SPLIT: Final = "\u200b"
# Tokens by which chat templates mark turns, and names of roles at the start of a line.
_TEMPLATE: Final = re.compile(
    r"<\||\|>|\[/?INST\]|<</?SYS>>|</?s>|<(?:start|end)_of_turn>|</?think>|^\s*(?:system|assistant|user|human)\s*[:：]"
    r"|^\s*#{2,}\s*(?:instruction|system|response)",
    re.IGNORECASE | re.MULTILINE,
)


def fence_token(key: bytes, *parts: str) -> str:
    """Return 128 bits as 32 hex digits from a keyed hash, so that a replay with the same key is identical."""
    text = json.dumps(parts).encode()
    return hmac.new(key, text, sha256).digest()[:_TOKEN_BYTES].hex()


def neutralise(text: str, token: str) -> str:
    """Return a copy of `text` for a prompt, whose chat-template tokens and fence token are broken up.

    Only the prompt's copy is changed, by zero-width spaces; evidence keeps the original.
    """
    text = _TEMPLATE.sub(lambda match: f"{match[0][:-1]}{_SPLIT}{match[0][-1]}", text)
    return text.replace(token, f"{token[:8]}{_SPLIT}{token[8:]}")


def fenced(data: Any, token: str) -> str:
    """Return `data` as JSON between two lines that hold the token."""
    return f"BEGIN DATA {token}\n{json.dumps(data, ensure_ascii=False)}\nEND DATA {token}"
