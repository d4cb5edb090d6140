"""Signs of life of the workers, so that an idle one is not taken for a dead one."""

from django.db import models
from django.utils.translation import gettext_lazy as _


class Worker(models.Model):
    """One `runworker` with its worker processes; it says every few seconds that it is there."""

    name = models.CharField(_("host and process"), max_length=120, unique=True)
    processes = models.PositiveIntegerField(_("worker processes"))
    started_at = models.DateTimeField(_("started"))
    seen_at = models.DateTimeField(_("last sign of life"), db_index=True)

    class Meta:
        verbose_name = _("worker")
        verbose_name_plural = _("workers")
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name
