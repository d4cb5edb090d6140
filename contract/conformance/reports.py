"""A report as data and as JUnit XML, in the reader's language."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

from contract.conformance.addresses import shown
from contract.conformance.causes import cause_text
from contract.conformance.checking import Report
from contract.conformance.findings import Finding, RuleOutcome
from contract.conformance.rules import RULES

__all__ = ["SCHEMA_ID", "Translate", "as_data", "as_json", "as_junit"]

SCHEMA_ID = "agentmem.check.v1"
Translate = Callable[[str], str]
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_RULES = {rule.name: rule for rule in RULES}


def as_data(report: Report, translate: Translate, *, language: str) -> dict[str, Any]:
    """Return `report` as plain data; its form is described by ``report.schema.json`` beside this module."""
    addresses = report.addresses
    return {
        "schema": SCHEMA_ID,
        "language": language,
        "started_at": report.started_at.isoformat(timespec="milliseconds"),
        "ended_at": report.ended_at.isoformat(timespec="milliseconds"),
        "track": report.track,
        "auth": str(report.auth),
        "addresses": {
            "add": shown(addresses.add),
            "search": shown(addresses.search),
            "health": shown(addresses.health),
            "status": shown(addresses.status) if addresses.status else None,
        },
        "outcome": str(report.outcome),
        "exit_code": report.exit_code,
        "counts": {str(outcome): report.count(outcome) for outcome in RuleOutcome},
        "findings": [finding_data(finding, translate) for finding in report.findings],
    }


def finding_data(finding: Finding, translate: Translate) -> dict[str, Any]:
    """Return one line of the report; sentences in the reader's language, quotations as they are."""
    rule = _RULES[finding.rule]
    cause = cause_text(finding.code) if finding.code else None
    return {
        "rule": rule.name,
        "group": rule.group,
        "title": translate(rule.title),
        "outcome": str(finding.outcome),
        "code": finding.code,
        "sent": finding.sent,
        "came": finding.came,
        "expected": translate(cause.expected) if cause else "",
        "advice": translate(cause.advice) if cause else "",
        "facts": dict(finding.facts),
    }


def as_json(data: dict[str, Any]) -> str:
    """Return what `as_data` made as indented JSON with a new line at its end."""
    return json.dumps(data, ensure_ascii=False, indent=2) + "\n"


def as_junit(data: dict[str, Any]) -> str:
    """Return what `as_data` made as JUnit XML: a finding is a failure, could_not_run an error."""
    counts = data["counts"]
    suite = ElementTree.Element(
        "testsuite",
        name="agentmem check",
        tests=str(len(data["findings"])),
        failures=str(counts["finding"]),
        errors=str(counts["could_not_run"]),
        skipped=str(counts["skipped"]),
        timestamp=data["started_at"],
    )
    for finding in data["findings"]:
        group = f"agentmem.{data['track']}.{finding['group']}"
        case = ElementTree.SubElement(suite, "testcase", name=finding["rule"], classname=group)
        _explain(case, finding)
    ElementTree.indent(suite)
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def _explain(case: ElementTree.Element, finding: dict[str, Any]) -> None:
    tag = {"finding": "failure", "could_not_run": "error", "skipped": "skipped"}.get(finding["outcome"])
    if tag is None:
        return
    message = f"{finding['code']}: {finding['title']}"
    explained = ElementTree.SubElement(case, tag, message=_xml(message))
    lines = (f"{name}: {finding[name]}" for name in ("sent", "came", "expected", "advice") if finding[name])
    explained.text = _xml("\n".join(lines))


def _xml(text: str) -> str:
    """Return `text` without what XML 1.0 cannot hold."""
    return _NOT_XML.sub("�", text)
