"""`manage.py replay JOB`: does the evidence give the scores that were kept?"""

from argparse import ArgumentParser
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError

from evaluation.evidence.reading import EvidenceMissing
from evaluation.evidence.replaying import replay_run
from evaluation.models import Job


class Command(BaseCommand):
    help = (
        "Compute a run's offline answers and its scores again from its evidence and compare them byte for byte. "
        "Asks neither the participant nor a model, and changes nothing. Exit code 1 when something differs."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("job", type=UUID)

    def handle(self, *args: Any, **options: Any) -> None:
        job = Job.objects.select_related("release").filter(pk=options["job"]).first()
        if job is None:
            raise CommandError(f"There is no job {options['job']}.")
        try:
            replay = replay_run(job)
        except (ValueError, EvidenceMissing) as error:
            raise CommandError(f"The run can't be replayed: {error}.") from error
        self.stdout.write(f"{replay.questions} questions, {replay.answers_again} answers made again.")
        self.stdout.write(f"scores kept      SHA-256 {replay.kept_sha256}")
        self.stdout.write(f"scores replayed  SHA-256 {replay.again_sha256}")
        if replay.left_out:
            self.stdout.write(replay.left_out)
        if not replay.is_equal:
            for line in replay.differences:
                self.stdout.write(line)
            raise CommandError(f"{replay.different} differences.")
        self.stdout.write("Byte-equal.")
