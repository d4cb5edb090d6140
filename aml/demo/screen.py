"""What the demo shows on the terminal: a line for each step, a bar while one takes time, and the board at the end."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table


class Screen:
    def __init__(self) -> None:
        self.console = Console(highlight=False)
        self._note = ""

    @contextmanager
    def step(self, title: str) -> Iterator[None]:
        """Name a step while it runs, and say how long it took."""
        started = time.monotonic()
        self._note = ""
        with self.console.status(title):
            yield
        note = f": {self._note}" if self._note else ""
        self.console.print(f"[green]done[/]  {title}{note} [dim]({time.monotonic() - started:.1f} s)[/]")

    def stopped(self, why: str) -> None:
        """Say why the demo went no further."""
        self.console.print(f"[red]The demo stopped.[/] {escape(why)}", soft_wrap=True)

    def note(self, text: str) -> None:
        """Add a few words to the line of the step that runs."""
        self._note = text

    @contextmanager
    def bars(self) -> Iterator[Progress]:
        """Progress bars with the time that is left."""
        columns: list[Any] = [SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()]
        with Progress(
            *columns, TimeElapsedColumn(), TimeRemainingColumn(), console=self.console, transient=True
        ) as bars:
            yield bars

    def board(self, title: str, entries: list[dict[str, Any]]) -> None:
        """The published board as a table."""
        table = Table(title=title, title_justify="left")
        for name in ("Rank", "System", "Version"):
            table.add_column(name)
        for name in ("Overall", "Answerable", "n"):
            table.add_column(name, justify="right")
        for entry in entries:
            answerable = entry["answerable"]["score"]
            table.add_row(
                str(entry["rank"]),
                entry["system"],
                entry["version"],
                f"{entry['score'] * 100:.2f}",
                "" if answerable is None else f"{answerable * 100:.2f}",
                f"{entry['n']:,}",
            )
        self.console.print(table)

    def parts(self, title: str, parts: list[dict[str, Any]]) -> None:
        """Scores of a result's parts, each with its n."""
        table = Table(title=title, title_justify="left")
        table.add_column("Part")
        for name in ("Score", "n"):
            table.add_column(name, justify="right")
        for part in parts:
            table.add_row(part["title"], f"{part['score'] * 100:.2f}", f"{part['n']:,}")
        self.console.print(table)
