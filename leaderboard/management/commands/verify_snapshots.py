"""Proves that every published snapshot is what it was when it was taken."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from leaderboard.snapshots import broken_snapshots


class Command(BaseCommand):
    help = "Check each snapshot's digest and that it follows from the one before; fails and names those that do not."

    def handle(self, *args: Any, **options: Any) -> None:
        count, broken = broken_snapshots()
        if broken:
            raise CommandError("\n".join(f"{snapshot}: {problem}" for snapshot, problem in broken))
        self.stdout.write(f"{count} snapshots are whole.")
