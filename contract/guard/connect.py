"""Opens a connection to an endpoint: every address is checked first, and the checked address is what is dialled.

The name is resolved once for a connection. All its addresses must be allowed, a mixed answer is refused as a whole.
The socket connects to the literal address, so there is no second look-up that could answer otherwise; TLS then asks
for the name of the endpoint (SNI) and checks the certificate against it. Proxy settings are never read.
"""

from __future__ import annotations

import asyncio
import errno
import socket
import ssl
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import ip_address

import certifi

from contract.guard.addresses import address_reason
from contract.guard.policy import GuardPolicy, Refused
from contract.guard.resolver import ResolutionFailed, Resolver, system_resolver
from contract.guard.urls import Endpoint

__all__ = ["ConnectFailed", "Connection", "Connector", "Dial", "checked_addresses", "dial_tcp", "public_tls"]

MAX_DIALLED = 3
"""Addresses of one host that are tried in turn."""

Dial = Callable[[str, int], Awaitable[socket.socket]]
"""Connects to a literal address and port and returns the socket, non-blocking."""


class ConnectFailed(Exception):
    """No connection came about; `code` is a reason code."""

    def __init__(self, code: str, got: str = "") -> None:
        super().__init__(code)
        self.code = code
        self.got = got


@dataclass(frozen=True, slots=True)
class Connection:
    """An open connection for exactly one call."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    address: str

    def drop(self) -> None:
        """Close at once, whatever is still in the buffers."""
        self.writer.transport.abort()


async def dial_tcp(address: str, port: int) -> socket.socket:
    """Connect to a literal address. Raises `OSError`."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    connecting = socket.socket(family, socket.SOCK_STREAM)
    try:
        connecting.setblocking(False)
        await asyncio.get_running_loop().sock_connect(connecting, (address, port))
    except BaseException:
        connecting.close()
        raise
    return connecting


@lru_cache(maxsize=1)
def public_tls() -> ssl.SSLContext:
    """Return the one TLS context for public hosts: TLS 1.2 or newer, the bundled public authorities."""
    context = ssl.create_default_context(cafile=certifi.where())
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


async def checked_addresses(endpoint: Endpoint, policy: GuardPolicy, resolve: Resolver) -> Sequence[str]:
    """Return the addresses of `endpoint` that may be dialled.

    Raises `Refused` when any address is denied, and `ConnectFailed` with dns_failure when there is none.
    """
    exempt = policy.exempts(endpoint.host, endpoint.port)
    if endpoint.literal:
        addresses: Sequence[str] = [endpoint.host]
    else:
        try:
            addresses = await resolve(endpoint.host, endpoint.port, public=not exempt)
        except ResolutionFailed:
            raise ConnectFailed("dns_failure", endpoint.host) from None
    if not addresses:
        raise ConnectFailed("dns_failure", endpoint.host)
    if exempt:
        return addresses
    if len(addresses) > policy.max_addresses:
        raise Refused("too_many_addresses", f"{len(addresses)} addresses")
    for address in addresses:
        if reason := address_reason(address, policy):
            raise Refused(reason, endpoint.host)
    usable = [address for address in addresses if policy.allow_ipv6 or ":" not in address]
    if not usable:
        raise Refused("ipv6_disabled", endpoint.host)
    return usable


class Connector:
    """Opens guarded connections. `resolve` and `dial` are ports, so that tests can answer and record."""

    def __init__(
        self,
        policy: GuardPolicy,
        *,
        resolve: Resolver = system_resolver,
        dial: Dial = dial_tcp,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.policy = policy
        self._resolve = resolve
        self._dial = dial
        self._tls = tls

    async def open(self, endpoint: Endpoint, *, seconds: float) -> Connection:
        """Return a connection within `seconds`, look-up and TLS handshake included.

        Raises `Refused` when the guard says no, `ConnectFailed` when there is no connection.
        """
        try:
            async with asyncio.timeout(seconds):
                addresses = await checked_addresses(endpoint, self.policy, self._resolve)
                connected, address = await self._dial_first(addresses, endpoint.port)
                return await self._stream(connected, address, endpoint)
        except TimeoutError:
            raise ConnectFailed("connect_timeout", endpoint.host_header) from None

    async def _dial_first(self, addresses: Sequence[str], port: int) -> tuple[socket.socket, str]:
        failure = ConnectFailed("unreachable")
        for address in addresses[:MAX_DIALLED]:
            try:
                connected = await self._dial(address, port)
            except OSError as error:
                failure = _dial_failure(error)
                continue
            if not _same_address(connected, address):
                connected.close()
                raise Refused("peer_mismatch", address)
            return connected, address
        raise failure

    async def _stream(self, connected: socket.socket, address: str, endpoint: Endpoint) -> Connection:
        tls = (self._tls or public_tls()) if endpoint.scheme == "https" else None
        name = endpoint.host if tls else None
        try:
            reader, writer = await asyncio.open_connection(sock=connected, ssl=tls, server_hostname=name)
        except BaseException as error:  # the transport closes the socket; closing it here could hit a reused number
            raise _tls_failure(error) from None
        return Connection(reader, writer, address)


def _same_address(connected: socket.socket, address: str) -> bool:
    try:
        peer = connected.getpeername()[0]
    except OSError:  # the peer is gone already; reading will say so
        return True
    return peer == address or ip_address(peer) == ip_address(address)


def _dial_failure(error: OSError) -> ConnectFailed:
    if isinstance(error, ConnectionRefusedError):
        return ConnectFailed("connect_refused")
    if isinstance(error, TimeoutError):
        return ConnectFailed("connect_timeout")
    if isinstance(error, ConnectionResetError):
        return ConnectFailed("reset")
    return ConnectFailed("unreachable", errno.errorcode.get(error.errno or 0, ""))


def _tls_failure(error: BaseException) -> BaseException:
    """Turn what the handshake raised into a verdict's cause; cancellation and time-outs pass unchanged."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return ConnectFailed("tls_certificate", error.verify_message)
    if isinstance(error, ssl.SSLEOFError | ssl.SSLZeroReturnError | ConnectionError):
        return ConnectFailed("reset")
    if isinstance(error, ssl.SSLError):
        return ConnectFailed("tls_handshake", error.reason or "")
    if isinstance(error, OSError) and not isinstance(error, TimeoutError):
        return ConnectFailed("reset")
    return error
