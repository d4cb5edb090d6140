"""Makes the organizers' groups, or sets their permissions back."""

from typing import Any

from django.core.management.base import BaseCommand

from aml.groups import seed_groups


class Command(BaseCommand):
    help = "Make the groups reviewer, operator and publisher, or set their permissions back; members stay."

    def handle(self, *args: Any, **options: Any) -> None:
        for group in seed_groups():
            self.stdout.write(f"{group.name}: {group.permissions.count()} permissions")
