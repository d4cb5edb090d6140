"""The review that stands between a succeeded full run and a board."""

from django.db import models
from django.utils.translation import gettext_lazy as _
from simple_history.models import HistoricalRecords

from evaluation.models.jobs import Job


class PublicationReview(models.Model):
    class State(models.TextChoices):
        PENDING = "pending", _("waits for review")
        APPROVED = "approved", _("approved")
        RETURNED = "returned", _("returned")
        DISQUALIFIED = "disqualified", _("disqualified")

    job = models.OneToOneField(Job, verbose_name=_("job"), on_delete=models.PROTECT, related_name="review")
    state = models.CharField(_("state"), max_length=12, choices=State.choices, default=State.PENDING)
    checks = models.JSONField(_("gate checks"), default=list)
    note_to_team = models.TextField(_("what the organizers wrote"), blank=True)
    created_at = models.DateTimeField(_("created"), auto_now_add=True)
    decided_at = models.DateTimeField(_("decided"), null=True, blank=True)

    history = HistoricalRecords()

    class Meta:
        verbose_name = _("publication review")
        verbose_name_plural = _("publication reviews")
        ordering = ["created_at"]

    def __str__(self) -> str:
        return f"{self.job}"
