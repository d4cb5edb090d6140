"""`manage.py runworker`: the workers that run evaluations, kept running."""

from argparse import SUPPRESS, ArgumentParser, ArgumentTypeError
from typing import Any

from django.core.management.base import BaseCommand
from django.db import connections

from evaluation.cluster import serve
from evaluation.supervisor import Supervisor, cluster_command


class Command(BaseCommand):
    help = (
        "Run the workers and keep them running: wakes jobs that are due, starts a cluster anew when one of its "
        "processes dies, and stops within five seconds on SIGTERM, leaving no process behind."
    )

    requires_system_checks = ()  # the web process runs them; a worker that starts anew should be quick

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--clusters", type=_positive, default=1, help="clusters to run, each of AML_WORKERS workers (default: 1)"
        )
        parser.add_argument("--under", type=int, default=0, help=SUPPRESS)

    def handle(self, *args: Any, **options: Any) -> None:
        connections.close_all()
        if options["under"]:
            serve(options["under"])
        Supervisor(clusters=options["clusters"], command=cluster_command()).run()


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise ArgumentTypeError(f"expected a number of at least 1, got {text!r}")
    return int(text)
