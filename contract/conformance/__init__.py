"""Checks a memory server against the whole wire contract: `agentmem check`, and the portal's look before a run.

`rules` lists what is tried, each module beside it tries a group; `causes` has the sentences, `reports` the forms.
"""

from contract.conformance.addresses import Addresses, addresses_below, home_policy
from contract.conformance.causes import CAUSES, cause_text
from contract.conformance.checking import CHECK_BUDGET, Report, check
from contract.conformance.findings import Finding, RuleOutcome
from contract.conformance.probe import CheckLimits
from contract.conformance.reports import SCHEMA_ID, as_data, as_json, as_junit
from contract.conformance.rules import GROUPS, RULES, Rule

__all__ = [
    "CAUSES",
    "CHECK_BUDGET",
    "GROUPS",
    "RULES",
    "SCHEMA_ID",
    "Addresses",
    "CheckLimits",
    "Finding",
    "Report",
    "Rule",
    "RuleOutcome",
    "addresses_below",
    "as_data",
    "as_json",
    "as_junit",
    "cause_text",
    "check",
    "home_policy",
]
