"""LoCoMo's file format: conversations of two speakers in dated sessions, with five categories of questions.

Source: the published locomo10.json of snap-research/locomo, whose oddities (whole numbers as answers, questions
without an answer or evidence, evidence that names no turn, dates without a session) are read as they are.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from benchmarks.datasets.kind import DatasetKind, each_file
from benchmarks.datasets.model import DatasetError, Question, Role, Scope, Session, Turn
from benchmarks.datasets.reading import Record, read_json
from contract.words import gettext_noop

__all__ = ["LOCOMO", "load_locomo", "parse_session_date"]

LOCOMO_CATEGORIES: Final[Mapping[str, str]] = {
    "1": gettext_noop("Multi-hop"),
    "2": gettext_noop("Temporal"),
    "3": gettext_noop("Open-domain"),
    "4": gettext_noop("Single-hop"),
    "5": gettext_noop("Adversarial"),
}
# Open-domain questions ask what a person, as the conversation shows them, would like or do.
LOCOMO_CAPABILITIES: Final[Mapping[str, str]] = {"1": "B", "2": "C", "3": "E", "4": "A", "5": "H"}
LOCOMO_UNANSWERABLE: Final = "5"

_SESSION: Final = re.compile(r"session_(\d+)")
_TURN_ID: Final = re.compile(r"D:?(\d+):(\d+)")
_DATE: Final = re.compile(r"(\d{1,2}):(\d{2}) ?([ap]m) on (\d{1,2}) ([A-Za-z]+),? (\d{4})", re.ASCII)
_MONTHS: Final = (
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
)  # fmt: skip


def load_locomo(path: Path) -> Iterator[Scope]:
    """Yield each conversation of a LoCoMo file as a scope, in the file's order.

    Sessions come in the order of their numbers; a session's date, read as UTC, stamps its turns. speaker_a is the
    user and speaker_b the assistant; content is `Name: text`, with ` [image: caption]` where there is one. A
    question's key is `<sample_id>-q<index>`. Raises DatasetError, with the place, for a file that is off.
    """
    samples = read_json(path)
    if not isinstance(samples, list):
        raise DatasetError(
            "dataset_not_list", file=path.name, message=gettext_noop("expected a list of conversations at the top")
        )
    seen: set[str] = set()
    for index, value in enumerate(samples):
        sample = Record(value, file=path.name, record=f"#{index}")
        key = sample.text("sample_id")
        sample.record = key
        if key in seen:
            sample.fail("dataset_duplicate_id", "sample_id", gettext_noop("this id stands twice in the file"))
        seen.add(key)
        yield _scope(key, sample)


def parse_session_date(text: str) -> int | None:
    """Return the Unix ms of a date like `1:56 pm on 8 May, 2023`, read as UTC; None for any other text."""
    match = _DATE.fullmatch(text.strip())
    if match is None or match[5].lower() not in _MONTHS or not 1 <= int(match[1]) <= 12:
        return None
    hour = int(match[1]) % 12 + (12 if match[3] == "pm" else 0)
    try:
        moment = datetime(
            int(match[6]), _MONTHS.index(match[5].lower()) + 1, int(match[4]), hour, int(match[2]), tzinfo=UTC
        )
    except ValueError:
        return None
    return int(moment.timestamp()) * 1000


def _scope(key: str, sample: Record) -> Scope:
    conversation = sample.child("conversation")
    sessions = _sessions(conversation)
    turn_ids = [turn.turn_id for session in sessions for turn in session.turns]
    known = set(turn_ids)
    if len(known) < len(turn_ids):
        doubled = next(turn_id for turn_id in turn_ids if turn_ids.count(turn_id) > 1)
        conversation.fail(
            "dataset_duplicate_id", "dia_id", gettext_noop("the turn id %(got)s stands twice"), got=doubled
        )
    questions = tuple(_question(f"{key}-q{index}", record, known) for index, record in enumerate(sample.children("qa")))
    return Scope(key=key, sessions=sessions, questions=questions)


def _sessions(conversation: Record) -> tuple[Session, ...]:
    roles = _roles(conversation)
    numbers = sorted(int(match[1]) for name in conversation.fields if (match := _SESSION.fullmatch(name)))
    sessions = []
    for number in numbers:
        name = f"session_{number}"
        stamp = _stamp(conversation, f"{name}_date_time")
        turns = tuple(_turn(record, roles, stamp) for record in conversation.children(name))
        if turns:
            sessions.append(Session(key=name, turns=turns))
    return tuple(sessions)


def _roles(conversation: Record) -> Mapping[str, Role]:
    user, assistant = conversation.text("speaker_a"), conversation.text("speaker_b")
    if user == assistant:
        conversation.fail(
            "dataset_speaker", "speaker_b", gettext_noop("expected another name than speaker_a's, got the same")
        )
    return {user: "user", assistant: "assistant"}


def _stamp(conversation: Record, name: str) -> int | None:
    text = conversation.optional_text(name)
    if not text:
        return None
    stamp = parse_session_date(text)
    if stamp is None:
        conversation.fail(
            "dataset_date", name,
            gettext_noop('expected a date like "1:56 pm on 8 May, 2023", got "%(got)s"'), got=text[:60],
        )  # fmt: skip
    return stamp


def _turn(record: Record, roles: Mapping[str, Role], stamp: int | None) -> Turn:
    speaker = record.text("speaker")
    if speaker not in roles:
        record.fail(
            "dataset_speaker", "speaker",
            gettext_noop('expected one of the two speakers, %(expected)s, got "%(got)s"'),
            expected=", ".join(roles), got=speaker[:60],
        )  # fmt: skip
    caption = record.optional_text("blip_caption")
    said = record.optional_text("text") if caption else record.text("text")
    parts = [f"{speaker}:", said, f"[image: {caption}]" if caption else ""]
    content = " ".join(part for part in parts if part)
    return Turn(role=roles[speaker], content=content, timestamp_ms=stamp, turn_id=record.text("dia_id"))


def _question(key: str, record: Record, known: set[str]) -> Question:
    category = str(record.whole_number("category"))
    if category not in LOCOMO_CATEGORIES:
        record.fail(
            "dataset_category", "category",
            gettext_noop("expected a category from 1 to 5, got %(got)s"), got=category,
        )  # fmt: skip
    return Question(
        key=key,
        query=record.text("question"),
        options=None,
        gold=_gold(record, category),
        category=category,
        capability=LOCOMO_CAPABILITIES[category],
        evidence=_evidence(record, known),
        answerable=category != LOCOMO_UNANSWERABLE,
    )


def _gold(record: Record, category: str) -> str:
    value = record.fields.get("answer")
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    if value is None and category == LOCOMO_UNANSWERABLE:
        return ""
    return record.text("answer")


def _evidence(record: Record, known: set[str]) -> tuple[str, ...]:
    """Return the turns that the evidence names, in order and once each; names of no turn are left out."""
    entries = record.items("evidence") if record.fields.get("evidence") is not None else []
    found: dict[str, None] = {}
    for entry in entries:
        if not isinstance(entry, str):
            record.fail_type("string", entry, "evidence")
        named = [entry] if entry in known else [f"D{int(a)}:{int(b)}" for a, b in _TURN_ID.findall(entry)]
        found.update(dict.fromkeys(turn_id for turn_id in named if turn_id in known))
    return tuple(found)


LOCOMO: Final = DatasetKind(
    id="locomo",
    title=gettext_noop("LoCoMo: long conversations of two people"),
    track="textual",
    metric="locomo.f1.v1",
    judge="yesno.judge.v1",
    load=each_file(load_locomo),
    patterns=("*.json",),
    categories=LOCOMO_CATEGORIES,
    capabilities=LOCOMO_CAPABILITIES,
    unanswerable=frozenset({LOCOMO_UNANSWERABLE}),
)
