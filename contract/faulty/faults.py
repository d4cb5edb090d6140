"""What a fault is made of, and how its name on the command line is read."""

from __future__ import annotations

import re
from asyncio import StreamWriter
from collections.abc import Awaitable, Callable, Container
from dataclasses import dataclass, replace

from contract.faulty.visits import Answer, Visit

__all__ = ["ENDPOINTS", "Before", "Fault", "FaultError", "Write", "number", "text", "whole"]

ENDPOINTS = ("add", "search", "health", "add-status")

Before = Callable[[Visit, str], Awaitable[Answer | None]]
After = Callable[[Visit, Answer, str], Answer]
Change = Callable[[bytes], bytes]
Write = Callable[[bytes, StreamWriter, str], Awaitable[None]]


class FaultError(ValueError):
    """A fault that cannot be: `str()` says what is wrong, in English."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One way to misbehave, on the requests to the endpoints in `on`.

    `before` sees a request first and may change it or answer it; `after` changes the answer's document, `change` its
    body's bytes; `write` gets the whole response as bytes and writes what it likes; `listen` names a way to listen. The
    `before` of a `door` decides who is let in; the other faults see only those who are. `prepare` runs before the
    port is taken. `takes` shows what may stand behind the colon, `argument` is what does, its default first.
    """

    name: str
    sentence: str
    on: tuple[str, ...] = ("add", "search")
    takes: str = ""
    argument: str = ""
    check: Callable[[str], object] = str
    before: Before | None = None
    after: After | None = None
    change: Change | None = None
    write: Write | None = None
    prepare: Callable[[], object] | None = None
    listen: str = ""
    door: bool = False

    def chosen(self, on: str, argument: str) -> Fault:
        """Return this fault for the endpoint `on` and with `argument`, either of them only when it is given.

        Raises `FaultError`.
        """
        if on and on not in ENDPOINTS:
            raise FaultError(f"{self.name}@{on}: expected one of {', '.join(ENDPOINTS)} behind the @")
        if argument and not self.takes:
            raise FaultError(f"{self.name}:{argument}: this fault takes nothing behind a colon")
        chosen = replace(self, on=(on,) if on else self.on, argument=argument or self.argument)
        try:
            chosen.check(chosen.argument)
        except ValueError as error:
            raise FaultError(f"{self.name}:{chosen.argument}: expected {self.name}:{self.takes}, {error}") from None
        return chosen


def number(argument: str) -> float:
    """Return a number of 0 or more. Raises `ValueError`."""
    if not re.fullmatch(r"[0-9]+(?:\.[0-9]+)?", argument):
        raise ValueError(f"got {argument!r}, which is no number")
    return float(argument)


def whole(argument: str) -> int:
    """Return a whole number of 0 or more. Raises `ValueError`."""
    if not re.fullmatch(r"[0-9]{1,12}", argument):
        raise ValueError(f"got {argument!r}, which is no whole number")
    return int(argument)


def text(*choices: str) -> Callable[[str], object]:
    """Return a check that only `choices` pass."""

    def check(argument: str) -> str:
        if argument not in choices:
            raise ValueError(f"got {argument!r}")
        return argument

    return check


def split_name(choice: str, known: Container[str]) -> tuple[str, str, str]:
    """Return name, endpoint and argument of ``NAME[@ENDPOINT][:ARGUMENT]``. Raises `FaultError`."""
    front, _, argument = choice.strip().partition(":")
    name, _, endpoint = front.partition("@")
    if name not in known:
        raise FaultError(f"there is no fault {name!r}; --fault list shows them all")
    return name, endpoint, argument
