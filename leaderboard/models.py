"""What the public reads: boards, their entries, and the immutable snapshots of them."""

import uuid
from typing import Any, NoReturn

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from evaluation.models import Job
from leaderboard.querysets import BoardQuerySet, EntryQuerySet, SnapshotQuerySet
from submissions.models import Cycle, Division, Track


class ImmutableError(TypeError):
    """An attempt to change or delete a snapshot: a mistake in the code, never something that a person did."""


class Board(models.Model):
    cycle = models.ForeignKey(Cycle, verbose_name=_("cycle"), on_delete=models.PROTECT, related_name="boards")
    track = models.CharField(_("track"), max_length=12, choices=Track.choices)
    division = models.CharField(_("division"), max_length=12, choices=Division.choices)

    objects = BoardQuerySet.as_manager()

    class Meta:
        verbose_name = _("board")
        verbose_name_plural = _("boards")
        ordering = ["cycle", "track", "division"]
        constraints = [models.UniqueConstraint(fields=["cycle", "track", "division"], name="board_once")]

    def __str__(self) -> str:
        return f"{self.cycle} · {self.get_track_display()} · {self.get_division_display()}"


class Entry(models.Model):
    """A reviewed result on a board. What the public may read of it is frozen in `facts`."""

    class State(models.TextChoices):
        PUBLISHED = "published", _("published")
        WITHDRAWN = "withdrawn", _("withdrawn")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    board = models.ForeignKey(Board, verbose_name=_("board"), on_delete=models.PROTECT, related_name="entries")
    job = models.OneToOneField(Job, verbose_name=_("job"), on_delete=models.PROTECT, related_name="entry")
    state = models.CharField(_("state"), max_length=10, choices=State.choices, default=State.PUBLISHED)
    team_name = models.CharField(_("organization or team"), max_length=200)
    system_name = models.CharField(_("system"), max_length=120)
    version_label = models.CharField(_("fixed version"), max_length=120)
    score = models.FloatField(_("Overall"))
    n = models.PositiveIntegerField(_("questions"))
    facts = models.JSONField(_("public facts"), default=dict)
    published_at = models.DateTimeField(_("published at"))
    withdrawn_at = models.DateTimeField(_("withdrawn at"), null=True, blank=True)
    withdrawn_reason = models.TextField(_("why withdrawn"), blank=True)

    objects = EntryQuerySet.as_manager()

    class Meta:
        verbose_name = _("entry")
        verbose_name_plural = _("entries")
        ordering = ["-score", "system_name"]
        constraints = [
            models.CheckConstraint(
                condition=~Q(state="withdrawn") | ~Q(withdrawn_reason=""), name="entry_withdrawn_with_a_reason"
            )
        ]

    def __str__(self) -> str:
        return f"{self.system_name} {self.version_label}"


class Snapshot(models.Model):
    """A board as it stood at one moment. Never changed, which database triggers see to; its digest proves it."""

    board = models.ForeignKey(Board, verbose_name=_("board"), on_delete=models.PROTECT, related_name="snapshots")
    number = models.PositiveIntegerField(_("number"))
    created_at = models.DateTimeField(_("created"))
    payload = models.JSONField(_("content"))
    digest = models.CharField(_("digest"), max_length=64, unique=True)

    objects = SnapshotQuerySet.as_manager()

    class Meta:
        verbose_name = _("snapshot")
        verbose_name_plural = _("snapshots")
        ordering = ["board", "-number"]
        constraints = [models.UniqueConstraint(fields=["board", "number"], name="snapshot_number_once_on_a_board")]

    def __str__(self) -> str:
        return f"{self.board} #{self.number}"

    def save(self, *args: Any, **kwargs: Any) -> None:
        if not self._state.adding:
            raise ImmutableError(f"Snapshot {self.pk} is never changed; take a new one.")
        super().save(*args, **kwargs)

    def delete(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise ImmutableError(f"Snapshot {self.pk} is never deleted; take a new one.")
