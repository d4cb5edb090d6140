"""`manage.py run_arms RELEASE`: the platform's reference arms under a release."""

import getpass
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from evaluation.arms.running import Watch, run_arm
from evaluation.faults import PlatformFault
from evaluation.models import ArmRun, Release
from submissions.refusals import Refusal


class Command(BaseCommand):
    help = (
        "Run the reference arms (no memory, full context, BM25, oracle evidence) under a release and keep their "
        "results for its boards, apart from participants' runs. A call that was cut off goes on where it stopped; an "
        "arm that is done is left as it is, unless --again asks for another run beside it."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("release", help="name of the release")
        parser.add_argument("--arm", choices=ArmRun.Arm.values, action="append", help="only this one; may be repeated")
        parser.add_argument("--again", action="store_true", help="run an arm that is done once more, and compare")

    def handle(self, *args: Any, **options: Any) -> None:
        release = Release.objects.filter(name=options["release"]).first()
        if release is None:
            known = ", ".join(Release.objects.values_list("name", flat=True)) or "none"
            raise CommandError(f"There is no release {options['release']}. There are: {known}.")
        for arm in options["arm"] or ArmRun.Arm.values:
            self._run(release, arm, again=options["again"])

    def _run(self, release: Release, arm: str, *, again: bool) -> None:
        before = ArmRun.objects.filter(release=release, arm=arm, state=ArmRun.State.SUCCEEDED).first()
        try:
            with self._bar(arm) as watch:
                run = run_arm(
                    release=release, arm=arm, again=again, actor=f"organizer:{getpass.getuser()}", watch=watch
                )
        except Refusal as refusal:
            raise CommandError(f"{refusal.message} [{refusal.code}]") from refusal
        except PlatformFault as fault:
            raise CommandError(f"{arm} stopped: {fault}. Put it right and call again: it goes on from here.") from fault
        self.stdout.write(_line(run, before))

    @contextmanager
    def _bar(self, arm: str) -> Iterator[Watch]:
        columns = (
            TextColumn(f"{arm:<14}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
        )
        with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
            task = bars.add_task(arm, total=None)
            yield lambda done, total: bars.update(task, completed=done, total=total)


def _line(run: ArmRun, before: ArmRun | None) -> str:
    """What a run came to, and how it compares with the one before."""
    assert run.overall is not None
    answerable = run.facts["answerable"]
    line = (
        f"{run.arm:<14}Overall {100 * run.overall:6.2f} (n {run.n:,})  "
        f"answerable {100 * answerable['score']:6.2f} (n {answerable['n']:,})  digest {run.digest[:16]}"
    )
    if run.facts["shortened"]:
        line += f"\n{'':<14}older turns left out of {run.facts['shortened']:,} contexts, for the token budget"
    if run.arm == ArmRun.Arm.ORACLE and run.facts["without_evidence"]:
        line += f"\n{'':<14}{run.facts['without_evidence']:,} answerable questions name no evidence"
    if before is None:
        return line
    if before == run:
        return f"{line}  done before"
    return f"{line}  {'equal to the run before' if before.digest == run.digest else 'differs from the run before'}"
