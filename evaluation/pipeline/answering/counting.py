"""How long a prompt's memories are in tokens: by the answer model's own tokenizer, or by an estimate with a margin."""

from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, Protocol

__all__ = [
    "BYTES",
    "ByteCounter",
    "CounterMissing",
    "FileCounter",
    "TokenCounter",
    "counter_facts",
    "counter_for",
    "estimate_tokens",
]

COUNTER_ID: Final = "bytes3.v1"


class CounterMissing(Exception):
    """The tokenizer that was asked for can't be read; the message says why and what to do."""


class TokenCounter(Protocol):
    """Counts tokens. `margin_percent` of a budget is left free, because the count may be too low."""

    id: str
    sha256: str
    margin_percent: int

    def count(self, text: str) -> int:
        """Return the tokens of `text`."""
        ...


def estimate_tokens(text: str) -> int:
    """Return an estimate of a text's tokens, `bytes3.v1`: a third of its UTF-8 bytes, rounded up.

    English has about four bytes a token and Chinese about three, so that the estimate is seldom too low.
    """
    return -(-len(text.encode("utf-8", "surrogatepass")) // 3)


class ByteCounter:
    """The estimate, with a tenth as margin."""

    id = COUNTER_ID
    sha256 = ""
    margin_percent = 10

    def count(self, text: str) -> int:
        """See `estimate_tokens`."""
        return estimate_tokens(text)


BYTES: Final = ByteCounter()


class FileCounter:
    """The tokenizer of a `tokenizer.json`, as models publish it; the file is on this machine and nothing is fetched.

    Raises CounterMissing without the extra `tokenizer` or for a file that is no tokenizer.
    """

    id = "tokenizer.v1"
    margin_percent = 0

    def __init__(self, path: Path) -> None:
        try:
            content = path.read_bytes()
        except OSError as error:
            raise CounterMissing(f"AML_ANSWER_TOKENIZER names {path}, which can't be read: {error.strerror}") from error
        try:
            from tokenizers import Tokenizer  # type: ignore[import-not-found, unused-ignore]  # an optional extra
        except ImportError as error:
            message = "AML_ANSWER_TOKENIZER is set, but the package tokenizers isn't installed: add the extra tokenizer"
            raise CounterMissing(message) from error
        try:
            self._tokenizer = Tokenizer.from_buffer(content)
        except Exception as error:  # the package raises bare Exception
            raise CounterMissing(f"AML_ANSWER_TOKENIZER names {path}, which is no tokenizer.json: {error}") from error
        self.sha256 = sha256(content).hexdigest()

    def count(self, text: str) -> int:
        """Return how many tokens the model makes of `text`, without those that begin or end a prompt."""
        return len(self._tokenizer.encode(text, add_special_tokens=False).ids)


def counter_for(tokenizer: str) -> TokenCounter:
    """Return the counter by the tokenizer file of that path, or the estimate for an empty one."""
    return FileCounter(Path(tokenizer)) if tokenizer else BYTES


def counter_facts(counter: TokenCounter) -> Mapping[str, Any]:
    """What a release freezes of a counter."""
    return {"id": counter.id, "sha256": counter.sha256, "margin_percent": counter.margin_percent}
