"""The vocabulary of reads that more than one surface needs."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from django.db import models
from django.db.models import Q

if TYPE_CHECKING:
    from evaluation.models import Job  # noqa: F401 (named in the base class below)
    from submissions.models import LeaderboardKey


class JobQuerySet(models.QuerySet["Job"]):
    def for_key(self, key: LeaderboardKey) -> JobQuerySet:
        """The jobs that `key` may see: those of its lineage, so that a rotated key still sees them."""
        return self.filter(lineage=key.lineage, runner="participant")

    def active(self) -> JobQuerySet:
        return self.filter(state__in=["queued", "running"])

    def without_lease(self, at: datetime) -> JobQuerySet:
        """Active jobs that nobody works on at `at` and that are due."""
        return (
            self.active()
            .filter(Q(lease_until=None) | Q(lease_until__lt=at))
            .filter(Q(next_wake_at=None) | Q(next_wake_at__lte=at))
        )

    def stalled(self, before: datetime) -> JobQuerySet:
        """Running jobs whose last sign of life lies before `before`."""
        return self.filter(state="running", heartbeat_at__lt=before)
