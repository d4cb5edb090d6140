"""What the operator allows the network guard to reach."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network

__all__ = ["GuardPolicy", "Refused", "parse_targets"]


class Refused(Exception):
    """The guard refuses a URL or an address; `code` is a reason code, `detail` what it looked at."""

    def __init__(self, code: str, detail: str = "") -> None:
        super().__init__(code)
        self.code = code
        self.detail = detail


@dataclass(frozen=True, slots=True)
class GuardPolicy:
    """The operator's rules, all closed by default.

    `allowed_private_targets` are (host, port) pairs, the host as it stands in the URL in lower case, that are
    exempt from the rules on host names, addresses and ports; nothing else ever is. `own_hosts` are the portal's
    own names. `deny_networks` are refused although they are public, such as the operator's own addresses.
    """

    allowed_private_targets: frozenset[tuple[str, int]] = frozenset()
    own_hosts: frozenset[str] = frozenset()
    allow_ipv6: bool = False
    deny_networks: tuple[IPv4Network | IPv6Network, ...] = ()
    max_addresses: int = 16

    def exempts(self, host: str, port: int) -> bool:
        """Tell whether this very host and port stand on the operator's list."""
        return (host, port) in self.allowed_private_targets


def parse_targets(entries: Iterable[str]) -> frozenset[tuple[str, int]]:
    """Return the pairs in entries such as ``127.0.0.1:8801``, ``memory:80`` or ``[::1]:8801``.

    Raises `ValueError` that names the entry which is not host:port.
    """
    pairs = set()
    for entry in entries:
        host, colon, port = entry.strip().rpartition(":")
        host = host.removeprefix("[").removesuffix("]").lower()
        if not (colon and host and port.isascii() and port.isdigit() and 0 < int(port) < 65_536):
            raise ValueError(f"expected host:port, got {entry!r}")
        pairs.add((host, int(port)))
    return frozenset(pairs)
