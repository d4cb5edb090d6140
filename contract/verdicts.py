"""What one attempt came to, and why."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum

__all__ = ["MAX_GOT", "Reason", "Verdict", "excerpt"]

MAX_GOT = 300
"""Characters of a participant's answer that a reason may quote."""


class Verdict(StrEnum):
    """What the platform makes of one attempt.

    `ok` the answer is usable; `pending` the Add was accepted and is polled; `retry` the same bytes may be
    sent again; `fail` trying again would not help; `contract_error` the answer breaks the wire contract.
    """

    OK = "ok"
    PENDING = "pending"
    RETRY = "retry"
    FAIL = "fail"
    CONTRACT_ERROR = "contract_error"


@dataclass(frozen=True, slots=True)
class Reason:
    """One cause. `code` is stable and machine-readable, `got` what came (at most 300 characters), `where` a
    path into the answer such as ``data[3].score`` or the name of a header or host."""

    code: str
    got: str = ""
    where: str = ""

    def __post_init__(self) -> None:
        if len(self.got) > MAX_GOT:
            object.__setattr__(self, "got", self.got[: MAX_GOT - 1] + "…")


def excerpt(value: object, length: int = MAX_GOT) -> str:
    """Return `value` as one line of at most `length` characters that is safe to print.

    Text is quoted as JSON, so that control characters, spaces at the ends and look-alikes can be seen.
    """
    if isinstance(value, list | tuple):
        text = f"array of {len(value)}"
    elif isinstance(value, dict):
        text = "object with " + (", ".join(str(key)[:40] for key in list(value)[:8]) or "no key")
    elif isinstance(value, str):
        text = json.dumps(value[:MAX_GOT], ensure_ascii=False)
    elif value is None or isinstance(value, bool):
        text = json.dumps(value)
    else:
        text = _number(value)
    text = "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in text)
    return text if len(text) <= length else text[: length - 1] + "…"


def _number(value: object) -> str:
    try:
        return str(value)[:MAX_GOT]
    except ValueError:  # Python refuses to print an integer of more than 4,300 digits
        return "a very long number"
