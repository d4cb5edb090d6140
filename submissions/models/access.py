"""Requests to take part, and the claim by which an approved team fetches its key."""

import uuid

from django.db import models
from django.utils.translation import gettext_lazy as _
from simple_history.models import HistoricalRecords

from submissions.models.cycles import Cycle
from submissions.models.keys import LeaderboardKey
from submissions.models.systems import Team, Version
from submissions.querysets import AccessRequestQuerySet


class AccessRequest(models.Model):
    """One team's request for a key, or for another version under the key it has."""

    class State(models.TextChoices):
        DRAFT = "draft", _("draft")
        SUBMITTED = "submitted", _("submitted")
        IN_REVIEW = "in_review", _("in review")
        CHANGES_REQUESTED = "changes_requested", _("changes requested")
        APPROVED = "approved", _("approved")
        REJECTED = "rejected", _("rejected")
        WITHDRAWN = "withdrawn", _("withdrawn")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    receipt_digest = models.CharField(max_length=64, unique=True, editable=False)
    cycle = models.ForeignKey(Cycle, verbose_name=_("cycle"), on_delete=models.PROTECT, related_name="access_requests")
    team = models.ForeignKey(Team, verbose_name=_("team"), on_delete=models.PROTECT, related_name="access_requests")
    version = models.OneToOneField(
        Version, verbose_name=_("version"), on_delete=models.PROTECT, related_name="access_request"
    )
    existing_key = models.ForeignKey(
        LeaderboardKey, verbose_name=_("existing key"), null=True, blank=True, on_delete=models.PROTECT
    )
    contact_name = models.CharField(_("contact name"), max_length=120)
    contact_email = models.EmailField(_("e-mail"))
    language = models.CharField(_("language of letters"), max_length=10, default="en")
    stays_reachable = models.BooleanField(_("stays reachable for 30 days"), default=False)
    state = models.CharField(_("state"), max_length=20, choices=State.choices, default=State.DRAFT)
    note_to_team = models.TextField(_("what the organizers wrote"), blank=True)
    created_at = models.DateTimeField(_("created"), auto_now_add=True)
    submitted_at = models.DateTimeField(_("submitted"), null=True, blank=True)
    decided_at = models.DateTimeField(_("decided"), null=True, blank=True)

    objects = AccessRequestQuerySet.as_manager()
    history = HistoricalRecords(excluded_fields=["receipt_digest"])

    class Meta:
        verbose_name = _("access request")
        verbose_name_plural = _("access requests")
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return f"{self.version} ({self.team})"


class KeyClaim(models.Model):
    """Made by an approval; the owner's POST on the status page turns it into a key, once.

    Organizers can offer it again when a key is lost; the next key then takes the place of `renews`.
    """

    access_request = models.OneToOneField(AccessRequest, on_delete=models.CASCADE, related_name="claim")
    created_at = models.DateTimeField(_("created"), auto_now_add=True)
    claimed_at = models.DateTimeField(_("claimed"), null=True, blank=True)
    key = models.OneToOneField(LeaderboardKey, null=True, blank=True, on_delete=models.PROTECT, related_name="claim")
    renews = models.ForeignKey(LeaderboardKey, null=True, blank=True, on_delete=models.PROTECT, related_name="+")

    class Meta:
        verbose_name = _("key claim")
        verbose_name_plural = _("key claims")

    def __str__(self) -> str:
        return f"{self.access_request}"
