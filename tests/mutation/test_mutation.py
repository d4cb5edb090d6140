"""Each guard line is held by a test: with the line turned off, one fails."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.mutation.guards import MUTATIONS, Edit, Mutation
from tests.mutation.runs import baseline, copy_tree, survives

pytestmark = [pytest.mark.mutation, pytest.mark.xdist_group("mutation")]


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    copy = copy_tree(tmp_path_factory.mktemp("mutation") / "tree")
    assert baseline(copy, MUTATIONS) == ""
    return copy


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_a_test_fails_when_a_guard_is_turned_off(tree: Path, mutation: Mutation) -> None:
    assert survives(tree, mutation) == ""


def test_an_edit_that_changes_nothing_survives(tree: Path) -> None:
    """The check itself can fail: it does not take every run for a failure of tests."""
    idle = Mutation(
        "idle", (Edit("contract/exchange.py", "READ_SIZE = 65_536", "READ_SIZE = 65536"),), MUTATIONS[0].tests
    )
    assert survives(tree, idle) == "no test failed"


def test_an_edit_that_no_longer_applies_is_told(tree: Path) -> None:
    gone = Mutation("gone", (Edit("contract/exchange.py", "a line that is not there", ""),), MUTATIONS[0].tests)
    assert "stands 0 times in contract/exchange.py" in survives(tree, gone)
