"""Teams, the memory systems that they enter, and the fixed versions of these."""

import uuid

from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from simple_history.models import HistoricalRecords

from submissions.models.cycles import Division
from submissions.querysets import VersionQuerySet


class Team(models.Model):
    name = models.CharField(_("organization or team"), max_length=200, unique=True)
    created_at = models.DateTimeField(_("created"), auto_now_add=True)

    class Meta:
        verbose_name = _("team")
        verbose_name_plural = _("teams")
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class System(models.Model):
    team = models.ForeignKey(Team, verbose_name=_("team"), on_delete=models.PROTECT, related_name="systems")
    name = models.CharField(_("system"), max_length=120)
    division = models.CharField(_("division"), max_length=12, choices=Division.choices)

    class Meta:
        verbose_name = _("system")
        verbose_name_plural = _("systems")
        ordering = ["name"]
        constraints = [models.UniqueConstraint(fields=["team", "name"], name="system_name_once_in_a_team")]

    def __str__(self) -> str:
        return self.name


class Version(models.Model):
    """A fixed version of a system with its endpoints. Once approved it never changes: a change is a new version."""

    class State(models.TextChoices):
        PROPOSED = "proposed", _("proposed")
        APPROVED = "approved", _("approved")
        SUSPENDED = "suspended", _("suspended")
        DISQUALIFIED = "disqualified", _("disqualified")
        WITHDRAWN = "withdrawn", _("withdrawn")

    class AuthScheme(models.TextChoices):
        NONE = "none", _("none (smoke only)")
        TOKEN = "token", "Authorization: Token"
        BEARER = "bearer", "Authorization: Bearer"
        X_API_KEY = "x_api_key", "X-Api-Key"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    system = models.ForeignKey(System, verbose_name=_("system"), on_delete=models.PROTECT, related_name="versions")
    label = models.CharField(_("fixed version"), max_length=120)
    state = models.CharField(_("state"), max_length=12, choices=State.choices, default=State.PROPOSED)
    state_reason = models.TextField(_("reason of the state"), blank=True)
    appeal_note = models.TextField(_("what the team answers to a suspension or disqualification"), blank=True)
    tracks = models.JSONField(_("tracks"), default=list)

    add_url = models.CharField(_("Add URL"), max_length=2048)
    search_url = models.CharField(_("Search URL"), max_length=2048)
    health_url = models.CharField(_("Health URL"), max_length=2048, blank=True)
    add_status_url = models.CharField(_("Add-status URL"), max_length=2048, blank=True)
    auth_scheme = models.CharField(_("authentication"), max_length=12, choices=AuthScheme.choices)
    allow_plain_http = models.BooleanField(_("sends the credential over plain http"), default=False)
    plain_http_override = models.TextField(_("why a full evaluation may use plain http"), blank=True)

    add_concurrency = models.PositiveIntegerField(_("parallel Adds"), default=16)
    search_concurrency = models.PositiveIntegerField(_("parallel Searches"), default=16)
    call_timeout_s = models.PositiveIntegerField(
        _("longest time that a call may take, in seconds"), null=True, blank=True
    )
    largest_body_mib = models.PositiveIntegerField(_("largest request body, in MiB"), null=True, blank=True)
    rate_limit = models.CharField(_("rate limit"), max_length=200, blank=True)

    method_description = models.TextField(_("method or product description"))
    public_description = models.TextField(_("what may be shown publicly"), blank=True)
    run_notes = models.TextField(_("run notes"))
    repository = models.URLField(_("public repository"), blank=True)
    commit = models.CharField(_("fixed commit"), max_length=80, blank=True)
    original_authors = models.TextField(_("original authors"), blank=True)
    technical_report = models.URLField(_("technical report"), blank=True)
    method_changes = models.TextField(_("every change to the method"), blank=True)
    models_used = models.TextField(_("models that Add and Search use"), blank=True)

    created_at = models.DateTimeField(_("created"), auto_now_add=True)
    approved_at = models.DateTimeField(_("approved"), null=True, blank=True)
    endpoint_changed_at = models.DateTimeField(_("endpoint or secret last changed"), default=timezone.now)

    objects = VersionQuerySet.as_manager()
    history = HistoricalRecords()

    class Meta:
        verbose_name = _("version")
        verbose_name_plural = _("versions")
        ordering = ["-created_at"]
        constraints = [
            models.UniqueConstraint(
                fields=["system", "label"],
                condition=~Q(state="withdrawn"),
                name="version_label_once_in_a_system",
            )
        ]

    def __str__(self) -> str:
        return f"{self.system} {self.label}"
