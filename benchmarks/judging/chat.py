"""What a chat model is to this project: messages in, one reply out, or a ModelFault."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

__all__ = ["ChatMessage", "ChatModel", "ChatReply", "ChatSettings"]


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One message of a prompt."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class ChatSettings:
    """How a model is asked; part of a release. `timeout_s` bounds a whole call."""

    temperature: float = 0.0
    seed: int = 0
    max_tokens: int = 512
    timeout_s: float = 120.0


@dataclass(frozen=True, slots=True)
class ChatReply:
    """A model's reply: its text, the model name that came back, tokens, latency in ms, and the prompt's SHA-256."""

    text: str
    model: str
    prompt_tokens: int
    completion_tokens: int
    latency_ms: float
    prompt_sha256: str


class ChatModel(Protocol):
    """A model that answers a prompt; it raises ModelFault when it gives nothing usable."""

    async def complete(
        self,
        messages: Sequence[ChatMessage],
        *,
        schema: Mapping[str, Any] | None = None,
        settings: ChatSettings | None = None,
    ) -> ChatReply:
        """Return the reply to `messages`, held to a JSON `schema` and to `settings` of this call where given."""
        ...
