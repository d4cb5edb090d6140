"""Letters that wait to be sent: written in the transaction that causes them, sent by a task, retried, logged."""

from django.db import models
from django.utils.translation import gettext_lazy as _


class OutboxMail(models.Model):
    class State(models.TextChoices):
        WAITING = "waiting", _("waiting")
        SENT = "sent", _("sent")
        FAILED = "failed", _("failed")

    event = models.CharField(_("event"), max_length=60)
    to = models.EmailField(_("to"))
    language = models.CharField(_("language"), max_length=10)
    subject = models.CharField(_("subject"), max_length=200)
    text = models.TextField(_("text"))
    html = models.TextField(_("HTML"))
    state = models.CharField(_("state"), max_length=8, choices=State.choices, default=State.WAITING)
    attempts = models.PositiveSmallIntegerField(_("attempts"), default=0)
    next_attempt_at = models.DateTimeField(_("next attempt"))
    last_error = models.CharField(_("last error"), max_length=200, blank=True)
    created_at = models.DateTimeField(_("created"), auto_now_add=True)
    sent_at = models.DateTimeField(_("sent at"), null=True, blank=True)

    class Meta:
        verbose_name = _("letter")
        verbose_name_plural = _("letters")
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return f"{self.event} ({self.language})"
