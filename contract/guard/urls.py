"""Which URLs may be submitted and called: one strict grammar, far narrower than RFC 3986.

What a lenient parser would repair (tabs, full-width digits, short IPv4 forms, user names) is refused, so that no two
readers of a URL can disagree about where it leads. Source: RFC 3986, RFC 1123, RFC 5891 (IDNA), RFC 6761
(special-use names), the WHATWG lists of bad ports and of hosts that end in a number.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import IPv6Address
from urllib.parse import parse_qsl, quote

import idna

from contract.guard.addresses import deny_reason
from contract.guard.policy import GuardPolicy, Refused

__all__ = ["PLACEHOLDER", "Endpoint", "parse_endpoint"]

PLACEHOLDER = "{task_id}"
MAX_URL = 2048

SPECIAL_LAST_LABELS = frozenset(
    (
        *("localhost", "local", "localdomain", "internal", "intranet", "private", "corp", "home", "lan"),
        *("test", "example", "invalid", "onion", "arpa", "alt", "svc", "mail"),
    )
)
SPECIAL_NAMES = ("metadata.goog",)
SPECIAL_ENDS = (".cluster.local", ".home.arpa", ".metadata.goog")
# WHATWG's bad ports above 1023, and well-known services that do not speak HTTP
BAD_PORTS = frozenset(
    (
        *(
            1719,
            1720,
            1723,
            2049,
            3659,
            4045,
            4190,
            5060,
            5061,
            6000,
            6566,
            6665,
            6666,
            6667,
            6668,
            6669,
            6679,
            6697,
            10080,
        ),
        *(1433, 1521, 2375, 2376, 2379, 2380, 3306, 3389, 4369, 5432, 5672, 5900, 5984, 6379, 6443, 9042, 9092, 9100),
        *(9200, 9300, 10250, 10255, 11211, 27017, 27018, 28017),
    )
)

_URL = re.compile(
    r"(?P<scheme>https?)://(?P<authority>[^/?#]*)(?P<path>/[^?#]*)?(?:\?(?P<query>[^#]*))?", re.IGNORECASE
)
_HOST = re.compile(r"(?=.{1,253}\Z)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
_LABEL = re.compile(r"[a-z0-9](?:[a-z0-9._-]{0,251}[a-z0-9])?")
_IPV4 = re.compile(r"(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)\.){3}(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)", re.ASCII)
_BRACKETED = re.compile(r"\[([0-9A-Fa-f:.]+)\](?::(.*))?")
_NUMERIC_LABEL = re.compile(r"\d+|0x[0-9a-f]*", re.ASCII)
_PORT = re.compile(r"[1-9][0-9]{0,4}")
_BAD_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})|%(?:0[0-9A-Fa-f]|1[0-9A-Fa-f]|7[Ff])")
_CREDENTIAL = re.compile(
    r"(?:.*[-_.])?(?:key|apikey|api_?key|token|secret|password|passwd|pwd|auth|authorization|sig|signature|credential)s?",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A URL that passed the grammar, in canonical form.

    `host` is lower case and without brackets, `target` the path and query that stand in a request line,
    `origin` scheme, host and port, always with the port. `literal` tells that the host is an address.
    """

    url: str
    scheme: str
    host: str
    port: int
    target: str
    literal: bool

    @property
    def origin(self) -> str:
        return f"{self.scheme}://{self._bracketed}:{self.port}"

    @property
    def host_header(self) -> str:
        default = 443 if self.scheme == "https" else 80
        return self._bracketed if self.port == default else f"{self._bracketed}:{self.port}"

    @property
    def health_url(self) -> str:
        """Where a server is asked for its health when its version names no other URL."""
        return f"{self.scheme}://{self.host_header}/health"

    @property
    def _bracketed(self) -> str:
        return f"[{self.host}]" if ":" in self.host else self.host

    def for_task(self, task_id: str) -> Endpoint:
        """Return the Add-status endpoint of one write; `task_id` is percent-encoded."""
        encoded = quote(task_id, safe="")
        url, target = self.url.replace(PLACEHOLDER, encoded), self.target.replace(PLACEHOLDER, encoded)
        return Endpoint(url, self.scheme, self.host, self.port, target, self.literal)


def parse_endpoint(url: str, policy: GuardPolicy, *, placeholder: bool = False) -> Endpoint:
    """Return the endpoint that `url` names, or raise `Refused` with the code of the first broken rule.

    `placeholder`: the URL is an Add-status URL and holds ``{task_id}`` once, in its path or query. Parsing the
    result's `url` again gives the same result. No name is resolved here.
    """
    _check_characters(url, placeholder)
    match = _URL.fullmatch(url)
    if not match:
        raise Refused("url_scheme_or_form")
    scheme, authority, path, query = match["scheme"].lower(), match["authority"], match["path"] or "/", match["query"]
    if PLACEHOLDER in authority:
        raise Refused("placeholder_in_host")
    host, port_text, literal = _split_authority(authority)
    default = 443 if scheme == "https" else 80
    port = int(port_text) if port_text and _PORT.fullmatch(port_text) else default
    exempt = policy.exempts(host, port)
    if not exempt:
        literal = _check_host(host, literal, policy)
    elif not literal:
        _check_exempt_host(host)
        literal = bool(_IPV4.fullmatch(host))
    _check_port(port_text, port, exempt)
    _check_path(path.replace(PLACEHOLDER, "T"), (query or "").replace(PLACEHOLDER, "T"))
    if literal and not exempt:
        _check_literal(host, port, policy)
    target = path if query is None else f"{path}?{query}"
    endpoint = Endpoint("", scheme, host, port, target, literal)
    return Endpoint(f"{scheme}://{endpoint.host_header}{target}", scheme, host, port, target, literal)


def _check_characters(url: str, placeholder: bool) -> None:
    if not url:
        raise Refused("url_empty")
    if len(url) > MAX_URL:
        raise Refused("url_too_long")
    if not url.isascii():
        raise Refused("url_not_ascii")
    if any(c <= " " or c == "\x7f" for c in url):
        raise Refused("url_control_or_space")
    if any(c in url for c in '\\"<>^`|'):
        raise Refused("url_bad_character")
    if placeholder and url.count(PLACEHOLDER) != 1:
        raise Refused("placeholder_missing")
    rest = url.replace(PLACEHOLDER, "T") if placeholder else url
    if "{" in rest or "}" in rest:
        raise Refused("url_bad_character")
    if "#" in rest:
        raise Refused("url_fragment")


def _split_authority(authority: str) -> tuple[str, str | None, bool]:
    """Return host, port text and whether the host is an IPv6 literal."""
    if "@" in authority:
        raise Refused("url_credentials")
    if "%" in authority:
        raise Refused("host_percent")
    if authority.startswith("["):
        match = _BRACKETED.fullmatch(authority)
        try:
            host = str(IPv6Address(match[1])) if match else ""
        except ValueError:
            host = ""
        if not match or not host:
            raise Refused("host_bad_ipv6", authority)
        return host, match[2], True
    host, colon, port_text = authority.partition(":")
    if not host:
        raise Refused("host_empty")
    return host.lower(), port_text if colon else None, False


def _check_host(host: str, ipv6: bool, policy: GuardPolicy) -> bool:
    """Check a host that stands on no list and return whether it is a literal address."""
    literal = ipv6
    if not ipv6:
        if host.endswith("."):
            raise Refused("host_trailing_dot", host)
        last = host.rpartition(".")[2]
        if _NUMERIC_LABEL.fullmatch(last):
            if not _IPV4.fullmatch(host):
                raise Refused("host_numeric_form", host)
            literal = True
        else:
            _check_name(host, last)
    if host in policy.own_hosts:
        raise Refused("host_is_self", host)
    return literal


def _check_name(host: str, last: str) -> None:
    if "." not in host:
        raise Refused("host_single_label", host)
    if not _HOST.fullmatch(host):
        raise Refused("host_syntax", host)
    for label in host.split("."):
        _check_label(label)
    if last in SPECIAL_LAST_LABELS or host in SPECIAL_NAMES or host.endswith(SPECIAL_ENDS):
        raise Refused("host_special_use", host)


def _check_label(label: str) -> None:
    if label.startswith("xn--"):
        try:
            round_trip = idna.alabel(idna.ulabel(label)).decode("ascii")
        except (idna.IDNAError, UnicodeError):
            round_trip = ""
        if round_trip != label:
            raise Refused("host_bad_idna", label)
    elif label[2:4] == "--":
        raise Refused("host_bad_idna", label)


def _check_exempt_host(host: str) -> None:
    if not _LABEL.fullmatch(host):
        raise Refused("host_syntax", host)


def _check_port(port_text: str | None, port: int, exempt: bool) -> None:
    if port_text is not None and (not _PORT.fullmatch(port_text) or port > 65_535):
        raise Refused("port_syntax", port_text)
    if not exempt and port not in (80, 443) and (port < 1024 or port in BAD_PORTS):
        raise Refused("port_not_allowed", str(port))


def _check_path(path: str, query: str) -> None:
    if _BAD_PERCENT.search(path) or _BAD_PERCENT.search(query):
        raise Refused("url_percent")
    if any(segment in (".", "..") for segment in re.sub("%2e", ".", path, flags=re.IGNORECASE).split("/")):
        raise Refused("url_dot_segment")
    for name, _ in parse_qsl(query, keep_blank_values=True):
        if _CREDENTIAL.fullmatch(name):
            raise Refused("credential_in_query", name)


def _check_literal(host: str, port: int, policy: GuardPolicy) -> None:
    if reason := deny_reason(host, port, policy):
        raise Refused(reason, host)
    if ":" in host and not policy.allow_ipv6:
        raise Refused("ipv6_disabled", host)
