"""Adds that are accepted with 202, and the ways in which their status can go wrong."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from hashlib import sha256

from contract.faulty.faults import Before, Fault, number
from contract.faulty.memory import stored
from contract.faulty.visits import Answer, Visit, refusal
from contract.messages import AddRequest
from contract.words import gettext_noop

__all__ = ["DEFERRED"]

ON = ("add", "add-status")


def _accepting(ready: Before, *, task_id: object = None) -> Before:
    """Return a `before` that accepts an Add under a task_id and asks `ready` when its status is wanted."""

    async def before(visit: Visit, argument: str) -> Answer | None:
        if visit.request.endpoint == "add-status":
            return await ready(visit, argument)
        if not isinstance(visit.message, AddRequest) or not isinstance(visit.sent, AddRequest):
            return None
        name = sha256(visit.request.body).hexdigest()[:16]
        visit.store(visit.message)
        visit.state.setdefault("accepted at", {}).setdefault(name, time.monotonic_ns())
        visit.adds.setdefault(name, visit.sent)
        document = {} if task_id == "" else {"task_id": task_id or name}
        return Answer(202, document, _wait(argument))

    return before


def _wait(argument: str) -> tuple[tuple[str, str], ...]:
    """Return a Retry-After where there is something to wait for."""
    seconds = math.ceil(float(argument or "0"))
    return (("Retry-After", str(seconds)),) if seconds else ()


def _task(visit: Visit) -> str:
    return visit.request.path.partition("?")[0].rpartition("/")[2]


async def _ready_after(visit: Visit, argument: str) -> Answer | None:
    since = visit.state.get("accepted at", {}).get(_task(visit))
    if since is None:
        return refusal(404, "unknown_task", "There is no such task.")
    if time.monotonic_ns() - since < float(argument) * 1e9:
        return Answer(202, {"status": "working"}, _wait(argument))
    return stored(visit.adds[_task(visit)])


async def _never(visit: Visit, argument: str) -> Answer | None:
    return Answer(202, {"status": "working"})


async def _lost(visit: Visit, argument: str) -> Answer | None:
    return refusal(404, "unknown_task", "There is no such task.")


async def _of_another(visit: Visit, argument: str) -> Answer | None:
    answer = await _ready_after(visit, "0")
    if answer is None or answer.status != 200 or not isinstance(answer.document, dict):
        return answer
    return replace(answer, document={**answer.document, "request_id": "another"})


DEFERRED = (
    Fault(
        name="accepted",
        sentence=gettext_noop(
            "Answers Add with 202 and is done so many seconds later, which an Add-status URL allows."
        ),
        on=ON,
        takes="SECONDS",
        argument="1",
        check=number,
        before=_accepting(_ready_after),
    ),
    Fault(
        name="accepted_never_done",
        sentence=gettext_noop("Answers Add with 202 and never gets done."),
        on=ON,
        before=_accepting(_never),
    ),
    Fault(
        name="accepted_and_lost",
        sentence=gettext_noop("Answers Add with 202 and then knows no such task."),
        on=ON,
        before=_accepting(_lost),
    ),
    Fault(
        name="accepted_for_another",
        sentence=gettext_noop("Answers Add with 202 and then with another request's ids."),
        on=ON,
        before=_accepting(_of_another),
    ),
    Fault(
        name="accepted_without_task",
        sentence=gettext_noop("Answers Add with 202 and no task_id."),
        on=ON,
        before=_accepting(_never, task_id=""),
    ),
    Fault(
        name="accepted_number",
        sentence=gettext_noop("Answers Add with 202 and a task_id that is a number."),
        on=ON,
        before=_accepting(_never, task_id=17),
    ),
    Fault(
        name="accepted_path",
        sentence=gettext_noop("Answers Add with 202 and a task_id that leads to another path."),
        on=ON,
        before=_accepting(_never, task_id="../admin"),
    ),
)
