"""Which workers are alive, said by themselves, so that an idle one is not taken for a dead one."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from evaluation.models import Worker

__all__ = ["ALIVE_FOR", "BEAT_S", "Crew", "forget_worker", "note_worker", "read_crew"]

BEAT_S = 10.0
ALIVE_FOR = timedelta(seconds=35)
"""Three beats and a half: so old may a sign of life be."""
FORGOTTEN_AFTER = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Crew:
    """The live workers: `supervisors` on their hosts, and the worker `processes` that they hold ready."""

    supervisors: int
    processes: int
    last_seen_at: datetime | None


def note_worker(*, name: str, processes: int, at: datetime) -> None:
    """Say that a supervisor is alive with so many worker processes."""
    facts = {"processes": processes, "seen_at": at}
    Worker.objects.update_or_create(name=name, defaults=facts, create_defaults={**facts, "started_at": at})
    Worker.objects.filter(seen_at__lt=at - FORGOTTEN_AFTER).delete()


def forget_worker(*, name: str) -> None:
    """Take a supervisor that ends in order off the list."""
    Worker.objects.filter(name=name).delete()


def read_crew(at: datetime) -> Crew:
    """Count who is alive at `at`."""
    rows = list(Worker.objects.values_list("processes", "seen_at"))
    alive = [processes for processes, seen_at in rows if seen_at >= at - ALIVE_FOR]
    return Crew(len(alive), sum(alive), max((seen_at for _, seen_at in rows), default=None))
