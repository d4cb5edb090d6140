"""Checks one server against the whole contract."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from contract.auth import AuthScheme
from contract.client import CallBudget, Client
from contract.conformance.addresses import Addresses
from contract.conformance.findings import Ended, Finding, RuleOutcome, could_not_run, skipped
from contract.conformance.probe import CheckLimits, Probe
from contract.conformance.rules import RULES, Rule
from contract.guard import GuardPolicy
from contract.messages import Track

__all__ = ["CHECK_BUDGET", "Report", "Watch", "check"]

CHECK_BUDGET = CallBudget(connect_s=10, write_s=60, headers_s=60, body_s=60, total_s=120)
"""Deadlines in seconds that suit somebody who waits; an evaluation allows 30 minutes."""

Watch = Callable[[Rule, Finding | None], None]
"""Is told of each rule as it begins (None) and when it has ended."""

_CONDITIONS = {"key": "no_auth", "images": "other_track", "status": "no_status_url"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What a check came to; times are UTC."""

    addresses: Addresses
    track: Track
    auth: AuthScheme
    started_at: datetime
    ended_at: datetime
    findings: tuple[Finding, ...]

    def count(self, outcome: RuleOutcome) -> int:
        return sum(finding.outcome is outcome for finding in self.findings)

    @property
    def outcome(self) -> RuleOutcome:
        """`finding` when a rule is broken, else `could_not_run` when one could not be tried, else `pass`."""
        for outcome in (RuleOutcome.FINDING, RuleOutcome.COULD_NOT_RUN):
            if self.count(outcome):
                return outcome
        return RuleOutcome.PASS

    @property
    def exit_code(self) -> int:
        """0 all well, 1 findings, 2 could not run."""
        return {RuleOutcome.PASS: 0, RuleOutcome.FINDING: 1}.get(self.outcome, 2)


async def check(
    addresses: Addresses,
    *,
    policy: GuardPolicy,
    track: Track = "textual",
    auth: AuthScheme = AuthScheme.NONE,
    credential: Callable[[], str] | None = None,
    client: Client | None = None,
    limits: CheckLimits | None = None,
    nonce: str = "",
    rules: Sequence[Rule] = RULES,
    watch: Watch = lambda rule, finding: None,
) -> Report:
    """Try the rules in turn, by default all, and return what each came to; never raises for what a server does.

    `policy` is the guard's: `home_policy(addresses)` on the participant's own machine, the operator's for the
    portal. `credential` is asked at each call. `client` is made from `policy` when it is not given. `nonce` tells
    the ids and facts of this run from those of every other; a random one by default. A shorter list of `rules` must
    hold what its rules need: those on the connection come first.
    """
    probe = Probe(
        client=client or Client(policy, budget=CHECK_BUDGET),
        addresses=addresses,
        track=track,
        auth=auth,
        credential=credential,
        limits=limits or CheckLimits(),
        nonce=nonce or secrets.token_hex(4),
    )
    started_at, findings = datetime.now(UTC), []
    for rule in rules:
        watch(rule, None)
        finding = replace(await _try(rule, probe), rule=rule.name)
        if finding.outcome in (RuleOutcome.PASS, RuleOutcome.SKIPPED) and rule.gives:
            probe.state.add(rule.gives)
        findings.append(finding)
        watch(rule, finding)
    return Report(
        addresses=addresses,
        track=track,
        auth=auth,
        started_at=started_at,
        ended_at=datetime.now(UTC),
        findings=tuple(findings),
    )


async def _try(rule: Rule, probe: Probe) -> Finding:
    conditions = {
        "key": probe.auth is not AuthScheme.NONE,
        "images": probe.track == "multimodal",
        "status": bool(probe.addresses.status),
    }
    for need in rule.needs:
        if need in conditions:
            if not conditions[need]:
                return skipped(_CONDITIONS[need])
        elif need not in probe.state:
            return could_not_run("needs_reach" if need == "connection" else f"needs_{need}")
    try:
        return await rule.check(probe)
    except Ended as ended:
        return ended.finding
