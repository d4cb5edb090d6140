"""Sentences for URLs and addresses that the network guard refuses."""

from __future__ import annotations

from contract.reasons.text import ReasonText
from contract.words import gettext_noop

__all__ = ["ADDRESSES"]

ADDRESSES = (
    ReasonText(
        "url_empty",
        gettext_noop("A URL."),
        gettext_noop("Enter the whole address, such as https://memory.example.com/add."),
    ),
    ReasonText(
        "url_too_long",
        gettext_noop("A URL of at most 2,048 characters."),
        gettext_noop("Shorten the path or the query."),
    ),
    ReasonText(
        "url_not_ascii",
        gettext_noop("A URL of ASCII characters."),
        gettext_noop("Write the host name in its xn-- form and percent-encode the path."),
    ),
    ReasonText(
        "url_control_or_space",
        gettext_noop("A URL without spaces and control characters."),
        gettext_noop("Remove spaces and line breaks, also at the ends."),
    ),
    ReasonText(
        "url_bad_character",
        gettext_noop("A URL without backslash, quotation mark, brace, bar, caret, backtick or angle bracket."),
        gettext_noop("Percent-encode the character; braces stand only in {task_id} of an Add-status URL."),
    ),
    ReasonText(
        "url_scheme_or_form",
        gettext_noop("A URL that begins with https:// or http://."),
        gettext_noop("Enter the whole address, such as https://memory.example.com/add."),
    ),
    ReasonText(
        "url_fragment",
        gettext_noop("A URL without a # part."),
        gettext_noop("Remove # and what follows it."),
    ),
    ReasonText(
        "url_credentials",
        gettext_noop("A URL without a user name or password."),
        gettext_noop("Enter the credential as the Memory System Key, never in the URL."),
    ),
    ReasonText(
        "url_percent",
        gettext_noop("Percent signs followed by two hexadecimal digits that stand for a printable character."),
        gettext_noop("Correct the percent-encoding."),
    ),
    ReasonText(
        "url_dot_segment",
        gettext_noop("A path without . and .. segments."),
        gettext_noop("Enter the path in its final form."),
    ),
    ReasonText(
        "credential_in_query",
        gettext_noop("A query without keys, tokens or passwords."),
        gettext_noop("Enter the credential as the Memory System Key, never in the URL."),
    ),
    ReasonText(
        "placeholder_missing",
        gettext_noop("{task_id} exactly once in the Add-status URL."),
        gettext_noop("Put {task_id} where the id of the write belongs."),
    ),
    ReasonText(
        "placeholder_in_host",
        gettext_noop("{task_id} in the path or the query."),
        gettext_noop("Put {task_id} where the id of the write belongs."),
    ),
    ReasonText(
        "host_empty",
        gettext_noop("A host name behind https://."),
        gettext_noop("Enter the whole address, such as https://memory.example.com/add."),
    ),
    ReasonText(
        "host_syntax",
        gettext_noop("A host name of letters, digits and hyphens between dots."),
        gettext_noop("Check the spelling of the host name."),
    ),
    ReasonText(
        "host_percent",
        gettext_noop("A host without a percent sign."),
        gettext_noop("Write the host name plainly; zone ids and encoded hosts are refused."),
    ),
    ReasonText(
        "host_single_label",
        gettext_noop("A public host name with a dot in it."),
        gettext_noop("Use the server's full public name; localhost and internal names cannot be reached."),
    ),
    ReasonText(
        "host_trailing_dot",
        gettext_noop("A host name without a dot at its end."),
        gettext_noop("Remove the dot at the end of the host name."),
    ),
    ReasonText(
        "host_numeric_form",
        gettext_noop("An IPv4 address as four decimal numbers, or a host name."),
        gettext_noop("Write the address as in 192.0.2.1, without leading zeros or hexadecimal digits."),
    ),
    ReasonText(
        "host_bad_ipv6",
        gettext_noop("An IPv6 address in square brackets."),
        gettext_noop("Correct the address, or use a host name."),
    ),
    ReasonText(
        "host_bad_idna",
        gettext_noop("A valid xn-- form of an internationalised name."),
        gettext_noop("Convert the host name with an IDNA 2008 tool."),
    ),
    ReasonText(
        "host_special_use",
        gettext_noop("A host name in the public DNS."),
        gettext_noop("Use the server's full public name; localhost and internal names cannot be reached."),
    ),
    ReasonText(
        "host_is_self",
        gettext_noop("A host of your own, not the leaderboard's."),
        gettext_noop("Enter the address of your memory system."),
    ),
    ReasonText(
        "port_syntax",
        gettext_noop("A port from 1 to 65535 in decimal digits."),
        gettext_noop("Correct the port, or leave it out."),
    ),
    ReasonText(
        "port_not_allowed",
        gettext_noop("Port 80, 443, or one above 1023 that no other well-known service uses."),
        gettext_noop("Serve the API on 443 or another usual web port."),
    ),
    ReasonText(
        "too_many_addresses",
        gettext_noop("A host name with at most 16 addresses."),
        gettext_noop("Reduce the number of addresses that the name resolves to."),
    ),
    ReasonText(
        "not_public",
        gettext_noop("A public address."),
        gettext_noop("Use a host with public addresses only; private and special ones are never called."),
    ),
    ReasonText(
        "metadata_ip",
        gettext_noop("A public address that is no cloud metadata service."),
        gettext_noop("Use a host with public addresses only; private and special ones are never called."),
    ),
    ReasonText(
        "isatap",
        gettext_noop("An IPv6 address that embeds no IPv4 address."),
        gettext_noop("Use the IPv4 address itself, or a host name."),
    ),
    ReasonText(
        "zone_id",
        gettext_noop("An address without a zone id."),
        gettext_noop("Use a host with public addresses only; private and special ones are never called."),
    ),
    ReasonText(
        "not_an_ip",
        gettext_noop("A resolver's answer that is an IP address."),
        gettext_noop("Check the records of the host name."),
    ),
    ReasonText(
        "peer_mismatch",
        gettext_noop("A connection to the very address that was checked."),
        gettext_noop("Tell the organizers; the platform's network changed the destination."),
    ),
    ReasonText(
        "ipv6_disabled",
        gettext_noop("A host with an IPv4 address."),
        gettext_noop("Add an A record to the host name; this platform does not call IPv6 addresses."),
    ),
    ReasonText(
        "operator_denied",
        gettext_noop("An address outside the networks that the organizers exclude."),
        gettext_noop("Ask the organizers, or use another host."),
    ),
)
