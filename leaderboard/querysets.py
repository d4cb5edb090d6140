"""The vocabulary of reads that more than one surface needs."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from django.db import models

if TYPE_CHECKING:
    from leaderboard.models import Board, Entry, Snapshot  # noqa: F401  named in brackets below


class BoardQuerySet(models.QuerySet["Board"]):
    def public(self) -> BoardQuerySet:
        """Boards of cycles that readers may see."""
        return self.exclude(cycle__state="draft")


class EntryQuerySet(models.QuerySet["Entry"]):
    def public(self) -> EntryQuerySet:
        """Entries that readers may open: published ones, and withdrawn ones as a tombstone."""
        return self.exclude(board__cycle__state="draft")

    def published(self) -> EntryQuerySet:
        return self.filter(state="published")

    def withdrawn(self) -> EntryQuerySet:
        return self.filter(state="withdrawn")


class SnapshotQuerySet(models.QuerySet["Snapshot"]):
    def public(self) -> SnapshotQuerySet:
        return self.exclude(board__cycle__state="draft")

    def as_of(self, moment: datetime) -> SnapshotQuerySet:
        """Snapshots that had been taken at `moment`."""
        return self.filter(created_at__lte=moment)
