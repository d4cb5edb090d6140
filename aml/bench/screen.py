# translates messages from data
"""What `agentmem bench` shows on the terminal: a bar for each stage while it runs, and the figures at the end."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.cells import set_cell_size
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    Task,
    TaskID,
    TextColumn,
)
from rich.table import Table
from rich.text import Text

from aml.bench.failed import STAGES, FailedRun
from aml.bench.report import Report, facts_of, figures_of, sections_of
from aml.figures import count_text
from aml.speech import gettext as _
from evaluation.pipeline.files.stages import StageCount, Stages
from evaluation.pipeline.files.suite import FileSuite

__all__ = ["Screen"]

NAMES = 40
"""Columns for the names of figures."""


class Screen:
    """The terminal of one command."""

    def __init__(self) -> None:
        self.console = Console(highlight=False, soft_wrap=True)
        self._errors = Console(stderr=True, highlight=False, soft_wrap=True)

    def say_begin(self, suite: FileSuite, server: str, folder: Path, stages: Stages) -> None:
        found = sum(count.done for count in stages.all())
        self.console.print(Text.assemble((f"{suite.facts.manifest.title} ", "bold"), "→ ", server))
        line = _("%(scopes)s conversations, %(adds)s Adds, %(questions)s questions") % {
            "scopes": count_text(suite.scope_count),
            "adds": count_text(suite.adds),
            "questions": count_text(suite.searches),
        }
        self.console.print(Text(line, "dim"))
        if found:
            self.console.print(Text(_("Goes on with the run in %(folder)s.") % {"folder": folder}, "dim"))

    @contextmanager
    def watching(self, stages: Stages) -> Iterator[None]:
        """Show how far each stage is while the block runs; without a terminal, a line for each at the end."""
        columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), _Pace(stages))
        bars = _Bars(stages, *columns, console=self.console)
        began = {count.stage: count.done for count in stages.all()}
        try:
            with bars:
                yield
        finally:
            for count in stages.all():
                if count.done != began[count.stage] or count.is_done:
                    self.console.print(_stage_line(count))

    def show_result(self, report: Report, *, again: bool = False) -> None:
        """Print the scores with their n, the latencies, and what came back."""
        if again:
            self.console.print(_("This run is done. Give another --out to begin a new one."))
        self.console.print()
        for section in sections_of(report):
            table = Table(title=section.title, title_justify="left", title_style="bold", box=None, pad_edge=False)
            has_n = any(figure.n is not None for figure in section.figures)
            table.add_column("", min_width=NAMES)
            table.add_column(_("Score") if has_n else _("Value"), justify="right", min_width=9)
            table.add_column("n" if has_n else "", justify="right", min_width=7)
            for figure in section.figures:
                table.add_row(Text(figure.title), figure.text, "" if figure.n is None else count_text(figure.n))
            self.console.print(table)
            self.console.print()
        self._pairs(figures_of(report))
        self.console.print()
        self._pairs(facts_of(report))

    def say_reports(self, folder: Path) -> None:
        self.console.print()
        self.console.print(_("Reports: %(html)s, report.md, report.json") % {"html": folder / "report.html"})

    def show_failure(self, failed: FailedRun) -> None:
        """Say what ended the run, what to do, and how to go on."""
        say = self._errors.print
        say(Text.assemble((failed.title, "bold red"), (", ".join(failed.codes), "bold red")))
        for name, value in failed.facts:
            say(Text.assemble((f"  {name}: ", "dim"), value))
        say(Text(failed.go_on))

    def say_stopped(self, folder: Path) -> None:
        self._errors.print(_("Interrupted. The same command goes on from %(folder)s.") % {"folder": folder})

    def say_cannot(self, message: str) -> None:
        self._errors.print(Text(message, "red"))

    def _pairs(self, rows: Sequence[tuple[str, str]]) -> None:
        for name, value in rows:
            self.console.print(Text.assemble((set_cell_size(name, NAMES), "dim"), " ", value))


class _Bars(Progress):
    """A bar for each stage that reads the counts whenever it is drawn."""

    def __init__(self, stages: Stages, *columns: ProgressColumn, console: Console) -> None:
        self._stages = stages
        self._bars: dict[str, TaskID] = {}
        super().__init__(
            *columns, console=console, transient=True, refresh_per_second=5, disable=not console.is_terminal
        )
        for count in stages.all():
            self._bars[count.stage] = self.add_task(_(STAGES[count.stage]), total=count.total, stage=count.stage)

    def get_renderables(self) -> Iterator[Table]:
        for stage, bar in self._bars.items():
            self._tasks[bar].completed = self._stages[stage].done
        yield self.make_tasks_table(self.tasks)


class _Pace(ProgressColumn):
    """Rate, time to go and retries of a stage."""

    def __init__(self, stages: Stages) -> None:
        super().__init__()
        self._stages = stages

    def render(self, task: Task) -> Text:
        return Text(_pace(self._stages[task.fields["stage"]], time.monotonic()), "dim")


def _pace(count: StageCount, now: float) -> str:
    parts = []
    rate, left = count.rate(now), count.left_s(now)
    if rate is not None and not count.is_done:
        parts.append(_("%(rate)s a second") % {"rate": f"{rate:,.1f}"})
    if left is not None and not count.is_done:
        minutes, seconds = divmod(int(left), 60)
        hours, minutes = divmod(minutes, 60)
        parts.append(_("%(time)s to go") % {"time": f"{hours}:{minutes:02d}:{seconds:02d}"})
    if count.lanes is not None and not count.is_done:
        parts.append(_("lanes: %(count)s") % {"count": count_text(count.lanes)})
    if count.retries:
        parts.append(_("retries: %(count)s") % {"count": count_text(count.retries)})
    return " · ".join(parts)


def _stage_line(count: StageCount) -> Text:
    mark = ("✓ ", "green") if count.is_done else ("… ", "yellow")
    retries = f" · {_('retries: %(count)s') % {'count': count_text(count.retries)}}" if count.retries else ""
    return Text.assemble(mark, _(STAGES[count.stage]), f" {count.done:,}/{count.total:,}", (retries, "dim"))
