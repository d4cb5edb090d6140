"""The two credentials: the Leaderboard Key that we issue, and the Memory System Key that a team entrusts to us."""

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from submissions.models.cycles import Cycle
from submissions.models.systems import Team, Version
from submissions.querysets import LeaderboardKeyQuerySet


class LeaderboardKey(models.Model):
    """A key that we issued. Only its digest is kept.

    Rotation makes a new row of the same `lineage`; quotas follow the lineage.
    """

    public_id = models.CharField(_("public id"), max_length=8, unique=True)
    digest = models.CharField(max_length=64, unique=True, editable=False)
    pepper_version = models.PositiveSmallIntegerField(default=1, editable=False)
    lineage = models.UUIDField(_("lineage"), db_index=True, editable=False)
    is_test = models.BooleanField(_("test key"), default=False)
    team = models.ForeignKey(Team, verbose_name=_("team"), on_delete=models.PROTECT, related_name="keys")
    cycle = models.ForeignKey(Cycle, verbose_name=_("cycle"), on_delete=models.PROTECT, related_name="keys")
    versions = models.ManyToManyField(Version, verbose_name=_("bound versions"), related_name="keys")
    scopes = models.JSONField(_("scopes"), default=list, help_text=_("any of: read, smoke, full"))
    contact_email = models.EmailField(_("e-mail"), blank=True)
    language = models.CharField(_("language of letters"), max_length=10, default="en")
    created_at = models.DateTimeField(_("created"), auto_now_add=True)
    expires_at = models.DateTimeField(_("expires"), null=True, blank=True)
    revoked_at = models.DateTimeField(_("revoked"), null=True, blank=True)
    revoked_reason = models.TextField(_("why revoked"), blank=True)
    last_used_at = models.DateTimeField(_("last used"), null=True, blank=True)

    objects = LeaderboardKeyQuerySet.as_manager()

    class Meta:
        verbose_name = _("Leaderboard Key")
        verbose_name_plural = _("Leaderboard Keys")
        ordering = ["-created_at"]
        constraints = [
            models.CheckConstraint(
                condition=Q(revoked_at__isnull=True) | ~Q(revoked_reason=""), name="key_revoked_with_a_reason"
            )
        ]

    def __str__(self) -> str:
        return f"{self.team} ({self.public_id})"


class MemorySystemKey(models.Model):
    """A participant's secret, encrypted and bound to its version and to the origins that may receive it."""

    version = models.OneToOneField(Version, on_delete=models.CASCADE, related_name="memory_system_key")
    ciphertext = models.TextField(editable=False)
    key_id = models.CharField(_("encryption key"), max_length=8, editable=False)
    fingerprint = models.CharField(_("fingerprint"), max_length=8, editable=False)
    set_at = models.DateTimeField(_("set"), auto_now=True)

    class Meta:
        verbose_name = _("Memory System Key")
        verbose_name_plural = _("Memory System Keys")

    def __str__(self) -> str:
        return f"{self.version}: {self.fingerprint}"
