"""The status page tells apart: at work, nothing to do, and work that nobody takes up."""

from datetime import timedelta

import pytest
from django.utils import timezone

from aml.pages.service import read_service
from evaluation.models import Job
from evaluation.workers import forget_worker, note_worker, read_crew
from submissions.models import Track
from tests.leaderboard.builders import make_approved_run
from tests.site.markup import read_page

pytestmark = pytest.mark.django_db


@pytest.fixture
def now():
    return timezone.now()


def change(job: Job, **fields) -> None:
    Job.objects.filter(pk=job.pk).update(**fields)


def test_without_work_and_signs_no_worker_is_there(now, client):
    service = read_service(now)
    assert (service.state, service.running, service.queued, service.last_sign_at) == ("absent", 0, 0, None)
    assert "No worker is running" in read_page(client.get("/en/status/")).text()


def test_a_live_worker_without_work_is_idle(now, client):
    note_worker(name="host:1", processes=2, at=now - timedelta(seconds=20))
    note_worker(name="host:2", processes=4, at=now - timedelta(hours=1))
    service = read_service(now)
    assert (service.state, service.workers, service.working) == ("idle", 2, 0)
    assert read_service(now + timedelta(minutes=1)).state == "absent"
    assert "Nothing to do" in read_page(client.get("/en/status/")).text()


def test_a_worker_that_ends_in_order_is_forgotten_and_one_that_came_back_counts_once(now):
    for seconds in (30, 20, 10):
        note_worker(name="host:1", processes=2, at=now - timedelta(seconds=seconds))
    assert read_crew(now).processes == 2
    forget_worker(name="host:1")
    assert read_crew(now).supervisors == 0


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
