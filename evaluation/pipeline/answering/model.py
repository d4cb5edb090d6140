"""What an answerer gives, and the port that the pipeline asks."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from benchmarks.datasets.model import Question
from contract.answers import Memory

__all__ = ["Answer", "Answerer", "memory_text"]


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer to one question.

    `model` names what made it, `prompt_sha256` the prompt (empty without one); tokens are the model's own count,
    latency is in ms. `memories_used` of the retrieved memories, in the participant's order, were shown to the model
    and `memories_cut` were not, for want of budget.
    """

    text: str
    model: str
    prompt_sha256: str
    prompt_tokens: int
    completion_tokens: int
    latency_ms: float
    memories_used: int
    memories_cut: int


class Answerer(Protocol):
    """Answers a question from retrieved memories; raises ModelFault when it can't, which is never the participant's."""

    id: str

    async def answer(self, question: Question, memories: Sequence[Memory]) -> Answer:
        """Return the answer to `question` from `memories`, best first as the participant ranked them."""
        ...


def memory_text(memory: Memory) -> str:
    """Return a memory's text; of parts, the text parts on lines of their own, images left out."""
    if isinstance(memory.content, str):
        return memory.content
    return "\n".join(text for part in memory.content if (text := getattr(part, "text", None)))
