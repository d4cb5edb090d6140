"""LongMemEval's file format: questions, each with a history of its own of dated sessions with an assistant.

Source: the published longmemeval_s file (xiaowu0162/longmemeval-cleaned), of which one instance was read here; that
answers may be whole numbers, and sessions or messages empty, is by its public description. Instances are read one by
one, so that memory doesn't grow with their number.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from benchmarks.datasets.kind import DatasetKind, each_file
from benchmarks.datasets.model import Question, Role, Scope, Session, Turn
from benchmarks.datasets.reading import Record
from benchmarks.datasets.streaming import read_json_items
from contract.words import gettext_noop

__all__ = ["ABSTENTION_CAPABILITY", "LONGMEMEVAL", "load_longmemeval", "parse_haystack_date"]

LONGMEMEVAL_TYPES: Final[Mapping[str, str]] = {
    "single-session-user": gettext_noop("What the user said"),
    "single-session-assistant": gettext_noop("What the assistant said"),
    "single-session-preference": gettext_noop("Preferences"),
    "multi-session": gettext_noop("Across sessions"),
    "temporal-reasoning": gettext_noop("Temporal reasoning"),
    "knowledge-update": gettext_noop("Updated facts"),
}
LONGMEMEVAL_CAPABILITIES: Final[Mapping[str, str]] = {
    "single-session-user": "A",
    "single-session-assistant": "A",
    "single-session-preference": "E",
    "multi-session": "B",
    "temporal-reasoning": "C",
    "knowledge-update": "D",
}
# A question that the history doesn't answer asks for a refusal, whatever its type.
ABSTENTION_CAPABILITY: Final = "H"

_ABSTENTION: Final = "_abs"
_PREFERENCE: Final = "single-session-preference"
_ROLES: Final[Mapping[str, Role]] = {"user": "user", "assistant": "assistant"}
_DATE: Final = re.compile(r"(\d{4})/(\d{1,2})/(\d{1,2}) (?:\([A-Za-z]{3}\) )?(\d{1,2}):(\d{2})", re.ASCII)


def load_longmemeval(path: Path) -> Iterator[Scope]:
    """Yield each instance of a LongMemEval file as a scope with one question, in the file's order.

    Sessions come in the order of their dates, which are read as UTC and stamp the turns; of two equal dates the
    file's order counts. A session without messages is left out; of two sessions with one id the second's key ends in
    `#2`. A turn's id is `<session>:<index>`. Evidence are the turns that `has_answer` marks, else all turns of the
    answer sessions. Raises DatasetError, with the place, for a file that is off.
    """
    seen: set[str] = set()
    for index, value in enumerate(read_json_items(path)):
        instance = Record(value, file=path.name, record=f"#{index}")
        key = instance.text("question_id")
        instance.record = key
        if key in seen:
            instance.fail("dataset_duplicate_id", "question_id", gettext_noop("this id stands twice in the file"))
        seen.add(key)
        yield _scope(key, instance)


def parse_haystack_date(text: str) -> int | None:
    """Return the Unix ms of a date like `2023/05/20 (Sat) 02:21`, read as UTC; None for any other text."""
    match = _DATE.fullmatch(text.strip())
    if match is None:
        return None
    try:
        return int(datetime(*map(int, match.groups()), tzinfo=UTC).timestamp()) * 1000  # type: ignore[arg-type, misc]
    except ValueError:
        return None


def _scope(key: str, instance: Record) -> Scope:
    ids, dates = instance.texts("haystack_session_ids"), instance.texts("haystack_dates")
    talks = instance.items("haystack_sessions")
    for name, values in (("haystack_session_ids", ids), ("haystack_dates", dates)):
        if len(values) != len(talks):
            instance.fail(
                "dataset_length", name,
                gettext_noop("expected one for each of %(expected)d sessions, got %(got)d"),
                expected=len(talks), got=len(values),
            )  # fmt: skip
    answers = set(instance.texts("answer_session_ids"))
    sessions: list[tuple[int, Session]] = []
    marked: list[str] = []
    told: list[str] = []
    used: dict[str, int] = {}
    for index, session_id in enumerate(ids):
        used[session_id] = used.get(session_id, 0) + 1
        name = session_id if used[session_id] == 1 else f"{session_id}#{used[session_id]}"
        stamp = _stamp(instance, dates[index], f"haystack_dates[{index}]")
        turns, has_answer = _turns(instance, index, name, stamp)
        marked += has_answer
        if session_id in answers:
            told += [turn.turn_id for turn in turns]
        if turns:
            sessions.append((stamp, Session(key=name, turns=turns)))
    ordered = tuple(session for _, session in sorted(sessions, key=lambda pair: pair[0]))
    return Scope(key=key, sessions=ordered, questions=(_question(key, instance, tuple(marked or told)),))


def _stamp(record: Record, text: str, name: str) -> int:
    stamp = parse_haystack_date(text)
    if stamp is None:
        record.fail(
            "dataset_date", name,
            gettext_noop('expected a date like "2023/05/20 (Sat) 02:21", got "%(got)s"'), got=text[:60],
        )  # fmt: skip
    return stamp


def _turns(instance: Record, index: int, session: str, stamp: int) -> tuple[tuple[Turn, ...], list[str]]:
    """Return the turns of the session at `index`, and the ids of those that hold the answer."""
    place = f"haystack_sessions[{index}]"
    talk = Record({place: instance.fields["haystack_sessions"][index]}, file=instance.file, record=instance.record)
    turns, marked = [], []
    for at, message in enumerate(talk.children(place)):
        turn_id = f"{session}:{at}"
        role = message.text("role")
        if role not in _ROLES:
            message.fail(
                "dataset_role", "role",
                gettext_noop('expected one of %(expected)s, got "%(got)s"'),
                expected=", ".join(_ROLES), got=role[:60],
            )  # fmt: skip
        turns.append(Turn(_ROLES[role], message.string("content"), stamp, turn_id))
        if message.flag("has_answer"):
            marked.append(turn_id)
    return tuple(turns), marked


def _question(key: str, instance: Record, evidence: tuple[str, ...]) -> Question:
    kind = instance.text("question_type")
    if kind not in LONGMEMEVAL_TYPES:
        instance.fail(
            "dataset_category", "question_type",
            gettext_noop('expected one of %(expected)s, got "%(got)s"'),
            expected=", ".join(LONGMEMEVAL_TYPES), got=kind[:60],
        )  # fmt: skip
    answerable = _ABSTENTION not in key
    return Question(
        key=key,
        query=instance.text("question"),
        options=None,
        gold=_gold(instance),
        category=kind,
        capability=LONGMEMEVAL_CAPABILITIES[kind] if answerable else ABSTENTION_CAPABILITY,
        evidence=evidence,
        kind="preference" if kind == _PREFERENCE else "free",
        answerable=answerable,
        asked_at_ms=_stamp(instance, instance.text("question_date"), "question_date"),
    )


def _gold(instance: Record) -> str:
    value = instance.fields.get("answer")
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    return instance.text("answer")


LONGMEMEVAL: Final = DatasetKind(
    id="longmemeval",
    title=gettext_noop("LongMemEval: long histories with an assistant"),
    track="textual",
    metric="words.refusal.v1",
    judge="longmemeval.judge.v1",
    load=each_file(load_longmemeval),
    patterns=("*.json",),
    categories=LONGMEMEVAL_TYPES,
    capabilities=LONGMEMEVAL_CAPABILITIES,
)
