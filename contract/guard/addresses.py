"""Which addresses may be called: an own deny-list for IPv4, an own allow-list for IPv6.

The flags of the standard library's `ipaddress` are not asked: on Python 3.11.7 `is_global` is true for multicast,
for 6to4, for mapped and translated addresses and for dozens of other special ones.
Source: the IANA special-purpose address registries for IPv4 and IPv6 (RFC 6890 and its updates), RFC 6052 (where
an IPv4 address may stand inside an IPv6 one), RFC 5214 (ISATAP), and the metadata addresses that cloud providers
document.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

from contract.guard.policy import GuardPolicy

__all__ = ["address_reason", "deny_reason"]

DENY_V4 = tuple(
    IPv4Network(network)
    for network in (
        "0.0.0.0/8",
        "10.0.0.0/8",
        "100.64.0.0/10",
        "127.0.0.0/8",
        "169.254.0.0/16",
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.0.2.0/24",
        "192.31.196.0/24",
        "192.52.193.0/24",
        "192.88.99.0/24",
        "192.168.0.0/16",
        "192.175.48.0/24",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/4",
        "240.0.0.0/4",
    )
)
# Everything outside is refused: loopback, mapped, compatible, translated, NAT64, unique local, link-local, multicast.
ALLOW_V6 = IPv6Network("2000::/3")
DENY_V6 = tuple(
    IPv6Network(network)
    for network in (
        "2001::/23",  # IETF protocol assignments: Teredo, ORCHID, benchmarking, AMT, AS112
        "2001:db8::/32",
        "2002::/16",
        "2620:4f:8000::/48",
        "3ffe::/16",
        "3fff::/20",
    )
)
METADATA_V4 = frozenset(
    int(IPv4Address(address))
    for address in (
        "169.254.169.254",
        "169.254.170.2",
        "169.254.170.23",
        "169.254.42.42",
        "100.100.100.200",
        "168.63.129.16",
        "192.0.0.192",
    )
)
# the bytes that hold an IPv4 address for prefixes of 32, 40, 48, 56, 64 and 96 bits, and for 6to4
EMBEDDED_V4 = (
    (4, 5, 6, 7),
    (5, 6, 7, 9),
    (6, 7, 9, 10),
    (7, 9, 10, 11),
    (9, 10, 11, 12),
    (12, 13, 14, 15),
    (2, 3, 4, 5),
)
ISATAP = (b"\x00\x00\x5e\xfe", b"\x02\x00\x5e\xfe")


def deny_reason(address: str, port: int, policy: GuardPolicy) -> str | None:
    """Return None when a URL's literal `address` may be called at `port`, else a reason code.

    A pair on the operator's list of private targets is allowed; an address that a host name resolved to is
    judged by `address_reason`, because it is the name that would have to stand on the list.
    """
    if policy.exempts(address, port):
        return None
    return address_reason(address, policy)


def address_reason(address: str, policy: GuardPolicy) -> str | None:
    """Return None for a public address, else one of zone_id, not_an_ip, operator_denied, metadata_ip, not_public,
    isatap. Whether IPv6 is on at all is for the caller to ask."""
    if "%" in address:
        return "zone_id"
    try:
        parsed = ip_address(address)
    except ValueError:
        return "not_an_ip"
    if any(parsed.version == network.version and parsed in network for network in policy.deny_networks):
        return "operator_denied"
    return _v4_reason(parsed) if isinstance(parsed, IPv4Address) else _v6_reason(parsed)


def _v4_reason(address: IPv4Address) -> str | None:
    if int(address) in METADATA_V4:
        return "metadata_ip"
    return "not_public" if any(address in network for network in DENY_V4) else None


def _v6_reason(address: IPv6Address) -> str | None:
    packed = address.packed
    if any(int.from_bytes(bytes(packed[at] for at in places), "big") in METADATA_V4 for places in EMBEDDED_V4):
        return "metadata_ip"
    if address not in ALLOW_V6 or any(address in network for network in DENY_V6):
        return "not_public"
    return "isatap" if packed[8:12] in ISATAP else None
