"""The quota ledger: a row for each charge and each refund, with its reason."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from evaluation.models.jobs import Job
from submissions.models import Cycle, Track


class QuotaAccount(models.Model):
    """One row for each lineage, cycle, track and mode; locking it puts parallel submissions in an order."""

    lineage = models.UUIDField(_("lineage of the key"))
    cycle = models.ForeignKey(Cycle, verbose_name=_("cycle"), on_delete=models.PROTECT)
    track = models.CharField(_("track"), max_length=12, choices=Track.choices)
    mode = models.CharField(_("mode"), max_length=8, choices=Job.Mode.choices)

    class Meta:
        verbose_name = _("quota account")
        verbose_name_plural = _("quota accounts")
        constraints = [models.UniqueConstraint(fields=["lineage", "cycle", "track", "mode"], name="quota_account_once")]

    def __str__(self) -> str:
        return f"{self.track} {self.mode}"


class QuotaEntry(models.Model):
    class Kind(models.TextChoices):
        CHARGE = "charge", _("charge")
        REFUND = "refund", _("refund")

    account = models.ForeignKey(QuotaAccount, on_delete=models.PROTECT, related_name="entries")
    job = models.ForeignKey(Job, on_delete=models.PROTECT, related_name="quota_entries")
    kind = models.CharField(_("kind"), max_length=8, choices=Kind.choices)
    reason = models.CharField(_("reason"), max_length=60)
    at = models.DateTimeField(_("time"))

    class Meta:
        verbose_name = _("quota entry")
        verbose_name_plural = _("quota entries")
        ordering = ["id"]
        constraints = [models.UniqueConstraint(fields=["job", "kind"], name="quota_charged_and_refunded_once")]

    def __str__(self) -> str:
        return f"{self.kind}: {self.reason}"
