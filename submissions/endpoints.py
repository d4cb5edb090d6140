"""Which addresses the platform may call: the network guard with this portal's settings."""

import ipaddress

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.utils.translation import gettext  # translates messages from data
from django.utils.translation import gettext as _

from contract.guard import Endpoint, GuardPolicy, Refused, parse_endpoint, parse_targets
from contract.reasons import reason_text
from submissions.refusals import Refusal

# translates messages from data: the reasons' sentences are marked in the contract's room


def guard_policy() -> GuardPolicy:
    """The guard's policy from the settings. Raises ImproperlyConfigured for a malformed target or network."""
    return GuardPolicy(
        allowed_private_targets=_targets(),
        own_hosts=frozenset(host.lower() for host in settings.AML_OWN_HOSTS if host and host != "*"),
        allow_ipv6=settings.AML_OUTBOUND_ALLOW_IPV6,
        deny_networks=tuple(map(_network, settings.AML_OUTBOUND_DENY_NETWORKS)),
    )


def check_endpoint(url: str, placeholder: bool = False) -> Endpoint:
    """Read `url` by the guard's rules; nothing is resolved or called. Raises Refusal with the guard's code (422)."""
    try:
        return parse_endpoint(url, guard_policy(), placeholder=placeholder)
    except Refused as refused:
        text = reason_text(refused.code)
        advice = gettext(text.advice)
        if refused.code == "host_is_self" and settings.DEBUG:
            advice = _("While developing, list the server's host and port in AML_ALLOWED_PRIVATE_TARGETS.")
        message = _("Expected: %(expected)s %(advice)s") % {"expected": gettext(text.expected), "advice": advice}
        raise Refusal(refused.code, message, status=422) from None


def is_allowed_private(endpoint: Endpoint) -> bool:
    """Whether the operator opened this private target by name: such a one is exempt from the https rule."""
    return guard_policy().exempts(endpoint.host, endpoint.port)


def _targets() -> frozenset[tuple[str, int]]:
    try:
        return parse_targets(settings.AML_ALLOWED_PRIVATE_TARGETS)
    except ValueError as error:
        raise ImproperlyConfigured(f"AML_ALLOWED_PRIVATE_TARGETS: {error}, such as 127.0.0.1:8801.") from None


def _network(text: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
    try:
        return ipaddress.ip_network(text.strip())
    except ValueError:
        raise ImproperlyConfigured(
            f"AML_OUTBOUND_DENY_NETWORKS holds {text!r}. Expected a network, such as 203.0.113.0/24."
        ) from None
