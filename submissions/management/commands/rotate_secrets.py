"""`manage.py rotate_secrets`: encrypt every stored secret with the newest key of `AML_SECRETS_KEYS`."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from submissions.keyring import key_ring
from submissions.vault import rotate_secrets


class Command(BaseCommand):
    help = "Encrypts Memory System Keys with the first key of AML_SECRETS_KEYS. Can be interrupted and repeated."

    def handle(self, *args: Any, **options: Any) -> None:
        rotation = rotate_secrets()
        primary = key_ring().primary
        self.stdout.write(f"{rotation.renewed} encrypted anew with {primary}")
        for key_id, count in rotation.by_key_id.items():
            note = "" if count or key_id == primary else " (may leave the ring)"
            self.stdout.write(f"{key_id}: {count}{note}")
        if rotation.failed:
            raise CommandError(
                "These do not open with any key of the ring; their teams must enter them once more: "
                + ", ".join(rotation.failed)
            )
