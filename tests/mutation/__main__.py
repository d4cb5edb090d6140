"""`python -m tests.mutation`: turn each guard line off in a copy of the tree, and fail when no test notices."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.mutation.guards import MUTATIONS
from tests.mutation.runs import baseline, copy_tree, survives


def main() -> int:
    """Return 1 when a mutation survives or an edit no longer applies."""
    survivors = 0
    with tempfile.TemporaryDirectory() as folder:
        tree = copy_tree(Path(folder) / "tree")
        if failure := baseline(tree, MUTATIONS):
            print(f"The tests fail without any mutation:\n{failure}")
            return 1
        for mutation in MUTATIONS:
            why = survives(tree, mutation)
            survivors += bool(why)
            print(f"{'SURVIVED' if why else 'noticed ':<9}{mutation.name}{f': {why}' if why else ''}", flush=True)
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
