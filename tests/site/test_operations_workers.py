"""A real `manage.py runworker` says that it is alive, and takes itself off the list when it ends in order."""

import time
from pathlib import Path

from django.utils import timezone

from evaluation.workers import read_crew
from tests.engine.workers import WORKERS, Worker


def test_an_idle_worker_is_counted_and_one_that_ended_is_not(transactional_db: None, tmp_path: Path) -> None:
    worker = Worker(tmp_path, "")
    try:
        ends = time.monotonic() + 60
        while read_crew(timezone.now()).processes != WORKERS and time.monotonic() < ends:
            time.sleep(0.2)
        crew = read_crew(timezone.now())
        assert (crew.supervisors, crew.processes) == (1, WORKERS)
    finally:
        worker.stop()
    assert read_crew(timezone.now()).supervisors == 0
