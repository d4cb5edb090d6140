"""`manage.py verify_audit`: prove that the audit chain is whole; exit code 1 when it is not."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from submissions.audit import verify_chain


class Command(BaseCommand):
    help = "Checks the audit chain. Keep the printed head outside of the database: it proves the chain up to today."

    def handle(self, *args: Any, **options: Any) -> None:
        report = verify_chain()
        if not report.is_whole:
            raise CommandError(f"The audit chain is broken at row {report.broken_at}: {report.problem}.")
        self.stdout.write(f"The audit chain is whole: {report.count} rows, head {report.head}")
