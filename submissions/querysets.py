"""The vocabulary of reads that more than one surface needs."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from django.db import models
from django.db.models import Q

if TYPE_CHECKING:
    from submissions.models import AccessRequest, Cycle, LeaderboardKey, Version  # noqa: F401  named in brackets below


class CycleQuerySet(models.QuerySet["Cycle"]):
    def public(self) -> CycleQuerySet:
        """Cycles that readers may see."""
        return self.exclude(state="draft")

    def taking_materials(self, at: datetime) -> CycleQuerySet:
        """Cycles that take access requests at `at`."""
        opened = self.filter(Q(opens_at=None) | Q(opens_at__lte=at), state="open")
        return opened.filter(Q(materials_close_at=None) | Q(materials_close_at__gte=at))


class VersionQuerySet(models.QuerySet["Version"]):
    def approved(self) -> VersionQuerySet:
        return self.filter(state="approved")

    def for_key(self, key: LeaderboardKey) -> VersionQuerySet:
        """Versions that are bound to `key`."""
        return self.filter(keys=key)


class AccessRequestQuerySet(models.QuerySet["AccessRequest"]):
    def waiting(self) -> AccessRequestQuerySet:
        """Requests that wait for an organizer."""
        return self.filter(state__in=["submitted", "in_review"])


class LeaderboardKeyQuerySet(models.QuerySet["LeaderboardKey"]):
    def valid(self, at: datetime) -> LeaderboardKeyQuerySet:
        """Keys that open something at `at`: neither revoked nor expired."""
        return self.filter(Q(revoked_at=None) | Q(revoked_at__gt=at)).filter(Q(expires_at=None) | Q(expires_at__gt=at))
