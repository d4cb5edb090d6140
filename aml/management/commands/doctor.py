"""`manage.py doctor`: is everything well that the portal leans on?"""

import json
from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand
from django.utils import timezone

from aml.operations.doctor import examine


class Command(BaseCommand):
    help = (
        "Check database, migrations, key ring, storage, open releases, workers, mail and private targets. "
        "Exit code 1 when something failed; with --strict a warning counts too."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--strict", action="store_true", help="let warnings count as failures")
        parser.add_argument("--json", action="store_true", help="print the findings as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        findings = examine(timezone.now())
        if options["json"]:
            self.stdout.write(json.dumps([asdict(finding) for finding in findings], indent=2))
        else:
            for finding in findings:
                self.stdout.write(f"{finding.level:8} {finding.name:16} {finding.found}")
                if finding.advice:
                    self.stdout.write(f"{'':25} {finding.advice}")
        bad = {"failure", "warning"} if options["strict"] else {"failure"}
        if any(finding.level in bad for finding in findings):
            raise SystemExit(1)
