"""`manage.py backup FOLDER`: the database, the evidence and the materials, while the portal is in use."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from aml.operations.backup import BackupFailed, make_backup


class Command(BaseCommand):
    help = (
        "Copy database, evidence and materials into a new folder below FOLDER. Settings and secrets are not in it: "
        "keep AML_SECRETS_KEYS, AML_KEY_PEPPER and SECRET_KEY elsewhere, without them a backup opens no secret."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("folder", type=Path)

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            backup = make_backup(options["folder"].resolve(), timezone.now())
        except (BackupFailed, OSError) as error:
            raise CommandError(f"No backup was made: {error}") from error
        self.stdout.write(f"{backup.folder}: {backup.database}, {backup.evidence_files} evidence files")
        if backup.missing:
            raise CommandError(f"{len(backup.missing)} evidence files are missing, {backup.missing[0]} first.")
