"""What a succeeded run comes to."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from evaluation.models.jobs import Job


class Result(models.Model):
    """Scores are 0 to 1 and stand beside their n; a part is {"score", "n"} by its name."""

    job = models.OneToOneField(Job, on_delete=models.CASCADE, related_name="result")
    overall = models.FloatField(_("Overall"))
    n = models.PositiveIntegerField(_("questions"))
    coverage = models.FloatField(_("coverage"))
    answerable = models.JSONField(_("answerable part"), default=dict)
    categories = models.JSONField(_("categories"), default=dict)
    capabilities = models.JSONField(_("capabilities"), default=dict)
    datasets = models.JSONField(_("datasets"), default=dict)
    states = models.JSONField(_("items by state"), default=dict)
    efficiency = models.JSONField(_("efficiency"), default=dict)
    recall = models.JSONField(_("evidence recall"), default=dict)
    attribution = models.JSONField(_("causes of wrong answers"), default=dict)
    budget_curve = models.JSONField(_("budget curve"), default=dict)
    digest = models.CharField(_("digest"), max_length=64, help_text=_("SHA-256 over every item's key, state and score"))
    created_at = models.DateTimeField(_("created"), auto_now_add=True)

    class Meta:
        verbose_name = _("result")
        verbose_name_plural = _("results")

    def __str__(self) -> str:
        return f"{self.job}: {self.overall:.4f}"
