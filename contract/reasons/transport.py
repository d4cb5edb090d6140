"""Sentences for what goes wrong on the way to a server and back."""

from __future__ import annotations

from contract.reasons.text import ReasonText
from contract.words import gettext_noop

__all__ = ["TRANSPORT"]

TRANSPORT = (
    ReasonText(
        "dns_failure",
        gettext_noop("A host name that the public DNS resolves."),
        gettext_noop("Check the host name's A record and that its DNS servers answer within 5 seconds."),
    ),
    ReasonText(
        "connect_refused",
        gettext_noop("A server that accepts connections on the given port."),
        gettext_noop("Start the server, and open its port in the firewall for connections from outside."),
    ),
    ReasonText(
        "unreachable",
        gettext_noop("A host that the network can reach."),
        gettext_noop("Check that the address is reachable from outside and that no firewall drops packets."),
    ),
    ReasonText(
        "connect_timeout",
        gettext_noop("A connection within 10 seconds."),
        gettext_noop("Check that the address is reachable from outside and that no firewall drops packets."),
    ),
    ReasonText(
        "reset",
        gettext_noop("A connection that stays open until the answer is complete."),
        gettext_noop("Look in the logs of the server or its proxy for a crash, a restart or a limit on connections."),
    ),
    ReasonText(
        "truncated_body",
        gettext_noop("A body as long as Content-Length or the chunks announce."),
        gettext_noop("Look in the server's logs for a worker that ended while it was answering."),
    ),
    ReasonText(
        "read_timeout",
        gettext_noop("A complete answer within 30 minutes, its body within 2 minutes of its headers."),
        gettext_noop("Make the request quicker, or lower the concurrency that you declared."),
    ),
    ReasonText(
        "body_too_slow",
        gettext_noop("A body that is complete within 2 minutes of its headers."),
        gettext_noop("Prepare the answer before its headers are sent."),
    ),
    ReasonText(
        "tls_certificate",
        gettext_noop("A TLS certificate that is valid now, names this host and comes from a public authority."),
        gettext_noop("Install a valid certificate with its whole chain for this host name."),
    ),
    ReasonText(
        "tls_handshake",
        gettext_noop("A TLS 1.2 or 1.3 handshake."),
        gettext_noop("Check that the port speaks TLS and that the server offers TLS 1.2 or newer."),
    ),
    ReasonText(
        "address_denied",
        gettext_noop("A host name all of whose addresses are public."),
        gettext_noop("Use a host with public addresses only; private and special ones are never called."),
    ),
    ReasonText(
        "invalid_http",
        gettext_noop("A well-formed HTTP/1.1 response."),
        gettext_noop("Check that the port speaks HTTP/1.1 and that no header is sent twice or malformed."),
    ),
    ReasonText(
        "headers_too_large",
        gettext_noop("At most 64 KiB and 200 fields of response headers."),
        gettext_noop("Send fewer or shorter response headers."),
    ),
    ReasonText(
        "chunks_too_small",
        gettext_noop("A chunked body whose chunks hold 32 bytes or more on average."),
        gettext_noop("Write the body in larger chunks, or with a Content-Length."),
    ),
    ReasonText(
        "credential_malformed",
        gettext_noop("A Memory System Key of 8 to 512 visible ASCII characters without spaces."),
        gettext_noop("Store the Memory System Key again, without line breaks or quotation marks."),
    ),
    ReasonText(
        "credential_unavailable",
        gettext_noop("A Memory System Key that belongs to this address."),
        gettext_noop("Store the Memory System Key again; a changed address makes the old one unreadable."),
    ),
    ReasonText(
        "attempts_exhausted",
        gettext_noop("Success within 32 attempts."),
        gettext_noop("Solve the cause of the last error, then start a new run."),
    ),
    ReasonText(
        "wall_time_exhausted",
        gettext_noop("Success within 2 hours of the first attempt."),
        gettext_noop("Solve the cause of the last error, then start a new run."),
    ),
    ReasonText(
        "timeouts_exhausted",
        gettext_noop("Fewer than 3 full time-outs for one request."),
        gettext_noop("Make the request quicker, or lower the concurrency that you declared."),
    ),
)
