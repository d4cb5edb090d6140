"""Which job the log records of this process belong to.

A worker process works on one job at a time, on several threads; so the name is the process's and not a thread's.
"""

from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["current_job", "job_logs"]

_job = ""


def current_job() -> str:
    """The id of the job that this process works on, empty for none."""
    return _job


@contextmanager
def job_logs(job_id: object) -> Iterator[None]:
    """Mark every log record of this process with the job while the block runs."""
    global _job
    _job = str(job_id)
    try:
        yield
    finally:
        # Not what stood there before: where slices overlap in threads, that may be a job that has ended since.
        _job = ""
