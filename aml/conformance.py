# translates messages from data
"""`agentmem check`: shows the check of a memory server as it goes, and what it came to."""

from __future__ import annotations

import asyncio
import ssl
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn
from rich.text import Text

from aml.speech import gettext as _
from contract.auth import AuthScheme
from contract.client import Client
from contract.conformance import (
    CHECK_BUDGET,
    GROUPS,
    RULES,
    Addresses,
    CheckLimits,
    Finding,
    Report,
    Rule,
    as_data,
    as_json,
    as_junit,
    check,
    home_policy,
)
from contract.messages import Track

__all__ = ["CheckRun", "run_check"]

MARKS = {
    "pass": ("✓", "green"),
    "finding": ("✗", "bold red"),
    "skipped": ("–", "dim"),
    "could_not_run": ("?", "yellow"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckRun:
    """What the command line asks for. `json_to` and `junit_to` are files, ``-`` for the standard output, or empty."""

    addresses: Addresses
    track: Track
    auth: AuthScheme
    key: str
    language: str
    timeout_s: float
    max_body: int | None
    authority: Path | None
    json_to: str
    junit_to: str


def run_check(run: CheckRun) -> int:
    """Check, show and write the reports, and return the exit code. Raises `OSError` for a file that does not work."""
    # the report goes where the programs' output does not
    screen = Console(stderr="-" in (run.json_to, run.junit_to), highlight=False, soft_wrap=True)
    report = _check_with_progress(run, screen)
    data = as_data(report, _, language=run.language)
    _show(data, screen)
    if run.json_to:
        _write(run.json_to, as_json(data))
    if run.junit_to:
        _write(run.junit_to, as_junit(data))
    return report.exit_code


def _check_with_progress(run: CheckRun, screen: Console) -> Report:
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=screen, transient=True, disable=not screen.is_terminal) as progress:
        bar = progress.add_task("", total=len(RULES))

        def watch(rule: Rule, finding: Finding | None) -> None:
            progress.update(bar, description=_(rule.title), advance=0 if finding is None else 1)

        return asyncio.run(_check(run, watch))


async def _check(run: CheckRun, watch: Callable[[Rule, Finding | None], None]) -> Report:
    policy = home_policy(run.addresses)
    total = run.timeout_s + CHECK_BUDGET.body_s
    budget = replace(CHECK_BUDGET, headers_s=run.timeout_s, total_s=total)
    trust = ssl.create_default_context(cafile=run.authority) if run.authority else None
    return await check(
        run.addresses,
        policy=policy,
        track=run.track,
        auth=run.auth,
        credential=(lambda: run.key) if run.key else None,
        client=Client(policy, budget=budget, tls=trust),
        limits=CheckLimits(max_body=run.max_body),
        watch=watch,
    )


def _show(data: dict[str, Any], screen: Console) -> None:
    addresses = data["addresses"]
    lines = (
        (_("Add URL"), addresses["add"]),
        (_("Search URL"), addresses["search"]),
        (_("Health URL"), addresses["health"]),
    )
    for name, address in lines:
        screen.print(Text.assemble((f"{name}: ", "dim"), address))
    group = said = ""
    for finding in data["findings"]:
        if finding["group"] != group:
            group = finding["group"]
            screen.print()
            screen.print(Text(_(GROUPS[group]), "bold"))
        _show_finding(finding, screen, again=finding["outcome"] != "finding" and finding["advice"] == said)
        said = finding["advice"]
    screen.print()
    screen.print(_summary(data))


def _show_finding(finding: dict[str, Any], screen: Console, *, again: bool) -> None:
    """Print one line and what belongs to it; advice that stands right above is not said `again`."""
    mark, style = MARKS[finding["outcome"]]
    code = f"  {finding['code']}" if finding["code"] else ""
    screen.print(Text.assemble((f"  {mark} ", style), finding["title"], (code, style)))
    if finding["outcome"] == "pass":
        if finding["facts"] and finding["came"]:
            screen.print(Text(f"      {finding['came']}", "dim"))
        return
    short = finding["outcome"] != "finding"
    details = (
        (_("what was sent"), "" if short else finding["sent"]),
        (_("what came"), finding["came"]),
        (_("what was expected"), "" if short else finding["expected"]),
        (_("what to do"), "" if again else finding["advice"]),
    )
    for name, text in details:
        if text:
            screen.print(Text.assemble((f"      {name}: ", "dim"), text))


def _summary(data: dict[str, Any]) -> Text:
    sentence = {
        "pass": _("All well: %(pass)d rules hold, %(skipped)d do not apply."),
        "finding": _(
            "Findings: %(finding)d; %(pass)d rules hold, %(skipped)d do not apply, %(could_not_run)d untried."
        ),
        "could_not_run": _("Could not be tried: %(could_not_run)d; %(pass)d rules hold, %(skipped)d do not apply."),
    }[data["outcome"]]
    return Text(sentence % data["counts"], MARKS[data["outcome"]][1])


def _write(where: str, text: str) -> None:
    if where == "-":
        sys.stdout.write(text)
    else:
        Path(where).write_text(text, encoding="utf-8")
