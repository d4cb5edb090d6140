"""What a dataset holds, whatever file it came from: scopes of sessions of turns, and the questions about them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from contract.words import gettext_noop

__all__ = ["CAPABILITIES", "DatasetError", "Question", "Role", "Scope", "Session", "Turn"]

Role = Literal["user", "assistant"]

CAPABILITIES: Final[Mapping[str, str]] = {
    "A": gettext_noop("Explicit facts"),
    "B": gettext_noop("Relations and multi-hop"),
    "C": gettext_noop("Time and events"),
    "D": gettext_noop("Memory governance"),
    "E": gettext_noop("Personalisation"),
    "G": gettext_noop("Rules and process"),
    "H": gettext_noop("Epistemic safety and privacy"),
}


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of a conversation; `timestamp_ms` is Unix time in ms, None when the source has none."""

    role: Role
    content: str
    timestamp_ms: int | None
    turn_id: str


@dataclass(frozen=True, slots=True)
class Session:
    """Turns that were said in one sitting, in order; `key` is unique within its scope."""

    key: str
    turns: tuple[Turn, ...]


@dataclass(frozen=True, slots=True)
class Question:
    """A question about one scope.

    `gold` is the reference answer as text, empty where the source gives none. `category` is the dataset's own name
    for the kind of question and `capability` the board's column, a letter of CAPABILITIES. `evidence` holds ids of
    turns that exist in the scope. `kind` says how an answer looks (free, single_choice, multi_select, ordering).
    An unanswerable question wants a refusal. `rubric` lists what a right answer must hold, where the dataset scores by
    such a list. `asked_at_ms` is when the question is asked, Unix time in ms, None where the source doesn't say.
    A question that is asked again later has the same key and the next `step`.
    """

    key: str
    query: str
    options: tuple[str, ...] | None
    gold: str
    category: str
    capability: str
    evidence: tuple[str, ...]
    kind: str = "free"
    answerable: bool = True
    rubric: tuple[str, ...] = ()
    asked_at_ms: int | None = None
    step: int = 0


@dataclass(frozen=True, slots=True)
class Scope:
    """One user's conversation: everything that is written for a user id, and what is asked of it.

    Without `asked_after` all questions are asked when everything is written. Otherwise it holds, for each question, the
    number of sessions that are written before it is asked, in ascending order.
    """

    key: str
    sessions: tuple[Session, ...]
    questions: tuple[Question, ...]
    asked_after: tuple[int, ...] = ()

    def in_order(self) -> Iterator[Session | Question]:
        """Yield sessions and questions in the order in which they are written and asked."""
        after = self.asked_after or (len(self.sessions),) * len(self.questions)
        asked = 0
        for written in range(len(self.sessions) + 1):
            while asked < len(self.questions) and after[asked] <= written:
                yield self.questions[asked]
                asked += 1
            yield from self.sessions[written : written + 1]

    def written_before(self, question: Question) -> tuple[Session, ...]:
        """The sessions that are written when `question`, one of this scope's, is asked."""
        after = dict(zip(((each.key, each.step) for each in self.questions), self.asked_after, strict=False))
        return self.sessions[: after.get((question.key, question.step), len(self.sessions))]


class DatasetError(ValueError):
    """A dataset file that can't be used, with the place that is off.

    `message` is an English template with %(name)s placeholders that `values` fill, so that whoever shows it can
    translate it; `str()` gives the English sentence behind file, record and field. `code` is for machines.
    """

    def __init__(
        self, code: str, *, file: str, record: str = "", field: str = "", message: str, **values: object
    ) -> None:
        self.code = code
        self.file = file
        self.record = record
        self.field = field
        self.message = message
        self.values = values
        super().__init__(f"{self.place}: {message % values}")

    @property
    def place(self) -> str:
        """File, record and field, as far as they are known: `locomo10.json, conv-26, qa[3].answer`."""
        return ", ".join(part for part in (self.file, self.record, self.field) if part)
