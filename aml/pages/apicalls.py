"""Calls of the REST API as a participant makes them, in their order; a test sends each of them."""

import json
from dataclasses import dataclass, field
from typing import Any

from django.conf import settings
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

REQUEST = {
    "contact_name": "Ming Li",
    "contact_email": "ming@example.com",
    "team": "Example Team",
    "system": "Example Memory",
    "version": "1.0",
    "division": "commercial",
    "tracks": ["textual"],
    "add_url": "https://memory.example.com/add",
    "search_url": "https://memory.example.com/search",
    "auth_scheme": "bearer",
    "memory_system_key": "the-key-that-your-server-accepts",
    "method_description": "Stores turns and finds them again.",
    "public_description": "A store of turns.",
    "run_notes": "None.",
    "stays_reachable": True,
}
CHECKLIST = dict.fromkeys(("smoke_passed", "api_contract", "run_notes", "disclosure", "integrity"), True)
RUN = {"version": "VERSION_ID", "track": "textual", "run_label": "smoke-1"}


@dataclass(frozen=True, slots=True)
class Call:
    """One call: words in capitals in `path` and `body` stand for ids that an earlier answer gave."""

    name: str
    title: str | Promise
    note: str | Promise
    path: str
    method: str = "GET"
    body: dict[str, Any] = field(default_factory=dict)
    needs_key: bool = True

    @property
    def sample(self) -> str:
        """The name of its sample on the page."""
        return f"{self.name}-call"

    @property
    def curl(self) -> str:
        """The call as one would type it; $KEY is the Leaderboard Key."""
        lines = [f"curl --silent {settings.AML_SITE_URL}/api/v1{self.path}"]
        if self.method != "GET":
            lines.append(f"--request {self.method}")
        if self.needs_key:
            lines.append('--header "Authorization: Bearer $KEY"')
        if self.body:
            lines.append("--header 'Content-Type: application/json'")
            lines.append(f"--data '{json.dumps(self.body, indent=2)}'")
        return " \\\n  ".join(lines)


CALLS = (
    Call(
        "request",
        _("Request access"),
        _("The answer holds the receipt of the request, which is what reads and claims it: keep it."),
        "/access-requests",
        "POST",
        REQUEST,
        needs_key=False,
    ),
    Call("state", _("Read its state"), _("Until it is approved."), "/access-requests/RECEIPT", needs_key=False),
    Call(
        "claim",
        _("Claim the key"),
        _("Once, after the approval. The key is shown this one time: KEY=…"),
        "/access-requests/RECEIPT/claim",
        "POST",
        needs_key=False,
    ),
    Call("versions", _("Find the version's id"), _("Versions that are bound to the key."), "/versions"),
    Call("quotas", _("Look at the quotas"), _("What may still be started, and when."), "/quotas"),
    Call("smoke", _("Start a smoke test"), _("The answer is the run with its id."), "/smoke-tests", "POST", RUN),
    Call("run", _("Follow the run"), _("state ends as succeeded, failed or cancelled."), "/eval-jobs/RUN_ID"),
    Call("receipts", _("Read its receipts"), _("Every attempt on the wire, in order."), "/eval-jobs/RUN_ID/receipts"),
    Call("results", _("Read its result"), _("Scores go from 0 to 1."), "/eval-jobs/RUN_ID/results"),
    Call(
        "full",
        _("Start a full evaluation"),
        _("After a smoke test that succeeded. Each point of the checklist is confirmed with true."),
        "/eval-jobs",
        "POST",
        {**RUN, "run_label": "full-1", "checklist": CHECKLIST},
    ),
    Call(
        "pages",
        _("Go through a list"),
        _("Lists of runs and receipts come in pages of page_size, at most 200; next is the address of the next page."),
        "/eval-jobs?page_size=20",
    ),
)
