"""The job page shows how concurrency followed the server: a drawing, and a table beside it."""

from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from evaluation.models import StageProgress
from tests.evaluation.builders import Entrant, start

pytestmark = pytest.mark.django_db


def test_the_history_is_drawn_and_told_in_a_table(keyed: Client, entrant: Entrant) -> None:
    job = start(entrant, "smoke")
    at = timezone.now()
    changes = [[(at + timedelta(seconds=n)).isoformat(), 32 - n, "busy" if n < 14 else "well"] for n in range(15)]
    StageProgress.objects.filter(job=job, stage="retrieval").update(throttle=changes, started_at=at)
    page = keyed.get(reverse("evaluation:job", args=[job.pk])).content.decode()

    assert page.count('class="chart-steps"') == 1
    assert "Calls at once: Retrieval" in page
    assert page.count("HTTP 429: the server was busy") == 11, "the latest twelve changes, one of which was growth"
    assert page.count("all was well") == 1
    assert "<script" not in page.partition('class="chart-steps"')[2].partition("</svg>")[0]


def test_the_api_and_the_progress_twin_tell_the_whole_history(keyed: Client, entrant: Entrant) -> None:
    job = start(entrant, "smoke")
    at = timezone.now().isoformat()
    changes = [[at, 26 - n, cause] for n, cause in enumerate(["busy", "failing", "silent"])]
    StageProgress.objects.filter(job=job, stage="ingestion").update(throttle=changes)
    twin = keyed.get(f"{reverse('evaluation:job', args=[job.pk])}progress.json").json()
    headers = {"Authorization": f"Bearer {entrant.text}"}
    answer = keyed.get(f"/api/v1/eval-jobs/{job.pk}", headers=headers).json()

    assert twin["progress"]["throttle"] == answer["progress"]["throttle"]
    (history,) = twin["progress"]["throttle"]
    assert (history["stage"], history["cap"], history["lanes"]) == ("ingestion", job.add_concurrency, 24)
    assert [(change["lanes"], change["cause"]) for change in history["changes"]] == [
        (26, "busy"),
        (25, "failing"),
        (24, "silent"),
    ]


def test_a_run_that_never_changed_its_concurrency_shows_none(keyed: Client, entrant: Entrant) -> None:
    job = start(entrant, "smoke")
    page = keyed.get(reverse("evaluation:job", args=[job.pk])).content.decode()

    assert "chart-steps" not in page
