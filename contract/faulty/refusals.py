"""Faults that refuse what is right, let in what is wrong, or answer with another status."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256

from contract.faulty.faults import After, Before, Fault, text, whole
from contract.faulty.visits import Answer, Visit, refusal
from contract.messages import AddRequest, ImagePart, SearchRequest
from contract.words import gettext_noop

__all__ = ["REFUSALS"]

ADD, SEARCH, HEALTH = ("add",), ("search",), ("health",)


def _refusing(wrong: Callable[[Visit, str], bool], status: int = 422) -> Before:
    async def before(visit: Visit, argument: str) -> Answer | None:
        if not wrong(visit, argument):
            return None
        return refusal(status, "refused", "This server does not take such a request.")

    return before


def _has_image(content: object, alone: bool) -> bool:
    parts = content if isinstance(content, tuple) else ()
    images = [isinstance(part, ImagePart) for part in parts]
    return bool(images) and (all(images) if alone else any(images))


def _images_added(alone: bool) -> Callable[[Visit, str], bool]:
    def wrong(visit: Visit, argument: str) -> bool:
        sent = visit.sent
        return isinstance(sent, AddRequest) and any(_has_image(message.content, alone) for message in sent.messages)

    return wrong


def _image_asked(visit: Visit, argument: str) -> bool:
    return isinstance(visit.sent, SearchRequest) and _has_image(visit.sent.query, alone=True)


def _lacks_time(visit: Visit, argument: str) -> bool:
    return isinstance(visit.sent, AddRequest) and any(message.timestamp is None for message in visit.sent.messages)


def _has_options(visit: Visit, argument: str) -> bool:
    return isinstance(visit.sent, SearchRequest) and visit.sent.options is not None


def _instead_of_refusing(answer: Callable[[Visit], Answer]) -> After:
    """Return an `after` that replaces what a malformed request is answered with."""
    return lambda visit, given, argument: answer(visit) if given.status in (400, 422) else given


def _welcome(visit: Visit) -> Answer:
    return Answer(200, {"success": True} if visit.request.endpoint == "add" else {"data": []})


async def _open_door(visit: Visit, argument: str) -> Answer | None:
    visit.authorized = visit.authorized or argument == "any" or not _credential(visit)
    return None


async def _closed_door(visit: Visit, argument: str) -> Answer | None:
    visit.authorized = False
    return None


def _credential(visit: Visit) -> str:
    headers = visit.request.headers
    return headers.get("authorization", "").rpartition(" ")[2] or headers.get("x-api-key", "")


def _give_back(visit: Visit, answer: Answer, argument: str) -> Answer:
    secret = _credential(visit)
    if argument == "header":
        return replace(answer, headers=(*answer.headers, ("X-You-Sent", secret)))
    if argument == "error":
        return refusal(500, "crash", f"KeyError: {secret}")
    if isinstance(answer.document, dict):
        return replace(answer, document={**answer.document, "you_sent": secret})
    return answer


async def _locked_health(visit: Visit, argument: str) -> Answer | None:
    return None if _credential(visit) else refusal(401, "auth_failed", "Send the key.")


async def _sick(visit: Visit, argument: str) -> Answer | None:
    return refusal(503, "down", "The memory is being rebuilt.")


async def _redirect(visit: Visit, argument: str) -> Answer | None:
    return Answer(int(argument), {}, (("Location", f"/v2/{visit.request.endpoint}"),))


async def _in_turn(visit: Visit, argument: str) -> Answer | None:
    """Take the next step for this very request; a number is a status, `ok` the right answer, else a fault's name."""
    steps = argument.split(",")
    seen = visit.count("steps", sha256(visit.request.path.encode() + visit.request.body).hexdigest())
    step = steps[min(seen, len(steps)) - 1].strip()
    if step in ("ok", "200"):
        return None
    if not step.isdigit():
        visit.write = step
        return None
    return refusal(int(step), f"http_{step}", "This status was asked for.")


async def _come_again(visit: Visit, argument: str) -> Answer | None:
    if visit.count("asked to wait", sha256(visit.request.body).hexdigest()) > 1:
        return None
    return replace(refusal(429, "busy", "Come again later."), headers=(("Retry-After", argument),))


def _steps(argument: str) -> object:
    for step in argument.split(","):
        step = step.strip()
        if step.isdigit() and not 200 <= int(step) <= 999:
            raise ValueError(f"got the status {step}")
        if not step.isdigit() and not step.replace("_", "").isalnum():
            raise ValueError(f"got {step!r}")
    return argument


REFUSALS = (
    Fault(
        name="status",
        sentence=gettext_noop(
            "Answers each request with these steps in turn, and its repetitions with the next; the last one stays. "
            "A step is a status, ok for the right answer, or the name of a fault on the wire."
        ),
        takes="STEP[,STEP...]",
        argument="503,503,200",
        check=_steps,
        before=_in_turn,
    ),
    Fault(
        name="retry_after",
        sentence=gettext_noop("Answers each request first with 429 and this Retry-After, then correctly."),
        takes="SECONDS|DATE",
        argument="1",
        before=_come_again,
    ),
    Fault(
        name="redirect",
        sentence=gettext_noop("Redirects to another path with this status."),
        takes="STATUS",
        argument="307",
        check=whole,
        before=_redirect,
    ),
    Fault(
        name="accepts_any_key",
        sentence=gettext_noop("Lets in whoever comes (any), or who sends no key at all (none)."),
        takes="any|none",
        argument="any",
        check=text("any", "none"),
        before=_open_door,
        door=True,
    ),
    Fault(name="refuses_right_key", sentence=gettext_noop("Lets nobody in."), before=_closed_door, door=True),
    Fault(
        name="credential_echo",
        sentence=gettext_noop("Returns the caller's key in its answers, in a header, or in an error."),
        takes="body|header|error",
        argument="body",
        check=text("body", "header", "error"),
        after=_give_back,
    ),
    Fault(
        name="health_needs_key",
        sentence=gettext_noop("Asks for the key at Health too."),
        on=HEALTH,
        before=_locked_health,
    ),
    Fault(name="health_down", sentence=gettext_noop("Answers Health with 503."), on=HEALTH, before=_sick),
    Fault(
        name="malformed_500",
        sentence=gettext_noop("Answers a malformed request with 500."),
        after=_instead_of_refusing(lambda _: refusal(500, "crash", "Internal server error")),
    ),
    Fault(
        name="malformed_accepted",
        sentence=gettext_noop("Answers a malformed request with 200."),
        after=_instead_of_refusing(_welcome),
    ),
    Fault(
        name="body_limit",
        sentence=gettext_noop("Answers 413 to a body of more than so many bytes."),
        takes="BYTES",
        argument="100000",
        check=whole,
        before=_refusing(lambda visit, most: len(visit.request.body) > int(most), 413),
    ),
    Fault(
        name="wants_timestamp",
        sentence=gettext_noop("Refuses messages without a timestamp."),
        on=ADD,
        before=_refusing(_lacks_time),
    ),
    Fault(
        name="refuses_options",
        sentence=gettext_noop("Refuses a Search with options."),
        on=SEARCH,
        before=_refusing(_has_options),
    ),
    Fault(
        name="refuses_images",
        sentence=gettext_noop("Refuses messages with an image."),
        on=ADD,
        before=_refusing(_images_added(alone=False)),
    ),
    Fault(
        name="refuses_image_only",
        sentence=gettext_noop("Refuses messages that are nothing but an image."),
        on=ADD,
        before=_refusing(_images_added(alone=True)),
    ),
    Fault(
        name="refuses_image_query",
        sentence=gettext_noop("Refuses a query that is nothing but an image."),
        on=SEARCH,
        before=_refusing(_image_asked),
    ),
)
