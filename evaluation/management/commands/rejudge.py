"""`manage.py rejudge JOB`: a second column of scores for a run's kept answers."""

from argparse import ArgumentParser
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from evaluation.evidence.reading import EvidenceMissing
from evaluation.evidence.rescoring import next_column, rescore
from evaluation.faults import PlatformFault
from evaluation.models import Job


class Command(BaseCommand):
    help = (
        "Score a run's kept answers once more, into a column of its own. Nothing that exists is changed, and the "
        "participant is not asked. The same --column goes on where a call was cut off."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("job", type=UUID)
        parser.add_argument("--metric", default="", help="score by this rule instead of as the release says")
        parser.add_argument("--column", default="", help="name of the column (default: rejudge-1, rejudge-2 ...)")

    def handle(self, *args: Any, **options: Any) -> None:
        job = Job.objects.select_related("release").filter(pk=options["job"]).first()
        if job is None:
            raise CommandError(f"There is no job {options['job']}.")
        column = options["column"] or next_column(job)
        try:
            done = rescore(job=job, column=column, metric=options["metric"], actor="platform", at=timezone.now())
        except (ValueError, EvidenceMissing, PlatformFault) as error:
            raise CommandError(f"Nothing was scored: {error}.") from error
        self.stdout.write(
            f"{done.added} scores added in column {column}. Over {done.n} questions with both: "
            f"mean {done.before:.6f} before, {done.after:.6f} in {column}; {done.changed} differ."
        )
        if done.faults:
            raise CommandError(f"The judge failed {done.faults} times. Do the rest with --column {column}.")
