"""`manage.py purge`: evidence whose time is over goes."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand
from django.utils import timezone

from evaluation.evidence.retention import days_of, plan_purge, purge_evidence


class Command(BaseCommand):
    help = (
        "Say which runs' evidence (memories, response bodies) has been kept long enough, by the rule of the run's "
        "release or AML_EVIDENCE_DAYS; with --apply, remove it. Hashes, receipts, answers and scores stay, and nothing "
        "goes that a published entry or an open review rests on."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--apply", action="store_true", help="remove it; without this nothing is changed")

    def handle(self, *args: Any, **options: Any) -> None:
        at = timezone.now()
        purge = purge_evidence(actor="platform", at=at) if options["apply"] else plan_purge(at)
        for job in purge.jobs:
            self.stdout.write(f"{job.pk}  ended {job.ended_at:%Y-%m-%d}, kept {days_of(job)} days  {job}")
        word = "removed" if options["apply"] else "would be removed"
        self.stdout.write(
            f"{len(purge.jobs)} runs, {purge.files} files, {purge.size} bytes and {len(purge.orphans)} files without "
            f"a row {word}; {purge.kept} runs past their time are held by a review or an entry."
        )
        if not options["apply"]:
            self.stdout.write("Nothing was changed. Run again with --apply to remove it.")
