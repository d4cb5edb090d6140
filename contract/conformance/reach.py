"""Can the platform get to the server: addresses, TLS, Health, and the first Add and Search."""

from __future__ import annotations

from contract.auth import AuthScheme
from contract.conformance.addresses import is_home, shown
from contract.conformance.findings import Finding, could_not_run, found, passed, skipped
from contract.conformance.probe import Probe
from contract.guard import GuardPolicy, Refused, deny_reason, parse_endpoint

__all__ = ["add_works", "health", "reachable", "resolved_address", "search_works", "tls", "url_form"]

TLS_CODES = frozenset({"tls_certificate", "tls_handshake"})


async def url_form(probe: Probe) -> Finding:
    """The four URLs follow the platform's grammar; a server at home is told what a public one would need."""
    addresses, home = probe.addresses, ""
    for url in (addresses.add, addresses.search, addresses.health, addresses.status):
        try:
            if url:
                parse_endpoint(url, GuardPolicy(), placeholder=url == addresses.status)
        except Refused as refused:
            if not is_home(url):
                return found(refused.code, shown(url), refused.detail)
            home = home or shown(url)
    return skipped("at_home", home) if home else passed(shown(addresses.add))


async def reachable(probe: Probe) -> Finding:
    """A connection comes about; what is answered on it is the next rules' affair."""
    called = await probe.knock()
    if not called.receipt.resolved_address and called.code not in TLS_CODES:
        return could_not_run(called.code, called.sent, called.came)
    return passed(called.sent, called.receipt.resolved_address)


async def tls(probe: Probe) -> Finding:
    """TLS with a certificate that the platform trusts, or plain http where that is fine."""
    url = probe.addresses.add
    if url.lower().startswith("https:"):
        called = await probe.knock()
        return called.finding() if called.code in TLS_CODES else passed(called.sent)
    if is_home(url):
        return skipped("plain_http_at_home", shown(url))
    return passed(shown(url)) if probe.auth is AuthScheme.NONE else found("plain_http", shown(url))


async def resolved_address(probe: Probe) -> Finding:
    """The address that was connected to is public."""
    address = (await probe.knock()).receipt.resolved_address
    if address and deny_reason(address, 443, GuardPolicy(allow_ipv6=True)):
        return skipped("at_home", shown(probe.addresses.add), address)
    return passed(shown(probe.addresses.add), address)


async def health(probe: Probe) -> Finding:
    """Health answers any 2xx without a key."""
    called = await probe.get(probe.addresses.health)
    if called.receipt.http_status in (401, 403):
        return found("health_needs_key", called.sent, called.came)
    return passed(called.sent, called.came) if called.ok else called.finding()


async def add_works(probe: Probe) -> Finding:
    """A plain Add is answered as the contract says."""
    called = (await probe.add(probe.request(probe.user("first"), "I keep my umbrella behind the door."))).needed()
    return passed(called.sent, called.came)


async def search_works(probe: Probe) -> Finding:
    """A plain Search is answered as the contract says."""
    called = (await probe.search(probe.user("first"), "Where do I keep my umbrella?")).needed()
    return passed(called.sent, called.came)
