"""Streaming plans: events in order, in which a user is asked between the messages and the same thing again later.

A format of this project's own, JSONL with an event a line: `{"user", "kind": "add", "session", "messages": [{"role",
"content", "timestamp"?}]}` or `{"user", "kind": "search", "id", "query", "answer", "category", "options"?,
"evidence"?, "asked_at"?}`. Times are Unix time in ms. Evidence names a session and the message's number in it from 1,
`monday:2`. A question that is asked again has the same id, and the answer that is right by then.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from benchmarks.datasets.kind import DatasetKind, each_file
from benchmarks.datasets.model import Question, Role, Scope, Session, Turn
from benchmarks.datasets.reading import Record, parse_json
from benchmarks.datasets.streaming import read_json_lines
from contract.words import gettext_noop

__all__ = ["STREAMING", "load_streams"]

STREAMING_CATEGORIES: Final[Mapping[str, str]] = {
    "fact": gettext_noop("Said once"),
    "update": gettext_noop("As it stands now"),
    "history": gettext_noop("As it was before"),
    "unknown": gettext_noop("Not told yet"),
}
STREAMING_CAPABILITIES: Final[Mapping[str, str]] = {"fact": "A", "update": "D", "history": "C", "unknown": "H"}
STREAMING_UNANSWERABLE: Final = "unknown"

_ROLES: Final[Mapping[str, Role]] = {"user": "user", "assistant": "assistant"}
_YEARS_MS: Final = range(-62_135_596_800_000, 253_402_300_799_999 + 1)
_Line = tuple[int, int]


def load_streams(path: Path) -> Iterator[Scope]:
    """Yield each user of a file as a scope, in the order in which they first appear.

    Events of several users may stand in any mixture; only where a user's lines are is held, never all their content.
    A session that goes on in a later Add is a session of its own on the wire. Raises DatasetError, with the place.
    """
    places: dict[str, list[_Line]] = {}
    for number, byte, value in read_json_lines(path):
        event = Record(value, file=path.name, record=f"line {number}")
        user = event.text("user")
        if event.text("kind") not in {"add", "search"}:
            event.fail(
                "dataset_kind", "kind", gettext_noop('expected "add" or "search", got "%(got)s"'),
                got=event.text("kind")[:60],
            )  # fmt: skip
        places.setdefault(user, []).append((number, byte))
    for user, lines in places.items():
        yield _scope(path, user, lines)


@dataclass(slots=True)
class _Stream:
    """A user's events as far as they were read."""

    sessions: list[Session] = field(default_factory=list)
    sittings: dict[str, int] = field(default_factory=dict)
    said: dict[str, int] = field(default_factory=dict)
    questions: list[Question] = field(default_factory=list)
    asked_after: list[int] = field(default_factory=list)
    steps: dict[str, int] = field(default_factory=dict)


def _scope(path: Path, user: str, lines: list[_Line]) -> Scope:
    stream = _Stream()
    with path.open("rb") as file:
        for number, byte in lines:
            file.seek(byte)
            event = Record(
                parse_json(file.readline(), file=path.name, line=number, byte=byte),
                file=path.name, record=f"line {number}",
            )  # fmt: skip
            if event.fields["kind"] == "add":
                _add(stream, event)
            else:
                _ask(stream, event, user)
    return Scope(
        key=user,
        sessions=tuple(stream.sessions),
        questions=tuple(stream.questions),
        asked_after=tuple(stream.asked_after),
    )


def _add(stream: _Stream, event: Record) -> None:
    name = event.text("session")
    sitting = stream.sittings[name] = stream.sittings.get(name, 0) + 1
    turns = []
    for message in event.children("messages"):
        stream.said[name] = stream.said.get(name, 0) + 1
        turns.append(_turn(message, f"{name}:{stream.said[name]}"))
    if not turns:
        event.fail("dataset_list_empty", "messages", gettext_noop("expected at least one message"))
    key = name if sitting == 1 else f"{name}+{sitting}"
    if any(session.key == key for session in stream.sessions):
        event.fail("dataset_duplicate_id", "session", gettext_noop("this id stands twice in the file"))
    stream.sessions.append(Session(key=key, turns=tuple(turns)))


def _turn(message: Record, turn_id: str) -> Turn:
    role = message.text("role")
    if role not in _ROLES:
        message.fail(
            "dataset_role", "role", gettext_noop('expected "user" or "assistant", got "%(got)s"'), got=role[:60]
        )
    return Turn(_ROLES[role], message.text("content"), _time(message, "timestamp"), turn_id)


def _ask(stream: _Stream, event: Record, user: str) -> None:
    key, category = f"{user}-{event.text('id')}", event.text("category")
    if category not in STREAMING_CATEGORIES:
        event.fail(
            "dataset_category", "category", gettext_noop('expected one of %(expected)s, got "%(got)s"'),
            expected=", ".join(STREAMING_CATEGORIES), got=category[:60],
        )  # fmt: skip
    step = stream.steps[key] = stream.steps.get(key, -1) + 1
    options = tuple(event.texts("options")) if event.fields.get("options") is not None else None
    is_answerable = category != STREAMING_UNANSWERABLE
    stream.questions.append(
        Question(
            key=key,
            query=event.text("query"),
            options=options or None,
            gold=event.text("answer") if is_answerable else event.optional_text("answer"),
            category=category,
            capability=STREAMING_CAPABILITIES[category],
            evidence=_evidence(stream, event),
            kind="single_choice" if options else "free",
            answerable=is_answerable,
            asked_at_ms=_time(event, "asked_at"),
            step=step,
        )
    )
    stream.asked_after.append(len(stream.sessions))


def _evidence(stream: _Stream, event: Record) -> tuple[str, ...]:
    named = event.texts("evidence") if event.fields.get("evidence") is not None else []
    known = {turn.turn_id for session in stream.sessions for turn in session.turns} if named else set()
    for turn_id in named:
        if turn_id not in known:
            event.fail(
                "dataset_evidence", "evidence",
                gettext_noop('nothing that was said before is called "%(got)s"'), got=turn_id[:60],
            )  # fmt: skip
    return tuple(dict.fromkeys(named))


def _time(record: Record, name: str) -> int | None:
    if record.fields.get(name) is None:
        return None
    time = record.whole_number(name)
    if time not in _YEARS_MS:
        record.fail("dataset_date", name, gettext_noop("expected Unix time in milliseconds, got %(got)s"), got=time)
    return time


STREAMING: Final = DatasetKind(
    id="streaming",
    title=gettext_noop("Streaming: asked in between, and again later"),
    track="textual",
    metric="words.refusal.v1",
    judge="yesno.judge.v1",
    load=each_file(load_streams),
    patterns=("*.jsonl",),
    categories=STREAMING_CATEGORIES,
    capabilities=STREAMING_CAPABILITIES,
    unanswerable=frozenset({STREAMING_UNANSWERABLE}),
)
