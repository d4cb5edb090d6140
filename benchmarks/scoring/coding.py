"""Whether a patch resolved its task (`swe.resolved.v1`).

Source: the public description of SWE-bench's grading, made strict about runs that prove nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

__all__ = ["RESOLVED_ID", "Attempt", "Outcome", "Status", "resolved"]

RESOLVED_ID: Final = "swe.resolved.v1"

Status = Literal["passed", "failed", "error", "skipped"]
Outcome = Literal["resolved", "unresolved", "invalid"]


@dataclass(frozen=True, slots=True)
class Attempt:
    """What one run of the tests left: whether the patch applied, whether there is proof that the suite ran, the
    suite's exit code, and the status of each test that it names."""

    applied: bool
    ran: bool
    exit_code: int
    tests: Mapping[str, Status]


def resolved(fail_to_pass: Sequence[str], pass_to_pass: Sequence[str], attempt: Attempt) -> Outcome:
    """Return what an attempt comes to; only `resolved` scores 1, and every attempt counts in the denominator.

    Resolved iff every test of `fail_to_pass` passed and every one of `pass_to_pass` passed or was skipped; a test
    that the run doesn't name has not passed. A patch that didn't apply, a run without proof that the suite ran, and
    an exit code other than 0 without a test that failed are invalid.
    """
    failing = any(status in {"failed", "error"} for status in attempt.tests.values())
    if not attempt.applied or not attempt.ran or (attempt.exit_code != 0 and not failing):
        return "invalid"
    fixed = all(attempt.tests.get(name) == "passed" for name in fail_to_pass)
    kept = all(attempt.tests.get(name) in {"passed", "skipped"} for name in pass_to_pass)
    return "resolved" if fixed and kept else "unresolved"
