"""Cycles of the challenge: their dates, quotas and prizes."""

from datetime import datetime

from django.db import models
from django.db.models import F, Q
from django.utils.translation import get_language
from django.utils.translation import gettext_lazy as _

from submissions.querysets import CycleQuerySet


class Track(models.TextChoices):
    TEXTUAL = "textual", _("Textual memory")
    MULTIMODAL = "multimodal", _("Multimodal memory")
    CODING = "coding", _("Coding memory")
    DIAGNOSTICS = "diagnostics", _("Diagnostics")


class Division(models.TextChoices):
    OPEN_SOURCE = "open_source", _("Open-source methods")
    COMMERCIAL = "commercial", _("Commercial products")


class Cycle(models.Model):
    """One public evaluation cycle. Deadlines bind by the clock: `state` says what organizers have decided."""

    class State(models.TextChoices):
        DRAFT = "draft", _("draft")
        OPEN = "open", _("open")
        CLOSED = "closed", _("closed")
        PUBLISHED = "published", _("published")

    class BoardDate(models.TextChoices):
        """How exactly `board_on` is meant."""

        EXACT = "exact", _("on the day")
        EARLY = "early", _("early in the month")
        MIDDLE = "middle", _("in the middle of the month")
        LATE = "late", _("late in the month")

    number = models.PositiveIntegerField(_("number"), unique=True)
    slug = models.SlugField(_("name in addresses"), unique=True)
    name_en = models.CharField(_("name in English"), max_length=200)
    name_zh_hans = models.CharField(_("name in Chinese"), max_length=200)
    state = models.CharField(_("state"), max_length=12, choices=State.choices, default=State.DRAFT)
    opens_at = models.DateTimeField(_("opens"), null=True, blank=True)
    materials_close_at = models.DateTimeField(_("materials close"), null=True, blank=True)
    evaluation_closes_at = models.DateTimeField(_("evaluation closes"), null=True, blank=True)
    board_on = models.DateField(_("board date"), null=True, blank=True)
    board_date_kind = models.CharField(
        _("board date is meant"), max_length=8, choices=BoardDate.choices, default=BoardDate.EXACT
    )
    tracks = models.JSONField(_("tracks"), default=list, help_text=_("codes of the tracks that this cycle evaluates"))
    contact_email = models.EmailField(_("contact address"), blank=True)
    challenge_repository = models.URLField(_("challenge repository"), blank=True)

    smoke_interval_minutes = models.PositiveIntegerField(_("minutes between smoke tests"), default=60)
    smoke_limit = models.PositiveIntegerField(_("smoke tests for each key and track"), default=30)
    full_limit = models.PositiveIntegerField(_("full evaluations for each key and track"), default=2)
    full_gap_days = models.PositiveIntegerField(_("days between full evaluations"), default=30)

    objects = CycleQuerySet.as_manager()

    class Meta:
        verbose_name = _("cycle")
        verbose_name_plural = _("cycles")
        ordering = ["-number"]
        constraints = [
            models.CheckConstraint(
                condition=Q(opens_at__isnull=True)
                | Q(materials_close_at__isnull=True)
                | Q(materials_close_at__gt=F("opens_at")),
                name="cycle_materials_close_after_it_opens",
            ),
            models.CheckConstraint(
                condition=Q(materials_close_at__isnull=True)
                | Q(evaluation_closes_at__isnull=True)
                | Q(evaluation_closes_at__gte=F("materials_close_at")),
                name="cycle_evaluation_closes_after_materials",
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def name(self) -> str:
        """The name in the reader's language."""
        return self.name_zh_hans if (get_language() or "").startswith("zh") else self.name_en

    def takes_materials(self, at: datetime) -> bool:
        """Whether access requests may be submitted at `at`."""
        return self._is_open(at) and (self.materials_close_at is None or at <= self.materials_close_at)

    def takes_evaluations(self, at: datetime) -> bool:
        """Whether smoke and full evaluations may start at `at`; those that run go on past the close."""
        return self._is_open(at) and (self.evaluation_closes_at is None or at <= self.evaluation_closes_at)

    def _is_open(self, at: datetime) -> bool:
        return self.state == self.State.OPEN and (self.opens_at is None or at >= self.opens_at)


class Prize(models.Model):
    """A prize of a cycle, for one track each; only the open-source division is eligible."""

    class Kind(models.TextChoices):
        FIRST = "first", _("First prize")
        SECOND = "second", _("Second prize")
        THIRD = "third", _("Third prize")
        INNOVATION = "innovation", _("Best technical innovation")

    cycle = models.ForeignKey(Cycle, verbose_name=_("cycle"), on_delete=models.CASCADE, related_name="prizes")
    kind = models.CharField(_("kind"), max_length=12, choices=Kind.choices)
    winners_per_track = models.PositiveIntegerField(_("winners for each track"))
    amount_cny = models.PositiveIntegerField(_("amount for each winner, in renminbi yuan"))

    class Meta:
        verbose_name = _("prize")
        verbose_name_plural = _("prizes")
        ordering = ["cycle", "-amount_cny"]
        constraints = [models.UniqueConstraint(fields=["cycle", "kind"], name="prize_once_for_each_kind")]

    def __str__(self) -> str:
        return f"{self.get_kind_display()} ({self.cycle})"
