"""`manage.py seed_cycles`: the public cycles so far with their dates and prizes."""

from typing import Any

from django.core.management.base import BaseCommand

from submissions.seeding import seed_cycles


class Command(BaseCommand):
    help = "Makes Cycle 1 and Cycle 2 with their prizes where they are missing; changes nothing that is there."

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(f"{seed_cycles()} cycles and prizes made")
