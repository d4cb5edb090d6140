"""The audit chain: rows that are only ever appended, each hashed together with the one before."""

from django.db import models
from django.utils.translation import gettext_lazy as _


class AuditHead(models.Model):
    """One row: the last link. Locking it puts appends in an order."""

    sequence = models.PositiveBigIntegerField(default=0)
    digest = models.CharField(max_length=64, default="0" * 64)

    class Meta:
        verbose_name = _("audit head")
        verbose_name_plural = _("audit heads")

    def __str__(self) -> str:
        return f"{self.sequence}"


class AuditEvent(models.Model):
    """Who did what to what, why, and what it was before and after. Database triggers refuse UPDATE and DELETE."""

    sequence = models.PositiveBigIntegerField(_("number"), unique=True)
    at = models.DateTimeField(_("time"))
    actor = models.CharField(_("who"), max_length=200)
    action = models.CharField(_("what"), max_length=80, db_index=True)
    subject_type = models.CharField(_("kind of thing"), max_length=80)
    subject_id = models.CharField(_("id of the thing"), max_length=80, db_index=True)
    reason = models.TextField(_("why"), blank=True)
    before = models.JSONField(_("before"), default=dict)
    after = models.JSONField(_("after"), default=dict)
    previous_digest = models.CharField(max_length=64)
    digest = models.CharField(max_length=64, unique=True)

    class Meta:
        verbose_name = _("audit event")
        verbose_name_plural = _("audit events")
        ordering = ["-sequence"]

    def __str__(self) -> str:
        return f"{self.sequence} {self.action} {self.subject_type} {self.subject_id}"
