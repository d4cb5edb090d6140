"""A table that becomes a list of blocks on a phone names the column of each cell."""

import re
from pathlib import Path

import pytest

from tests.conftest import ROOT

TEMPLATES = [
    path for path in sorted(Path(ROOT / "templates/evaluation").glob("*.html")) if "table-stack" in path.read_text()
]


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda path: path.name)
def test_each_cell_of_a_stacked_table_says_its_column(template: Path) -> None:
    for table in re.findall(r'<table class="[^"]*table-stack[^"]*">.*?</table>', template.read_text(), re.DOTALL):
        heads = re.findall(r"<th(?: [^>]*)?>(.*?)</th>", table.partition("</thead>")[0], re.DOTALL)
        titles = {re.sub(r'.*"(.*)".*', r"\1", head) for head in heads}
        cells = re.findall(r"<td([^>]*)>", table.partition("<tbody>")[2])
        labels = [
            re.sub(r"\{% translate '(.*)' %\}", r"\1", re.search(r'data-label="(.*?)"', cell)[1]) for cell in cells
        ]  # type: ignore[index]
        assert labels
        assert set(labels) <= titles


def test_there_are_such_tables() -> None:
    assert {path.name for path in TEMPLATES} >= {"home.html", "job.html", "receipts.html", "questions.html"}
