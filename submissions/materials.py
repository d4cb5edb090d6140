"""What a team declares in an access request, and the rules that it must meet."""

import re
from dataclasses import dataclass, field, fields, replace

from django.utils.translation import gettext as _

from submissions.endpoints import check_endpoint, is_allowed_private
from submissions.models import Cycle, Division, Version
from submissions.refusals import Refusal
from submissions.vault import check_secret

MAX_CONCURRENCY = 256
"""Parallel calls that a team may declare."""

URL_FIELDS = ("add_url", "search_url", "health_url", "add_status_url")
CREDENTIAL_URL_FIELDS = ("add_url", "search_url", "add_status_url")
"""Where the Memory System Key is sent; Health gets none."""

_ALWAYS = (
    "contact_name",
    "contact_email",
    "team",
    "system",
    "version",
    "division",
    "tracks",
    "add_url",
    "search_url",
    "auth_scheme",
    "method_description",
    "public_description",
    "run_notes",
)
_OPEN_SOURCE = (
    "repository",
    "commit",
    "original_authors",
    "technical_report",
    "method_changes",
    "models_used",
)
NEEDED_IN_A_DRAFT = ("contact_email", "team", "system", "version", "division")
_COMMIT = re.compile(r"[0-9A-Fa-f]{7,64}")


@dataclass(frozen=True, kw_only=True)
class Materials:
    """The fields of one access request. `memory_system_key` stays out of `repr`; empty means "as it is stored"."""

    contact_name: str = ""
    contact_email: str = ""
    team: str = ""
    system: str = ""
    version: str = ""
    division: str = ""
    tracks: tuple[str, ...] = ()
    add_url: str = ""
    search_url: str = ""
    health_url: str = ""
    add_status_url: str = ""
    auth_scheme: str = ""
    memory_system_key: str = field(default="", repr=False)
    allow_plain_http: bool = False
    add_concurrency: int = 16
    search_concurrency: int = 16
    call_timeout_s: int | None = None
    largest_body_mib: int | None = None
    rate_limit: str = ""
    method_description: str = ""
    public_description: str = ""
    run_notes: str = ""
    repository: str = ""
    commit: str = ""
    original_authors: str = ""
    technical_report: str = ""
    method_changes: str = ""
    models_used: str = ""
    stays_reachable: bool = False


NAMES = tuple(item.name for item in fields(Materials))

VERSION_FIELDS = tuple(name for name in NAMES if hasattr(Version, name) and name not in {"system", "memory_system_key"})
"""Names that Materials and Version share, with the same meaning."""


class _Findings:
    """Problems, each with its field."""

    def __init__(self) -> None:
        self.found: list[dict[str, str]] = []

    def add(self, name: str, code: str, message: str) -> None:
        self.found.append({"field": name, "code": code, "message": message})

    def names(self) -> set[str]:
        return {problem["field"] for problem in self.found}

    def raise_if_any(self) -> None:
        if self.found:
            raise Refusal(
                "materials_invalid",
                _("Expected complete and valid materials. Correct the fields that are named and send again."),
                status=422,
                details={"fields": self.found},
            )


def check_materials(materials: Materials, *, cycle: Cycle, has_secret: bool, is_complete: bool = True) -> Materials:
    """Return `materials` with trimmed names and URLs in their plain form.

    `has_secret` tells that a stored Memory System Key still fits these URLs; `is_complete` False reads a draft, where
    most may still be missing. Raises Refusal `materials_invalid` (422), whose details name each field.
    """
    findings = _Findings()
    materials = _with_plain_urls(_trimmed(materials), findings)
    _check_presence(materials, findings, is_complete)
    _check_values(materials, findings, cycle)
    _check_secret(materials, findings, has_secret or not is_complete)
    if is_complete:
        _check_plain_http(materials, findings)
    findings.raise_if_any()
    return materials


def credential_goes_over_plain_http(materials: "Materials | Version") -> bool:
    """Whether a call would carry the secret unencrypted to a target that the operator has not opened by name."""
    if materials.auth_scheme in {"", Version.AuthScheme.NONE}:
        return False
    urls = {name: getattr(materials, name) for name in CREDENTIAL_URL_FIELDS}
    endpoints = [check_endpoint(url, placeholder=name == "add_status_url") for name, url in urls.items() if url]
    return any(endpoint.scheme == "http" and not is_allowed_private(endpoint) for endpoint in endpoints)


def _trimmed(materials: Materials) -> Materials:
    texts = {name: value.strip() for name in NAMES if isinstance(value := getattr(materials, name), str)}
    for name in ("team", "system", "version", "contact_name"):
        texts[name] = " ".join(texts[name].split())
    del texts["memory_system_key"]
    return replace(materials, tracks=tuple(dict.fromkeys(materials.tracks)), **texts)  # type: ignore[arg-type]


def _with_plain_urls(materials: Materials, findings: _Findings) -> Materials:
    plain: dict[str, str] = {}
    for name in URL_FIELDS:
        url = getattr(materials, name)
        if not url:
            continue
        try:
            plain[name] = check_endpoint(url, placeholder=name == "add_status_url").url
        except Refusal as refusal:
            findings.add(name, refusal.code, str(refusal.message))
    return replace(materials, **plain)  # type: ignore[arg-type]


def _check_presence(materials: Materials, findings: _Findings, is_complete: bool) -> None:
    names = _ALWAYS if is_complete else NEEDED_IN_A_DRAFT
    if is_complete and materials.division == Division.OPEN_SOURCE:
        names = (*names, *_OPEN_SOURCE)
    for name in names:
        if not getattr(materials, name):
            message = (
                _("An open-source method needs this.")
                if name in _OPEN_SOURCE
                else _("A request cannot do without this.")
            )
            findings.add(name, "required", message)
    if is_complete and not materials.stays_reachable:
        findings.add(
            "stays_reachable",
            "required",
            _("Confirm that the endpoints stay reachable for 30 days after the evaluation."),
        )


def _check_values(materials: Materials, findings: _Findings, cycle: Cycle) -> None:
    if materials.division and materials.division not in Division.values:
        findings.add("division", "invalid_choice", _("Choose one of the divisions."))
    if materials.auth_scheme and materials.auth_scheme not in Version.AuthScheme.values:
        findings.add("auth_scheme", "invalid_choice", _("Choose one of the ways of authentication."))
    if set(materials.tracks) - set(cycle.tracks):
        findings.add("tracks", "invalid_choice", _("Choose tracks that this cycle evaluates."))
    for name in ("add_concurrency", "search_concurrency"):
        if not 1 <= getattr(materials, name) <= MAX_CONCURRENCY:
            message = _("Expected 1 to %(most)d parallel calls.") % {"most": MAX_CONCURRENCY}
            findings.add(name, "out_of_range", message)
    if materials.commit and not _COMMIT.fullmatch(materials.commit):
        findings.add("commit", "commit_malformed", _("Expected the commit's hash of 7 to 64 hexadecimal digits."))
    for name in ("repository", "technical_report"):
        if getattr(materials, name) and not getattr(materials, name).startswith(("https://", "http://")):
            findings.add(name, "url_scheme_or_form", _("Expected an address that begins with https://."))


def _check_secret(materials: Materials, findings: _Findings, has_secret: bool) -> None:
    name = "memory_system_key"
    if materials.memory_system_key:
        if materials.auth_scheme == Version.AuthScheme.NONE:
            findings.add(name, "secret_without_scheme", _("Leave this empty, or choose how the key is sent."))
        try:
            check_secret(materials.memory_system_key)
        except Refusal as refusal:
            findings.add(name, refusal.code, str(refusal.message))
    elif materials.auth_scheme not in {"", Version.AuthScheme.NONE} and not has_secret:
        findings.add(
            name,
            "secret_required",
            _("Enter the Memory System Key. A stored key is bound to its URLs: after a change, enter it once more."),
        )


def _check_plain_http(materials: Materials, findings: _Findings) -> None:
    if materials.allow_plain_http or findings.names() & set(CREDENTIAL_URL_FIELDS):
        return
    if credential_goes_over_plain_http(materials):
        message = _(
            "One of the URLs is http://, which sends the Memory System Key unencrypted. Use https://, or tick this: "
            "plain http is enough for smoke tests and not for a full evaluation."
        )
        findings.add("allow_plain_http", "plain_http_not_confirmed", message)
