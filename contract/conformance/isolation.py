"""Does each user see their own memories and nobody else's."""

from __future__ import annotations

from contract.conformance.findings import Ended, Finding, found, passed
from contract.conformance.probe import Probe

__all__ = ["neighbours", "twins"]

QUESTION = "What is the name of my boat?"


async def _name_boats(probe: Probe, users: list[str]) -> dict[str, str]:
    """Give each user a boat of a name that nobody else's has. Raises `Ended`."""
    boats = {user: probe.token() for user in users}
    for user, boat in boats.items():
        (await probe.add(probe.request(user, f"The name of my boat is {boat}."))).needed()
    return boats


async def _look(probe: Probe, boats: dict[str, str], leak: str) -> Finding:
    """Search as each user in turn: their own boat must be there, and none of the others."""
    for user, boat in boats.items():
        called = (await probe.search(user, QUESTION)).needed()
        for other, foreign in boats.items():
            if other != user and called.holds(foreign):
                raise Ended(found(leak, called.sent, f"{foreign} ← {other!r}", user=user, other=other))
        if not called.holds(boat):
            raise Ended(found("not_visible", called.sent, f"{called.came}, {boat}: 0"))
    return passed(called.sent, called.came)


async def twins(probe: Probe) -> Finding:
    """Two users who said the same sentence with another name in it each find their own."""
    return await _look(probe, await _name_boats(probe, [probe.user("twin-a"), probe.user("twin-b")]), "leak_twin")


async def neighbours(probe: Probe) -> Finding:
    """Users whose ids differ in case, by a digit, by a space or by a mark are different users."""
    base = probe.user("conv-1")
    others = [base + "0", base.upper(), base[:-1], base + " ", base + "%", base.replace("-", "_"), base + "\u0301"]
    return await _look(probe, await _name_boats(probe, [base, *others]), "leak_neighbour")
