"""The reviewer's page: one question of a run with everything that was said, returned, answered and judged."""

from dataclasses import dataclass, field
from typing import Any

from django.db.models import Q
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from contract.memories import Memory
from evaluation.evidence.prompts import Prompt, rebuild_answer_prompt, rebuild_judge_prompt
from evaluation.evidence.reading import ItemEvidence, open_item
from evaluation.models import Answer, Event, Item, Job, Judgement, Receipt
from evaluation.pipeline.answering.model import memory_text

__all__ = ["PAGE", "QuestionPage", "open_question", "questions_after"]

PAGE = 50
_BODY_SHOWN = 4000

PROBLEMS: dict[str, str | Promise] = {
    "purged": _("The evidence was removed when its time was over; hashes and scores stay."),
    "file_missing": _("The file of this evidence is not in the storage. Restore it from the backup."),
    "file_damaged": _("The file of this evidence can't be read. Restore it from the backup."),
    "not_kept": _("Nothing was returned for this question yet, or it was not kept."),
}


@dataclass(frozen=True, slots=True)
class ShownMemory:
    """A memory with its place, and whether the answer model saw it."""

    rank: int
    memory: Memory
    text: str
    images: int
    is_used: bool


@dataclass(frozen=True, slots=True)
class ShownReceipt:
    """An attempt with the beginning of its body, where one was kept."""

    receipt: Receipt
    body: str
    body_size: int | None


@dataclass(frozen=True, slots=True)
class ShownPrompt:
    """A prompt built again; `matches` is None where no hash was kept."""

    prompt: Prompt
    kept_sha256: str

    @property
    def matches(self) -> bool | None:
        """Whether this is the prompt that was sent."""
        return self.prompt.sha256 == self.kept_sha256 if self.kept_sha256 else None


@dataclass(frozen=True, slots=True)
class QuestionPage:
    """Everything about one question. What is missing is None or empty, and `problem` says why."""

    item: Item
    evidence: ItemEvidence
    problem: str | Promise
    memories: list[ShownMemory]
    receipts: list[ShownReceipt]
    answer: Answer | None
    answer_prompt: ShownPrompt | None
    judgements: list[Judgement]
    judge_prompt: ShownPrompt | None
    before: Item | None
    after: Item | None
    options: list[tuple[str, str]] = field(default_factory=list)


def questions_after(job: Job, *, after: int, state: str = "", key: str = "") -> list[Item]:
    """The next `PAGE` questions of a run behind the item `after`, with one more when there are more."""
    items = Item.objects.filter(job=job, pk__gt=after)
    if state in Item.State.values:
        items = items.filter(state=state)
    if key:
        items = items.filter(question_key__contains=key)
    return list(items.select_related("scope").order_by("pk")[: PAGE + 1])


def open_question(job: Job, item_id: int) -> QuestionPage | None:
    """Open one question of `job`; None when it has none of that number. Reads nothing of the other questions."""
    item = Item.objects.select_related("scope", "retrieval", "answer").filter(job=job, pk=item_id).first()
    if item is None:
        return None
    evidence = open_item(item)
    answer: Answer | None = getattr(item, "answer", None)
    judgements = list(item.judgements.order_by("pk"))
    question = evidence.question
    return QuestionPage(
        item=item,
        evidence=evidence,
        problem=PROBLEMS.get(evidence.problem, evidence.problem),
        memories=_memories(evidence, answer),
        receipts=_receipts(item, evidence),
        answer=answer,
        answer_prompt=_answer_prompt(job, evidence, answer),
        judgements=judgements,
        judge_prompt=_judge_prompt(job, evidence, answer, judgements),
        before=_neighbour(item, Q(ordinal__lt=item.ordinal), "-ordinal"),
        after=_neighbour(item, Q(ordinal__gt=item.ordinal), "ordinal"),
        options=list(zip("ABCDEFGHIJKLMNOPQRSTUVWXYZ", question.options or (), strict=False)) if question else [],
    )


def _neighbour(item: Item, side: Q, order: str) -> Item | None:
    return Item.objects.filter(side, scope=item.scope_id).order_by(order).first()


def _memories(evidence: ItemEvidence, answer: Answer | None) -> list[ShownMemory]:
    used = answer.memories_used if answer else 0
    return [
        ShownMemory(rank, memory, memory_text(memory), _images(memory), rank <= used)
        for rank, memory in enumerate(evidence.memories or (), 1)
    ]


def _images(memory: Memory) -> int:
    return 0 if isinstance(memory.content, str) else sum(not hasattr(part, "text") for part in memory.content)


def _receipts(item: Item, evidence: ItemEvidence) -> list[ShownReceipt]:
    bodies = {body.attempt: body for body in evidence.bodies}
    # Two look-ups by key rather than a join: right after a large run PostgreSQL has no statistics to plan one by.
    events = list(Event.objects.filter(scope=item.scope_id, ordinal=item.ordinal).values_list("pk", flat=True))
    attempts = Receipt.objects.filter(event__in=events).order_by("attempt")
    shown = []
    for receipt in attempts:
        body = bodies.get(receipt.attempt)
        text = body.data[:_BODY_SHOWN].decode("utf-8", "replace") if body else ""
        shown.append(ShownReceipt(receipt, text, body.size if body else None))
    return shown


def _answer_prompt(job: Job, evidence: ItemEvidence, answer: Answer | None) -> ShownPrompt | None:
    if answer is None or evidence.question is None or evidence.memories is None:
        return None
    shown = evidence.memories[: answer.memories_used]
    prompt = rebuild_answer_prompt(job.release.baseline, bytes(job.id_key), evidence.question, shown)
    return ShownPrompt(prompt, answer.prompt_sha256) if prompt else None


def _judge_prompt(
    job: Job, evidence: ItemEvidence, answer: Answer | None, judgements: list[Judgement]
) -> ShownPrompt | None:
    main: Any = next((row for row in judgements if row.column == "main" and row.prompt_sha256), None)
    if main is None or answer is None or evidence.question is None:
        return None
    prompt = rebuild_judge_prompt(job.release.baseline, bytes(job.id_key), main.metric, evidence.question, answer.text)
    return ShownPrompt(prompt, main.prompt_sha256) if prompt else None
