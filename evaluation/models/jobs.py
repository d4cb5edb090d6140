"""A run of the pipeline, its lease, and how far each stage has come."""

import secrets
import uuid

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from evaluation.models.releases import Release
from evaluation.querysets import JobQuerySet
from submissions.models import Cycle, LeaderboardKey, Track, Version


def new_id_key() -> bytes:
    """The key under which a formal run's ids are hashed; kept with the run so that a replay gives the same ids."""
    return secrets.token_bytes(32)


class Job(models.Model):
    """One smoke test or full evaluation. `lease_token` fences: every write of a slice checks it first."""

    class Mode(models.TextChoices):
        SMOKE = "smoke", _("smoke")
        FULL = "full", _("full")

    class Runner(models.TextChoices):
        PARTICIPANT = "participant", _("participant")
        PLATFORM = "platform", _("platform")

    class State(models.TextChoices):
        QUEUED = "queued", _("queued")
        RUNNING = "running", _("running")
        SUCCEEDED = "succeeded", _("succeeded")
        FAILED = "failed", _("failed")
        CANCELLED = "cancelled", _("cancelled")

    class Stage(models.TextChoices):
        INGESTION = "ingestion", _("ingestion")
        RETRIEVAL = "retrieval", _("retrieval")
        ANSWERING = "answering", _("answering")
        SCORING = "scoring", _("scoring")
        AGGREGATION = "aggregation", _("aggregation")

    class Blame(models.TextChoices):
        """Whose fault ended the job; a fault of the platform refunds the slot."""

        NONE = "", _("nobody")
        PARTICIPANT = "participant", _("participant")
        PLATFORM = "platform", _("platform")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    runner = models.CharField(_("run by"), max_length=12, choices=Runner.choices, default=Runner.PARTICIPANT)
    key = models.ForeignKey(
        LeaderboardKey, verbose_name=_("key"), null=True, blank=True, on_delete=models.PROTECT, related_name="jobs"
    )
    lineage = models.UUIDField(_("lineage of the key"), null=True, blank=True, db_index=True)
    version = models.ForeignKey(Version, verbose_name=_("version"), on_delete=models.PROTECT, related_name="jobs")
    cycle = models.ForeignKey(Cycle, verbose_name=_("cycle"), on_delete=models.PROTECT, related_name="jobs")
    release = models.ForeignKey(Release, verbose_name=_("release"), on_delete=models.PROTECT, related_name="jobs")
    track = models.CharField(_("track"), max_length=12, choices=Track.choices)
    mode = models.CharField(_("mode"), max_length=8, choices=Mode.choices)
    run_label = models.CharField(_("run label"), max_length=80)
    id_key = models.BinaryField(default=new_id_key, editable=False)
    add_concurrency = models.PositiveIntegerField(_("parallel Adds"))
    search_concurrency = models.PositiveIntegerField(_("parallel Searches"))
    checklist = models.JSONField(_("confirmed before the run"), default=dict)
    baseline_digest = models.CharField(_("release digest"), max_length=64)
    code_sha256 = models.CharField(_("pipeline code"), max_length=64, blank=True, editable=False)

    state = models.CharField(_("state"), max_length=12, choices=State.choices, default=State.QUEUED)
    stage = models.CharField(_("stage"), max_length=12, choices=Stage.choices, default=Stage.INGESTION)
    blame = models.CharField(_("whose fault"), max_length=12, choices=Blame.choices, default=Blame.NONE, blank=True)
    failure_code = models.CharField(_("failure code"), max_length=60, blank=True)
    failure_detail = models.JSONField(_("failure detail"), default=dict)

    lease_token = models.PositiveBigIntegerField(default=0, editable=False)
    lease_owner = models.CharField(max_length=120, blank=True, editable=False)
    lease_until = models.DateTimeField(null=True, blank=True, editable=False)
    heartbeat_at = models.DateTimeField(_("last sign of life"), null=True, blank=True, editable=False)
    waiting_since = models.DateTimeField(null=True, blank=True, editable=False)
    next_wake_at = models.DateTimeField(null=True, blank=True, editable=False)
    cancel_requested = models.BooleanField(_("cancel requested"), default=False)
    slices = models.PositiveIntegerField(_("slices"), default=0, editable=False)
    barren_takeovers = models.PositiveIntegerField(_("take-overs without progress"), default=0, editable=False)

    created_at = models.DateTimeField(_("created"), auto_now_add=True)
    started_at = models.DateTimeField(_("started"), null=True, blank=True)
    ended_at = models.DateTimeField(_("ended"), null=True, blank=True)

    objects = JobQuerySet.as_manager()

    class Meta:
        verbose_name = _("job")
        verbose_name_plural = _("jobs")
        ordering = ["-created_at"]
        constraints = [
            models.UniqueConstraint(fields=["lineage", "run_label"], name="job_run_label_once_for_each_key"),
            models.UniqueConstraint(
                fields=["lineage", "track"],
                condition=Q(state__in=["queued", "running"]),
                name="job_one_active_for_each_key_and_track",
            ),
            models.CheckConstraint(
                condition=Q(runner="platform") | Q(key__isnull=False, lineage__isnull=False),
                name="job_of_a_participant_has_a_key",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.version} {self.mode} {self.run_label}"

    @property
    def is_active(self) -> bool:
        return self.state in {self.State.QUEUED, self.State.RUNNING}


class StageProgress(models.Model):
    """How much of a stage is done. Written in the transaction that does it, so it never runs ahead of the truth."""

    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="progress")
    stage = models.CharField(_("stage"), max_length=12, choices=Job.Stage.choices)
    done = models.PositiveIntegerField(_("done"), default=0)
    total = models.PositiveIntegerField(_("total"), default=0)
    retries = models.PositiveIntegerField(_("retries"), default=0)
    throttle = models.JSONField(
        _("changes of concurrency"), default=list, editable=False, help_text="[ISO time, lanes, cause], oldest first"
    )
    started_at = models.DateTimeField(_("started"), null=True, blank=True)
    ended_at = models.DateTimeField(_("ended"), null=True, blank=True)

    class Meta:
        verbose_name = _("stage progress")
        verbose_name_plural = _("stage progress")
        constraints = [models.UniqueConstraint(fields=["job", "stage"], name="progress_once_for_each_stage")]

    def __str__(self) -> str:
        return f"{self.stage} {self.done}/{self.total}"
