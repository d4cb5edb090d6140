"""The status page tells apart: at work, nothing to do, and work that nobody takes up."""

from datetime import timedelta

import pytest
from django.utils import timezone

from aml.pages.service import read_service
from evaluation.models import Job
from submissions.models import Track
from tests.leaderboard.builders import make_approved_run
from tests.site.markup import read_page

pytestmark = pytest.mark.django_db


@pytest.fixture
def now():
    return timezone.now()


def change(job: Job, **fields) -> None:
    Job.objects.filter(pk=job.pk).update(**fields)


def test_without_work_and_signs_it_is_idle(now):
    service = read_service(now)
    assert (service.state, service.running, service.queued, service.last_sign_at) == ("idle", 0, 0, None)


def test_a_worker_on_a_run_shows_it_works(now):
    lease = {"lease_owner": "host:1", "lease_until": now + timedelta(seconds=30), "heartbeat_at": now}
    change(make_approved_run(), state=Job.State.RUNNING, **lease)
    service = read_service(now)
    assert (service.state, service.working, service.running, service.stalled) == ("working", 1, 1, 0)


def test_waiting_work_without_a_sign_of_life_is_silence(now, client):
    old = now - timedelta(hours=1)
    change(make_approved_run(), state=Job.State.RUNNING, lease_until=old, lease_owner="host:1", heartbeat_at=old)
    service = read_service(now)
    assert (service.state, service.working, service.stalled) == ("silent", 0, 1)
    assert "Workers are silent" in read_page(client.get("/en/status/")).text()


def test_durations_are_medians_of_recent_runs(now):
    for minutes in (1, 2, 9):
        job = make_approved_run(system=f"S{minutes}")
        change(job, started_at=now - timedelta(minutes=minutes), ended_at=now, track=Track.TEXTUAL)
    change(make_approved_run(system="old"), started_at=now - timedelta(days=50), ended_at=now - timedelta(days=49))
    loads = {load.track: load for load in read_service(now).tracks}
    assert loads[Track.TEXTUAL].full_s == 120
    assert loads[Track.TEXTUAL].smoke_s is None
    assert loads[Track.CODING].full_s is None


def test_the_page_names_no_team_and_no_run(client):
    job = make_approved_run(system="Secretive", team="Quiet Team")
    change(job, state=Job.State.QUEUED)
    text = client.get("/en/status/").content.decode()
    for private in ("Secretive", "Quiet Team", str(job.pk), job.run_label):
        assert private not in text
