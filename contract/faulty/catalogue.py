"""Every fault by its name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from contract.faulty.behaviours import BEHAVIOURS
from contract.faulty.bodies import BODIES
from contract.faulty.breaks import BREAKS
from contract.faulty.certificates import TLS
from contract.faulty.deferred import DEFERRED
from contract.faulty.documents import DOCUMENTS
from contract.faulty.faults import Fault, FaultError, split_name
from contract.faulty.refusals import REFUSALS
from contract.words import gettext_noop

__all__ = ["FAULTS", "choose", "choose_all"]

LISTENING = (
    Fault(
        name="connect_refused",
        sentence=gettext_noop("Holds the port and refuses every connection."),
        listen="refuse",
    ),
    Fault(
        name="connect_timeout",
        sentence=gettext_noop("Leaves every attempt to connect unanswered (on Linux)."),
        listen="ignore",
    ),
)

FAULTS: Mapping[str, Fault] = {
    fault.name: fault for fault in (*REFUSALS, *BEHAVIOURS, *DEFERRED, *DOCUMENTS, *BODIES, *BREAKS, *LISTENING, *TLS)
}


def choose(choice: str) -> Fault:
    """Return the fault that ``NAME[@ENDPOINT][:ARGUMENT]`` asks for. Raises `FaultError`."""
    name, endpoint, argument = split_name(choice, FAULTS)
    fault = FAULTS[name].chosen(endpoint, argument)
    if name == "status":
        for step in fault.argument.split(","):
            _check_step(step.strip())
    return fault


def choose_all(choices: Iterable[str]) -> tuple[Fault, ...]:
    """Return the faults that `choices` ask for, in this order. Raises `FaultError`."""
    faults = tuple(choose(choice) for choice in choices)
    if len([fault for fault in faults if fault.listen]) > 1:
        raise FaultError("a server can listen in one way only: choose one of the tls and connect faults")
    return faults


def _check_step(step: str) -> None:
    if not step.isdigit() and step != "ok" and (step not in FAULTS or FAULTS[step].write is None):
        raise FaultError(f"status: expected a status, ok or the name of a fault on the wire, got {step!r}")
