"""The frozen baseline that every run of a board shares."""

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _
from simple_history.models import HistoricalRecords

from benchmarks.models import Bundle
from submissions.models import Track


class Release(models.Model):
    """Models, prompts, metrics, code and bundles of a track, frozen by hash when it opens."""

    class State(models.TextChoices):
        DRAFT = "draft", _("draft")
        OPEN = "open", _("open")
        RETIRED = "retired", _("retired")

    name = models.SlugField(_("name"), unique=True)
    track = models.CharField(_("track"), max_length=12, choices=Track.choices)
    state = models.CharField(_("state"), max_length=8, choices=State.choices, default=State.DRAFT)
    bundles = models.ManyToManyField(Bundle, verbose_name=_("bundles of the full suite"), related_name="releases")
    smoke_bundle = models.ForeignKey(
        Bundle, verbose_name=_("bundle of the smoke test"), on_delete=models.PROTECT, related_name="smoke_releases"
    )
    baseline = models.JSONField(
        _("baseline"),
        default=dict,
        help_text=_(
            "answer and judge backend and model, prompt hashes, metrics, limits, code hash, bundle hashes, counts"
        ),
    )
    digest = models.CharField(_("digest"), max_length=64, blank=True)
    checks = models.JSONField(_("checklist"), default=list, editable=False)
    checked_at = models.DateTimeField(_("checked"), null=True, blank=True)
    created_at = models.DateTimeField(_("created"), auto_now_add=True)
    opened_at = models.DateTimeField(_("opened"), null=True, blank=True)

    history = HistoricalRecords()

    class Meta:
        verbose_name = _("release")
        verbose_name_plural = _("releases")
        ordering = ["-created_at"]
        constraints = [
            models.UniqueConstraint(fields=["track"], condition=Q(state="open"), name="release_one_open_for_each_track")
        ]

    def __str__(self) -> str:
        return self.name
