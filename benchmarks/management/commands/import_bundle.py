"""`manage.py import_bundle FOLDER`: registers a folder of dataset files with its hashes and counts."""

import getpass
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from benchmarks.datasets.registry import DATASETS
from benchmarks.models import Bundle
from benchmarks.services import register_bundle, register_own_suites
from submissions.refusals import Refusal


class Command(BaseCommand):
    help = "Registers a folder of dataset files as a bundle: reads it to its end, prints its counts and digest."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("folder", type=Path, nargs="?", help="the folder; the project's own suites when left out")
        parser.add_argument("--dataset", choices=sorted(DATASETS), help="the kind of dataset, without a bundle.json")
        parser.add_argument("--name", default="", help="name of the bundle; else the manifest's or the folder's")
        parser.add_argument("--licence", default="", help="licence of the files; else the manifest's")
        parser.add_argument("--source", default="", help="where the files come from; else the manifest's")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            bundles = self._register(options)
        except Refusal as refusal:
            raise CommandError(f"{refusal.message} [{refusal.code}]") from refusal
        for bundle in bundles:
            self._print(bundle)

    def _register(self, options: dict[str, Any]) -> list[Bundle]:
        actor, at = f"organizer:{getpass.getuser()}", timezone.now()
        if options["folder"] is None:
            return register_own_suites(actor=actor, at=at)
        names = ("folder", "dataset", "name", "licence", "source")
        return [register_bundle(actor=actor, at=at, **{name: options[name] for name in names})]

    def _print(self, bundle: Bundle) -> None:
        self.stdout.write(f"{bundle.name} {bundle.version} ({bundle.dataset}, {bundle.metric})")
        for name in ("scopes", "sessions", "turns", "questions", "answerable"):
            self.stdout.write(f"  {name:<12}{bundle.counts[name]:>8,}")
        categories = bundle.counts["by_category"].items()
        self.stdout.write("  by category " + ", ".join(f"{name}: {count:,}" for name, count in categories))
        self.stdout.write(f"  digest      {bundle.digest}")
