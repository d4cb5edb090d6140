"""What a rule of the check comes to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

__all__ = ["Ended", "Fact", "Finding", "RuleOutcome", "could_not_run", "found", "passed", "skipped"]

Fact = str | int | float


class RuleOutcome(StrEnum):
    """`pass` the rule holds; `finding` it does not; `skipped` it does not apply; `could_not_run` something before it
    failed, so that nothing can be said."""

    PASS = "pass"  # noqa: S105 - an outcome
    FINDING = "finding"
    SKIPPED = "skipped"
    COULD_NOT_RUN = "could_not_run"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One line of the report.

    `code` is stable and machine-readable, empty on a pass. `sent` and `came` are quotations of at most a few hundred
    characters, in no language and without the credential; `facts` are numbers and names for programs.
    """

    outcome: RuleOutcome
    rule: str = ""
    code: str = ""
    sent: str = ""
    came: str = ""
    facts: Mapping[str, Fact] = field(default_factory=dict)


class Ended(Exception):
    """A rule ends here; `finding` is what it came to."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.code)
        self.finding = finding


def passed(sent: str = "", came: str = "", **facts: Fact) -> Finding:
    """Return that the rule holds."""
    return Finding(outcome=RuleOutcome.PASS, sent=sent, came=came, facts=facts)


def found(code: str, sent: str = "", came: str = "", **facts: Fact) -> Finding:
    """Return that the rule is broken, and how."""
    return Finding(outcome=RuleOutcome.FINDING, code=code, sent=sent, came=came, facts=facts)


def skipped(code: str, sent: str = "", came: str = "") -> Finding:
    """Return that the rule does not apply here."""
    return Finding(outcome=RuleOutcome.SKIPPED, code=code, sent=sent, came=came)


def could_not_run(code: str, sent: str = "", came: str = "") -> Finding:
    """Return that nothing can be said."""
    return Finding(outcome=RuleOutcome.COULD_NOT_RUN, code=code, sent=sent, came=came)
