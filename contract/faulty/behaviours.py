"""Faults of a memory that speaks well and remembers badly."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256

import msgspec

from contract.faulty.faults import Before, Fault, number, text, whole
from contract.faulty.memory import stored
from contract.faulty.visits import Answer, Visit, refusal
from contract.messages import AddRequest, Message, SearchRequest
from contract.words import gettext_noop

__all__ = ["BEHAVIOURS"]

ADD, SEARCH, BOTH = ("add",), ("search",), ("add", "search")
MANY = 1000
NEIGHBOURS: dict[str, Callable[[str], str]] = {
    "case": str.casefold,
    "number": lambda user: user.rstrip("0123456789"),
    "space": str.strip,
}


def _as_user(rename: Callable[[str, str], str]) -> Before:
    """Return a `before` that has the memory see another user_id than was sent."""

    async def before(visit: Visit, argument: str) -> Answer | None:
        if visit.message is not None:
            visit.message = msgspec.structs.replace(visit.message, user_id=rename(visit.message.user_id, argument))
        return None

    return before


def _as_messages(change: Callable[[tuple[Message, ...], str], tuple[Message, ...]]) -> Before:
    """Return a `before` that has the memory see other messages than were sent."""

    async def before(visit: Visit, argument: str) -> Answer | None:
        if isinstance(visit.message, AddRequest):
            visit.message = msgspec.structs.replace(visit.message, messages=change(visit.message.messages, argument))
        return None

    return before


def _as_text(change: Callable[[str, str], str]) -> Before:
    def one(message: Message, argument: str) -> Message:
        if not isinstance(message.content, str):
            return message
        return msgspec.structs.replace(message, content=change(message.content, argument))

    return _as_messages(lambda messages, argument: tuple(one(message, argument) for message in messages))


async def _forget(visit: Visit, argument: str) -> Answer | None:
    return stored(visit.sent) if isinstance(visit.sent, AddRequest) else None


async def _store_later(visit: Visit, argument: str) -> Answer | None:
    message = visit.message
    if not isinstance(message, AddRequest):
        return None

    async def later() -> None:
        await asyncio.sleep(float(argument))
        await asyncio.to_thread(visit.store, message)

    visit.background(later())
    return await _forget(visit, argument)


async def _store_again(visit: Visit, argument: str) -> Answer | None:
    if isinstance(visit.message, AddRequest):
        fresh = f"{visit.message.request_id}#{visit.count('writes')}"
        visit.message = msgspec.structs.replace(visit.message, request_id=fresh)
    return None


async def _refuse_replay(visit: Visit, argument: str) -> Answer | None:
    if visit.sent and visit.count("bodies", sha256(visit.request.body).hexdigest()) > 1:
        return refusal(409, "conflict", "This request was stored before.")
    return None


async def _lose_parallel(visit: Visit, argument: str) -> Answer | None:
    """Keep one write at a time; those that come meanwhile are answered and lost."""
    alone = visit.count("in flight") == 1
    try:
        await asyncio.sleep(0.02)
        return None if alone else await _forget(visit, argument)
    finally:
        visit.count("in flight", by=-1)


async def _refuse_parallel(visit: Visit, argument: str) -> Answer | None:
    over = visit.count("at once") > int(argument)
    try:
        await asyncio.sleep(0.02)
        return refusal(503, "busy", "Too many requests at once.") if over else None
    finally:
        visit.count("at once", by=-1)


async def _return_many(visit: Visit, argument: str) -> Answer | None:
    if isinstance(visit.message, SearchRequest):
        visit.message = msgspec.structs.replace(visit.message, top_k=MANY)
    return None


def _invent(visit: Visit, answer: Answer, argument: str) -> Answer:
    if answer.document != {"data": []}:
        return answer
    return replace(answer, document={"data": [{"id": "known", "content": "The answer is well known."}]})


def _unknown_user(visit: Visit, answer: Answer, argument: str) -> Answer:
    return refusal(404, "unknown_user", "There is no such user.") if answer.document == {"data": []} else answer


BEHAVIOURS = (
    Fault(
        name="leaks_users",
        sentence=gettext_noop("Keeps one memory for everybody."),
        before=_as_user(lambda user, _: "everybody"),
    ),
    Fault(
        name="leaks_neighbours",
        sentence=gettext_noop(
            "Takes users for one whose ids differ in case, in a last number, or in spaces at the ends."
        ),
        takes="case|number|space",
        argument="number",
        check=text(*NEIGHBOURS),
        before=_as_user(lambda user, how: NEIGHBOURS[how](user) or user),
    ),
    Fault(name="forgets", sentence=gettext_noop("Answers Add and stores nothing."), on=ADD, before=_forget),
    Fault(
        name="visible_late",
        sentence=gettext_noop("Answers Add at once and stores so many seconds later."),
        on=ADD,
        takes="SECONDS",
        argument="1",
        check=number,
        before=_store_later,
    ),
    Fault(
        name="stores_twice",
        sentence=gettext_noop("Stores a repeated request once more."),
        on=ADD,
        before=_store_again,
    ),
    Fault(
        name="refuses_replay",
        sentence=gettext_noop("Answers a repeated request with 409."),
        on=ADD,
        before=_refuse_replay,
    ),
    Fault(
        name="loses_parallel",
        sentence=gettext_noop("Loses what is added while it stores something else."),
        on=ADD,
        before=_lose_parallel,
    ),
    Fault(
        name="refuses_parallel",
        sentence=gettext_noop("Answers 503 while it has more than so many requests at once."),
        takes="COUNT",
        argument="8",
        check=whole,
        before=_refuse_parallel,
    ),
    Fault(
        name="ignores_top_k",
        sentence=gettext_noop("Returns all that it finds, whatever top_k says."),
        on=SEARCH,
        before=_return_many,
    ),
    Fault(
        name="invents",
        sentence=gettext_noop("Returns a memory when it has none."),
        on=SEARCH,
        after=_invent,
    ),
    Fault(
        name="unknown_user_404",
        sentence=gettext_noop("Answers 404 instead of an empty list."),
        on=SEARCH,
        after=_unknown_user,
    ),
    Fault(
        name="ascii_only",
        sentence=gettext_noop("Stores a question mark for each character beyond ASCII."),
        on=ADD,
        before=_as_text(lambda content, _: content.encode("ascii", "replace").decode()),
    ),
    Fault(
        name="cuts_long",
        sentence=gettext_noop("Stores only so many characters of a message."),
        on=ADD,
        takes="COUNT",
        argument="1000",
        check=whole,
        before=_as_text(lambda content, most: content[: int(most) or 1]),
    ),
    Fault(
        name="first_message_only",
        sentence=gettext_noop("Stores only the first message of each Add."),
        on=ADD,
        before=_as_messages(lambda messages, _: messages[:1]),
    ),
)
