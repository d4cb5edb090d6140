"""The four addresses of a server under check, and whether they lie at home."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import urlsplit

from contract.guard import GuardPolicy, Refused, deny_reason, parse_endpoint

__all__ = ["Addresses", "addresses_below", "home_policy", "is_home", "shown"]


@dataclass(frozen=True, slots=True)
class Addresses:
    """Where Add, Search and Health stand; `status` holds ``{task_id}``, or is empty when Add answers at once."""

    add: str
    search: str
    health: str
    status: str = ""


def addresses_below(base: str, *, add: str = "", search: str = "", health: str = "", status: str = "") -> Addresses:
    """Return ``base/add``, ``base/search`` and ``base/health``, but for those that are given."""
    base = base.rstrip("/")
    return Addresses(add or f"{base}/add", search or f"{base}/search", health or f"{base}/health", status)


def home_policy(addresses: Addresses) -> GuardPolicy:
    """Return a guard that lets these very hosts and ports through, wherever they are, and is otherwise the platform's.

    For a check on the participant's own machine. A URL that cannot be read is left for the check to refuse.
    """
    urls = (addresses.add, addresses.search, addresses.health, addresses.status)
    return GuardPolicy(frozenset(target for url in urls if (target := _target(url))), allow_ipv6=True)


def _target(url: str) -> tuple[str, int] | None:
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        return None
    if not host:
        return None
    return host, port or (443 if parts.scheme == "https" else 80)


def is_home(url: str) -> bool:
    """Tell whether `url` names a host that only this machine or its network knows."""
    target = _target(url)
    if target is None:
        return False
    host, port = target
    try:
        ip_address(host)
    except ValueError:
        return _refusal_code(f"http://{host}/") in ("host_single_label", "host_special_use")
    return deny_reason(host, port, GuardPolicy(allow_ipv6=True)) is not None


def _refusal_code(url: str) -> str:
    try:
        parse_endpoint(url, GuardPolicy())
    except Refused as refused:
        return refused.code
    return ""


def shown(url: str) -> str:
    """Return `url` for a report: without user name, password and query, which may hold secrets."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "?"
    host = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{host}{parts.path}" + ("?…" if parts.query else "")
