"""Whatever form a private address is written in, the guard refuses it: in a URL, from a resolver, in IPv6."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contract.guard import Connector, GuardPolicy, Refused, deny_reason, parse_endpoint

OPEN = GuardPolicy(allow_ipv6=True)
PRIVATE = (
    *("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "127.0.0.0/8", "169.254.0.0/16", "100.64.0.0/10"),
    *("0.0.0.0/8", "192.0.0.0/24", "198.18.0.0/15", "224.0.0.0/4", "240.0.0.0/4"),
)
Form = Callable[[int, int], int]
"""Makes an IPv6 address of an IPv4 one and 128 random bits, which fill what the form leaves open."""


def low(bits: int, noise: int) -> int:
    return noise & ((1 << bits) - 1)


FORMS: dict[str, Form] = {
    "mapped, RFC 4291": lambda v4, noise: 0xFFFF << 32 | v4,
    "compatible, RFC 4291": lambda v4, noise: v4,
    "translated, RFC 2765": lambda v4, noise: 0xFFFF << 48 | v4,
    "6to4, RFC 3056": lambda v4, noise: 0x2002 << 112 | v4 << 80 | low(80, noise),
    "NAT64 well-known, RFC 6052": lambda v4, noise: 0x64FF9B << 96 | v4,
    "NAT64 local /48, RFC 8215": lambda v4, noise: (
        0x64FF9B0001 << 80 | (v4 >> 16) << 64 | (v4 & 0xFFFF) << 40 | low(40, noise)
    ),
    "NAT64 local /96, RFC 8215": lambda v4, noise: 0x64FF9B0001 << 80 | low(48, noise) << 32 | v4,
    "Teredo client, RFC 4380": lambda v4, noise: 0x20010000 << 96 | low(64, noise) << 32 | (v4 ^ 0xFFFFFFFF),
    "Teredo server, RFC 4380": lambda v4, noise: 0x20010000 << 96 | v4 << 64 | low(64, noise),
    "ISATAP on a global prefix, RFC 5214": lambda v4, noise: (
        0x26064700 << 96 | low(32, noise) << 64 | 0x5EFE << 32 | v4
    ),
    "ISATAP with the universal bit, RFC 5214": lambda v4, noise: 0x26064700 << 96 | 0x02005EFE << 32 | v4,
    "ISATAP on link-local, RFC 5214": lambda v4, noise: 0xFE80 << 112 | 0x5EFE << 32 | v4,
}


@st.composite
def private_addresses(draw: st.DrawFn) -> IPv4Address:
    network = IPv4Network(draw(st.sampled_from(PRIVATE)))
    return network[draw(st.integers(0, network.num_addresses - 1))]


def refusal(address: str) -> str:
    """Return why a name that resolves to `address` is not called, "" when it would be dialled."""

    async def resolve(host: str, port: int, *, public: bool = True) -> Sequence[str]:
        return [address]

    async def dial(address: str, port: int) -> socket.socket:
        raise AssertionError("dialled")

    endpoint = parse_endpoint("https://api.alpha-mem.com/add", OPEN)
    try:
        asyncio.run(Connector(OPEN, resolve=resolve, dial=dial).open(endpoint, seconds=5))
    except Refused as refused:
        return refused.code
    except AssertionError:
        return ""
    raise AssertionError("neither refused nor dialled")


@pytest.mark.parametrize("form", FORMS)
@given(address=private_addresses(), noise=st.integers(0, 2**128 - 1))
def test_no_transition_form_carries_a_private_address_past_the_guard(
    form: str, address: IPv4Address, noise: int
) -> None:
    inside = IPv6Address(FORMS[form](int(address), noise))
    assert deny_reason(str(inside), 443, OPEN) in {"not_public", "metadata_ip", "isatap"}
    for spelling in (str(inside), inside.exploded, str(inside).upper()):
        with pytest.raises(Refused):
            parse_endpoint(f"https://[{spelling}]/add", OPEN)


@pytest.mark.parametrize("form", FORMS)
def test_no_transition_form_is_dialled_when_a_name_resolves_to_it(form: str) -> None:
    for address in ("10.0.0.1", "127.0.0.1", "169.254.169.254", "100.100.100.200"):
        assert refusal(str(IPv6Address(FORMS[form](int(IPv4Address(address)), 0x1234)))) != ""


def test_the_forms_of_a_public_address_are_refused_too() -> None:
    for form in FORMS.values():
        assert deny_reason(str(IPv6Address(form(int(IPv4Address("8.8.8.8")), 7))), 443, OPEN)


def test_a_public_address_of_either_family_is_dialled() -> None:
    assert refusal("8.8.8.8") == refusal("2606:4700:4700::1111") == ""


@given(private_addresses())
def test_a_private_address_is_refused_as_it_is_and_in_every_numeric_spelling(address: IPv4Address) -> None:
    number, (a, b, c, d) = int(address), address.packed
    spellings = (
        *(str(number), hex(number), f"0{number:o}"),
        *(f"{a}.{number & 0xFFFFFF}", f"{a}.{b}.{number & 0xFFFF}", f"{a}.{b}.{c}.0{d}"),
        *(f"0x{a:x}.0x{b:x}.0x{c:x}.0x{d:x}", f"0{a:o}.0{b:o}.0{c:o}.0{d:o}"),
    )
    for spelling in spellings:
        with pytest.raises(Refused, match=r"^host_numeric_form$"):
            parse_endpoint(f"http://{spelling}/add", OPEN)
    for spelling, code in ((str(address), "not_public|metadata_ip"), (f"{address}.", "host_trailing_dot")):
        with pytest.raises(Refused, match=rf"^(?:{code})$"):
            parse_endpoint(f"http://{spelling}/add", OPEN)
    assert deny_reason(str(address), 80, OPEN) in {"not_public", "metadata_ip"}
