"""`make bench`: figures of wire, engine and site in one run, kept in var/bench.json; 1 when a hard one is missed."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.bench.calls import call_figures
from tests.bench.engine import engine_figures
from tests.bench.figures import markdown, missed, table, write
from tests.bench.memory import memory_figures
from tests.bench.peer import running_peer
from tests.bench.reading import reading_figures
from tests.bench.runs import run_figures
from tests.bench.site import site_figures

KEPT = Path(__file__).resolve().parents[2] / "var" / "bench.json"


def main() -> int:
    """Measure, print, keep, and return the exit code."""
    with running_peer() as port:
        figures = [*call_figures(port), *reading_figures(), *memory_figures(port)]
    for more in (engine_figures, run_figures, site_figures):
        figures += more()
    write(figures, KEPT)
    KEPT.with_suffix(".md").write_text(markdown(figures) + "\n", encoding="utf-8")
    print(table(figures))
    print(f"Kept in {KEPT.relative_to(KEPT.parents[1])}, and as a table in Markdown beside it")
    return 1 if missed(figures) else 0


if __name__ == "__main__":
    sys.exit(main())
