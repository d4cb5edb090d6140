"""Do the ids of an Add come back as they were sent."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from contract.conformance.findings import Finding, passed
from contract.conformance.probe import Probe

__all__ = ["ECHOES", "echo_of"]

ECHOES: Mapping[str, str] = {
    "echo_case": "Anna-KAROLINA-xYz",
    "echo_spaces": "two  spaces inside, one at the end ",
    "echo_non_ascii": "用户-Жанна-Ünï-e\u0301-ＡＢ",
    "echo_emoji": "🦊-👩‍👩‍👧",
}
"""What stands in all three ids, by the rule. The letters include a decomposed one, which NFC would change."""


def echo_of(rule: str) -> Callable[[Probe], Awaitable[Finding]]:
    """Return the rule that `ECHOES` names: an Add with such ids is answered with them."""

    async def check(probe: Probe) -> Finding:
        user = probe.user(ECHOES[rule])
        called = (await probe.add(probe.request(user, "I parked in row seven.", session=ECHOES[rule]))).needed()
        return passed(called.sent, called.came)

    return check
