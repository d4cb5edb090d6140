"""Who is let in: the right key, and nobody else."""

from __future__ import annotations

from collections.abc import Callable

from contract.client import Target
from contract.conformance.findings import Finding, found, passed
from contract.conformance.probe import Probe
from contract.messages import SearchRequest, encode

__all__ = ["credential_kept", "no_key", "right_key", "wrong_key"]

WRONG_KEY = "agentmem-check-wrong-key-0000"
REFUSED = (401, 403)


async def right_key(probe: Probe) -> Finding:
    """The key of the check is accepted by Add and Search."""
    add = await probe.add(probe.request(probe.user("key"), "The spare key hangs in the shed."))
    search = await probe.search(probe.user("key"), "Where does the spare key hang?")
    for called in (add, search):
        if called.receipt.http_status in REFUSED:
            return found(called.code, called.sent, called.came)
    return passed(search.sent, f"{add.came}; {search.came}")


async def wrong_key(probe: Probe) -> Finding:
    """A key that is wrong in all but its form is refused."""
    return await _refused(probe, "wrong_key_accepted", lambda url: Target(url, probe.auth, lambda: WRONG_KEY))


async def no_key(probe: Probe) -> Finding:
    """A caller without a key is refused."""
    return await _refused(probe, "no_key_accepted", probe.without_key)


async def _refused(probe: Probe, accepted: str, caller: Callable[[str], Target]) -> Finding:
    user, came = probe.user("stranger"), []
    bodies = {
        "add": encode(probe.request(user, "A stranger was here.")),
        "search": encode(SearchRequest(query="Who was here?", user_id=user, top_k=1)),
    }
    for endpoint, body in bodies.items():
        url = probe.addresses.add if endpoint == "add" else probe.addresses.search
        called = await probe.raw(endpoint, body, target=caller(url))
        status = called.receipt.http_status
        if status is not None and 200 <= status < 300:
            return found(accepted, called.sent, f"HTTP {status}")
        if status not in REFUSED:
            return found("wrong_key_status" if status else called.code, called.sent, called.came)
        came.append(f"{endpoint}: {status}")
    return passed(called.sent, ", ".join(came))


async def credential_kept(probe: Probe) -> Finding:
    """No answer so far held the key that was sent."""
    if probe.echoes:
        return found("credential_echoed", probe.echoes[0], "***", answers=len(probe.echoes))
    return passed()
