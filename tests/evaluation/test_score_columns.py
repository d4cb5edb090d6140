"""A run that was scored again shows each column beside the one that counts."""

import pytest
from django.test import Client
from django.urls import reverse

from evaluation.columns import columns_of
from evaluation.models import Job, Judgement, Result
from tests.evaluation.builders import Entrant, finished_full, passed_smoke


@pytest.fixture
def scored(entrant: Entrant) -> Job:
    passed_smoke(entrant)
    return finished_full(entrant)


def score_again(job: Job, column: str, score: float) -> int:
    rows = Judgement.objects.filter(item__job=job, column="main")
    again = [Judgement(item_id=row.item_id, column=column, metric="exact.v9", score=score) for row in rows]
    return len(Judgement.objects.bulk_create(again))


def test_a_run_that_was_scored_once_shows_no_columns(keyed: Client, scored: Job) -> None:
    assert columns_of(scored) == []
    assert "Scored again" not in keyed.get(reverse("evaluation:job", args=[scored.pk])).content.decode()


def test_each_column_stands_beside_the_main_one(keyed: Client, scored: Job, admin_client: Client) -> None:
    overall, n = Result.objects.get(job=scored).overall, score_again(scored, "rejudge-1", 0.25)
    columns = columns_of(scored)

    assert [(row.column, row.n) for row in columns] == [("main", n), ("rejudge-1", n)]
    assert [row.mean for row in columns] == pytest.approx([overall, 0.25])
    page = keyed.get(reverse("evaluation:job", args=[scored.pk])).content.decode()
    table = page.partition("Scored again")[2].partition("</table>")[0]
    assert all(text in table for text in ("main", "rejudge-1", "exact.v9", "25.00"))
    organizers = admin_client.get(reverse("admin:evaluation_job_change", args=[scored.pk])).content.decode()
    assert "exact.v9" in organizers
