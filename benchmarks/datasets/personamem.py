"""PersonaMem's file formats, versions 1 and 2: what a person told an assistant, and choices or replies that fit them.

Source: public descriptions of bowen-upenn/PersonaMem-v1 and -v2; neither could be read here, so column names, the names
of types and the form of cells aren't proved against a real file. A type that the tables below don't name is kept
and counts as personalisation. `evidence` (version 1) and `question_id` (version 2) are columns of our own, optional.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final

from benchmarks.datasets.kind import DatasetKind
from benchmarks.datasets.model import Question, Role, Scope, Session, Turn
from benchmarks.datasets.reading import Record, read_json
from benchmarks.datasets.streaming import read_json_lines
from benchmarks.datasets.tables import Table, parse_literal
from contract.words import gettext_noop

__all__ = ["PERSONAMEM", "PERSONAMEM2", "load_personamem", "load_personamem2"]

PERSONAMEM_TYPES: Final[Mapping[str, str]] = {
    "recall_user_shared_facts": gettext_noop("Facts the user shared"),
    "recalling_facts_mentioned_by_the_user": gettext_noop("Facts the user mentioned"),
    "acknowledge_latest_user_preferences": gettext_noop("Latest preferences"),
    "track_full_preference_evolution": gettext_noop("How preferences changed"),
    "recalling_the_reasons_behind_previous_updates": gettext_noop("Reasons for a change"),
    "provide_preference_aligned_recommendations": gettext_noop("Fitting recommendations"),
    "suggest_new_ideas": gettext_noop("New ideas"),
    "generalizing_to_new_scenarios": gettext_noop("New situations"),
}
PERSONAMEM_CAPABILITIES: Final[Mapping[str, str]] = {
    "recall_user_shared_facts": "A",
    "recalling_facts_mentioned_by_the_user": "A",
    "acknowledge_latest_user_preferences": "D",
    "track_full_preference_evolution": "C",
    "recalling_the_reasons_behind_previous_updates": "B",
    "provide_preference_aligned_recommendations": "E",
    "suggest_new_ideas": "E",
    "generalizing_to_new_scenarios": "E",
}
PERSONAMEM2_TYPES: Final[Mapping[str, str]] = {
    "stereotypical_pref": gettext_noop("Expected preferences"),
    "anti_stereotypical_pref": gettext_noop("Unexpected preferences"),
    "neutral_preferences": gettext_noop("Neutral preferences"),
    "therapy_background": gettext_noop("Personal background"),
    "health_and_medical_conditions": gettext_noop("Health"),
    "sensitive_info": gettext_noop("Sensitive information"),
    "ask_to_forget": gettext_noop("Asked to forget"),
}
PERSONAMEM2_CAPABILITIES: Final[Mapping[str, str]] = {
    "stereotypical_pref": "E",
    "anti_stereotypical_pref": "E",
    "neutral_preferences": "E",
    "therapy_background": "E",
    "health_and_medical_conditions": "E",
    "sensitive_info": "H",
    "ask_to_forget": "D",
}
_OTHER_TYPE: Final = "E"

_LETTERS: Final = "abcd"
_ROLES: Final[Mapping[str, Role]] = {"user": "user", "assistant": "assistant"}
_SYSTEM: Final = "system"
# Columns of version 2 that name a history, the first whose file belongs to the bundle counts.
_HISTORIES: Final = ("chat_history_32k_link", "chat_history_128k_link", "chat_history_link")


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a question's row stands: its table, the byte at which it begins, its number."""

    table: Table
    byte: int
    number: int

    def row(self) -> Record:
        return self.table.row(self.byte, self.number)


def load_personamem(folder: Path, files: Sequence[str]) -> Iterator[Scope]:
    """Yield each context of version 1 that a question names as a scope, in the order of the context files.

    A context is written once. A question is asked after the first `end_index_in_shared_context` messages of it and
    before the next, so that it never sees what comes later; sessions begin at such places and at system messages. A
    system message describes the user, is part of what the published evaluation shows the model, and is written as the
    user's. A turn's id is `m<index>` in the context. Raises DatasetError.
    """
    tables = [name for name in files if name.endswith(".csv")]
    places = _places(folder, tables, lambda row: row.text("shared_context_id"))
    for name in files:
        if name in tables:
            continue
        for line, _, value in read_json_lines(folder / name):
            contexts = Record(value, file=name, record=f"line {line}")
            for key in contexts.fields:
                if key in places:
                    yield _context(key, contexts, places.pop(key))
    _refuse_unfound(places, "shared_context_id")


def load_personamem2(folder: Path, files: Sequence[str]) -> Iterator[Scope]:
    """Yield each chat history of version 2 that a question names as a scope, in the order of the questions.

    All questions are asked after the whole history. Its system message is left out: the history was made from that
    description, which holds the answers. A row with wrong answers is a choice, whose options stand in an order drawn
    by SHA-256 of the question's id; a row without them asks for a reply. Evidence are the turns that
    `related_conversation_snippet` quotes. Raises DatasetError.
    """
    tables = [name for name in files if name.endswith(".csv")]
    places = _places(folder, tables, lambda row: _history(row, files))
    ids: Counter[str] = Counter()
    for name, rows in places.items():
        key = Path(name).stem
        ids[key] += 1
        if ids[key] > 1:
            rows[0].row().fail(
                "dataset_duplicate_id", _HISTORIES[0], gettext_noop("two histories of the bundle have this name")
            )
        history = Record(read_json(folder / name), file=name, record="")
        sessions = _sessions(history, "chat_history", history.children("chat_history"), (), with_system=False)
        turns = [turn for session in sessions for turn in session.turns]
        yield Scope(key=key, sessions=sessions, questions=tuple(_reply(key, place, turns) for place in rows))


def _places(folder: Path, tables: Sequence[str], scope_of: Callable[[Record], str]) -> dict[str, list[_Place]]:
    """Return where the questions of each scope stand, so that only those of one scope are held at a time."""
    places: dict[str, list[_Place]] = {}
    seen: set[str] = set()
    for name in tables:
        table = Table(folder / name)
        for byte, number, row in table.rows():
            key = row.fields.get("question_id")
            if key and key in seen:
                row.fail("dataset_duplicate_id", "question_id", gettext_noop("this id stands twice in the bundle"))
            if key:
                seen.add(key)
            places.setdefault(scope_of(row), []).append(_Place(table, byte, number))
    return places


def _refuse_unfound(places: Mapping[str, Sequence[_Place]], field: str) -> None:
    for key, rows in places.items():
        rows[0].row().fail("dataset_reference", field, gettext_noop('no file has a context "%(got)s"'), got=key[:60])


def _context(key: str, contexts: Record, places: Sequence[_Place]) -> Scope:
    messages = contexts.children(key)
    found = [_choice(place.row(), len(messages)) for place in places]
    found.sort(key=lambda pair: pair[0])
    ends = [end for end, _ in found]
    sessions = _sessions(contexts, key, messages, ends, with_system=True)
    begins = [int(session.turns[0].turn_id[1:]) for session in sessions]
    return Scope(
        key=key,
        sessions=sessions,
        questions=tuple(question for _, question in found),
        asked_after=tuple(sum(begin < end for begin in begins) for end in ends),
    )


def _sessions(
    context: Record, name: str, messages: Sequence[Record], ends: Sequence[int], *, with_system: bool
) -> tuple[Session, ...]:
    """Return the messages as sessions, a new one at each system message and at each of `ends`."""
    cuts = set(ends)
    sessions: list[list[Turn]] = [[]]
    for index, message in enumerate(messages):
        role = message.text("role")
        if role != _SYSTEM and role not in _ROLES:
            message.fail(
                "dataset_role", "role",
                gettext_noop('expected one of %(expected)s, got "%(got)s"'),
                expected=", ".join((*_ROLES, _SYSTEM)), got=role[:60],
            )  # fmt: skip
        if role == _SYSTEM or index in cuts:
            sessions.append([])
        content = message.string("content")
        if role != _SYSTEM or with_system:
            sessions[-1].append(Turn(_ROLES.get(role, "user"), content, None, f"m{index}"))
    kept = [turns for turns in sessions if turns]
    if not kept:
        context.fail("dataset_empty", name, gettext_noop("expected at least one message"))
    return tuple(Session(key=f"s{turns[0].turn_id[1:]}", turns=tuple(turns)) for turns in kept)


def _choice(row: Record, messages: int) -> tuple[int, Question]:
    """Return a question of version 1 and the number of messages that come before it."""
    key = row.record = row.text("question_id")
    end = _whole(row, "end_index_in_shared_context", messages)
    options = _options(row)
    letter = row.text("correct_answer").strip().strip("()").lower()
    if len(letter) != 1 or letter not in _LETTERS[: len(options)]:
        row.fail(
            "dataset_answer", "correct_answer", gettext_noop('expected the letter of an option, got "%(got)s"'),
            got=row.fields["correct_answer"][:60],
        )  # fmt: skip
    category = row.text("question_type")
    question = Question(
        key=key,
        query=row.text("user_question_or_message"),
        options=options,
        gold=f"({letter})",
        category=category,
        capability=PERSONAMEM_CAPABILITIES.get(category, _OTHER_TYPE),
        evidence=_evidence(row, end),
        kind="single_choice",
    )
    return end, question


def _whole(row: Record, name: str, most: int) -> int:
    text = row.text(name).strip()
    value = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0
    if not 1 <= value <= most:
        row.fail(
            "dataset_index", name,
            gettext_noop('expected a whole number from 1 to %(expected)d, got "%(got)s"'),
            expected=most, got=text[:60],
        )  # fmt: skip
    return value


def _options(row: Record) -> tuple[str, ...]:
    """Return the texts of `all_options` without their letters."""
    texts = _list(row, "all_options", len(_LETTERS), len(_LETTERS))
    plain = []
    for letter, text in zip(_LETTERS, texts, strict=True):
        stripped = text.strip()
        head = f"({letter})"
        plain.append(stripped[len(head) :].strip() if stripped.lower().startswith(head) else stripped)
    if len(set(plain)) < len(plain) or not all(plain):
        row.fail("dataset_options", "all_options", gettext_noop("expected options that differ, none of them blank"))
    return tuple(plain)


def _list(row: Record, name: str, least: int, most: int) -> list[str]:
    value = parse_literal(row.text(name))
    if not isinstance(value, list) or not least <= len(value) <= most or not all(isinstance(v, str) for v in value):
        row.fail(
            "dataset_options", name,
            gettext_noop("expected a list of %(least)d to %(most)d texts, as JSON or as Python writes it"),
            least=least, most=most,
        )  # fmt: skip
    return value


def _evidence(row: Record, end: int) -> tuple[str, ...]:
    text = row.optional_text("evidence").strip()
    if not text:
        return ()
    value = parse_literal(text)
    known = range(end)
    if not isinstance(value, list) or not all(type(v) is int and v in known for v in value):
        row.fail("dataset_index", "evidence", gettext_noop("expected a list of messages before the question's place"))
    return tuple(f"m{index}" for index in value)


def _history(row: Record, files: Sequence[str]) -> str:
    """Return the file of the history that a row of version 2 names."""
    links = [row.optional_text(name).strip() for name in _HISTORIES]
    found = next((link for link in links if link in files), None)
    if found is None:
        row.fail(
            "dataset_reference", _HISTORIES[0],
            gettext_noop('the bundle has no file "%(got)s"'), got=next(filter(None, links), "")[:80],
        )  # fmt: skip
    return found


def _reply(scope: str, place: _Place, turns: Sequence[Turn]) -> Question:
    """Return a question of version 2: a choice, or one that asks for a reply."""
    row = place.row()
    key = row.optional_text("question_id") or f"{scope}-q{place.number}"
    row.record = key
    right, category = row.text("correct_answer").strip(), row.text("pref_type")
    options = _shuffled(key, row, right) if row.optional_text("incorrect_answers").strip() else None
    return Question(
        key=key,
        query=_query(row),
        options=options,
        gold=right,
        category=category,
        capability=PERSONAMEM2_CAPABILITIES.get(category, _OTHER_TYPE),
        evidence=_quoted(row, turns),
        kind="single_choice" if options else "preference",
    )


def _query(row: Record) -> str:
    """Return the user's message, which the published file writes as {'role': 'user', 'content': ...}."""
    text = row.text("user_query")
    value = parse_literal(text) if text.lstrip().startswith("{") else None
    if not isinstance(value, dict):
        return text
    return Record(value, file=row.file, record=row.record, where="user_query").text("content")


def _shuffled(key: str, row: Record, right: str) -> tuple[str, ...] | None:
    wrong = [text.strip() for text in _list(row, "incorrect_answers", 0, len(_LETTERS) - 1)]
    options = [right, *wrong]
    if len(set(options)) < len(options) or not all(options):
        row.fail(
            "dataset_options", "incorrect_answers", gettext_noop("expected options that differ, none of them blank")
        )
    if not wrong:
        return None
    order = sorted(range(len(options)), key=lambda index: sha256(f"{key}\n{index}".encode()).digest())
    return tuple(options[index] for index in order)


def _quoted(row: Record, turns: Sequence[Turn]) -> tuple[str, ...]:
    """Return the turns that a snippet quotes to the letter; a snippet in another form quotes none."""
    value = parse_literal(row.optional_text("related_conversation_snippet") or "null")
    said = {repr(each.get("content")) for each in value if isinstance(each, dict)} if isinstance(value, list) else ()
    return tuple(turn.turn_id for turn in turns if said and repr(turn.content) in said)


PERSONAMEM: Final = DatasetKind(
    id="personamem",
    title=gettext_noop("PersonaMem: a person as they change"),
    track="textual",
    metric="personamem.mcq.v1",
    judge="",
    load=load_personamem,
    patterns=("questions_*.csv", "shared_contexts_*.jsonl"),
    categories=PERSONAMEM_TYPES,
    capabilities=PERSONAMEM_CAPABILITIES,
)
PERSONAMEM2: Final = DatasetKind(
    id="personamem2",
    title=gettext_noop("PersonaMem 2: choices and replies that fit a person"),
    track="textual",
    metric="personamem.words.v1",
    judge="personamem.judge.v1",
    load=load_personamem2,
    patterns=("*.csv", "benchmark/text/benchmark.csv", "data/chat_history_32k/*.json"),
    categories=PERSONAMEM2_TYPES,
    capabilities=PERSONAMEM2_CAPABILITIES,
)
