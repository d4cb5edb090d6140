"""What is said to a participant: scopes of ordered events, and a receipt for every attempt."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from evaluation.models.jobs import Job


class Scope(models.Model):
    """One user's conversation in a run: its events go out in order."""

    class State(models.TextChoices):
        PENDING = "pending", _("pending")
        DONE = "done", _("done")
        FAILED = "failed", _("failed")

    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="scopes")
    ordinal = models.PositiveIntegerField(_("number"))
    bundle = models.CharField(_("bundle"), max_length=60)
    key = models.CharField(_("key in the dataset"), max_length=200)
    user_id = models.CharField(_("user id"), max_length=300)
    state = models.CharField(_("state"), max_length=8, choices=State.choices, default=State.PENDING)
    next_event = models.PositiveIntegerField(_("next event"), default=0)
    events = models.PositiveIntegerField(_("events"), default=0)

    class Meta:
        verbose_name = _("scope")
        verbose_name_plural = _("scopes")
        ordering = ["job", "ordinal"]
        constraints = [models.UniqueConstraint(fields=["job", "ordinal"], name="scope_ordinal_once_in_a_job")]

    def __str__(self) -> str:
        return f"{self.bundle} {self.key}"


class Event(models.Model):
    """One logical Add or Search. Its row appears with the first attempt and remembers when the next one is due."""

    class Kind(models.TextChoices):
        ADD = "add", "Add"
        SEARCH = "search", "Search"

    class State(models.TextChoices):
        WAITING = "waiting", _("waiting for the next attempt")
        DONE = "done", _("done")
        FAILED = "failed", _("failed")

    scope = models.ForeignKey(Scope, on_delete=models.CASCADE, related_name="event_rows")
    ordinal = models.PositiveIntegerField(_("number"))
    kind = models.CharField(_("kind"), max_length=6, choices=Kind.choices)
    request_id = models.CharField(_("request id"), max_length=400, blank=True)
    body_sha256 = models.CharField(_("SHA-256 of the body"), max_length=64)
    state = models.CharField(_("state"), max_length=8, choices=State.choices, default=State.WAITING)
    attempts = models.PositiveIntegerField(_("attempts"), default=0, help_text=_("every call, polls included"))
    sends = models.PositiveIntegerField(_("times sent"), default=0)
    polls = models.PositiveIntegerField(_("polls since it was accepted"), default=0)
    full_timeouts = models.PositiveIntegerField(_("full time-outs"), default=0)
    first_started_at = models.DateTimeField(_("first attempt"))
    next_attempt_at = models.DateTimeField(_("next attempt"), null=True, blank=True)
    accepted_at = models.DateTimeField(_("accepted at"), null=True, blank=True)
    task_id = models.CharField(_("task id of an Add that goes on"), max_length=200, blank=True)

    class Meta:
        verbose_name = _("event")
        verbose_name_plural = _("events")
        ordering = ["scope", "ordinal"]
        constraints = [models.UniqueConstraint(fields=["scope", "ordinal"], name="event_ordinal_once_in_a_scope")]

    def __str__(self) -> str:
        return f"{self.kind} {self.ordinal}"


class Receipt(models.Model):
    """One attempt on the wire. Rows are only ever added."""

    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="receipts")
    event = models.ForeignKey(Event, on_delete=models.CASCADE, related_name="receipts")
    kind = models.CharField(_("kind"), max_length=10)
    attempt = models.PositiveIntegerField(_("attempt"))
    started_at = models.DateTimeField(_("started"))
    ended_at = models.DateTimeField(_("ended"))
    latency_ms = models.FloatField(_("latency on the wire, ms"))
    http_status = models.PositiveSmallIntegerField(_("HTTP status"), null=True, blank=True)
    bytes_sent = models.PositiveBigIntegerField(_("bytes sent"))
    bytes_received = models.PositiveBigIntegerField(_("bytes received"))
    verdict = models.CharField(_("verdict"), max_length=16)
    reason_code = models.CharField(_("reason code"), max_length=60, blank=True)
    reason_got = models.CharField(_("what came"), max_length=300, blank=True)
    resolved_address = models.CharField(_("resolved address"), max_length=60, blank=True)
    flags = models.JSONField(_("flags"), default=list)

    class Meta:
        verbose_name = _("receipt")
        verbose_name_plural = _("receipts")
        ordering = ["id"]
        constraints = [models.UniqueConstraint(fields=["event", "attempt"], name="receipt_once_for_each_attempt")]

    def __str__(self) -> str:
        return f"{self.kind} {self.attempt}: {self.verdict}"
