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
    r"<[|｜]|[|｜]>|\[/?INST\]|<</?SYS>>|</?s>|<(?:bos|eos|pad|unk|sop)>|<(?:start|end)_of_turn>|\[gMASK\]"
    r"|</?(?:think|tool_call|tool_response|final_answer)>"
    r"|^[ \t]*(?:system|assistant|user|human|developer|系统|助手|用户)[ \t]*[:：]"
    r"|^[ \t]*#{2,}[ \t]*(?:instruction|system|response|指令|系统)|(?:BEGIN|END)[ \t]+DATA",
    re.IGNORECASE | re.MULTILINE,
)
# What a reader doesn't see: bidirectional controls, characters without width, and tags.
_UNSEEN: Final = re.compile(
    "[\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff\U000e0000-\U000e007f]"
)
_BREAKS: Final = re.compile("\r\n?|[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_LONE: Final = re.compile("[\ud800-\udfff]")


def fence_token(key: bytes, *parts: str) -> str:
    """Return 128 bits as 32 hex digits from a keyed hash, so that a replay with the same key is identical."""
    text = json.dumps(parts).encode()
    return hmac.new(key, text, sha256).digest()[:_TOKEN_BYTES].hex()


def neutralise(text: str, token: str) -> str:
    """Return a copy of `text` for a prompt, whose chat-template tokens and fence token are broken up.

    Only the prompt's copy is changed, by zero-width spaces, and what nobody sees is left out of it; evidence keeps the
    original.
    """
    text = _LONE.sub("\ufffd", _BREAKS.sub("\n", _UNSEEN.sub("", text)))
    text = _TEMPLATE.sub(lambda match: f"{match[0][:-1]}{_SPLIT}{match[0][-1]}", text)
    return text.replace(token, f"{token[:8]}{_SPLIT}{token[8:]}")


def fenced(data: Any, token: str) -> str:
    """Return `data` as JSON between two lines that hold the token."""
    return f"BEGIN DATA {token}\n{json.dumps(data, ensure_ascii=False)}\nEND DATA {token}"
