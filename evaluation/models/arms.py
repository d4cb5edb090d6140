"""What the platform's own reference arms come to under a release. They are nobody's run and on no queue."""

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from evaluation.models.releases import Release


class ArmRun(models.Model):
    """One arm under one release. Running it again adds a row with the next number and changes none.

    `facts` holds what a Result holds, by the same names; scores are 0 to 1 and stand beside their n.
    """

    class Arm(models.TextChoices):
        NO_MEMORY = "no-memory", _("no memory")
        FULL_CONTEXT = "full-context", _("full context")
        BM25 = "bm25", "BM25"
        ORACLE = "oracle", _("oracle evidence")

    class State(models.TextChoices):
        RUNNING = "running", _("running")
        SUCCEEDED = "succeeded", _("succeeded")
        FAILED = "failed", _("failed")

    release = models.ForeignKey(Release, verbose_name=_("release"), on_delete=models.PROTECT, related_name="arm_runs")
    arm = models.CharField(_("reference arm"), max_length=12, choices=Arm.choices)
    number = models.PositiveIntegerField(_("number"), default=1)
    state = models.CharField(_("state"), max_length=9, choices=State.choices, default=State.RUNNING)
    baseline_digest = models.CharField(_("release digest"), max_length=64)
    code_sha256 = models.CharField(_("pipeline code"), max_length=64)
    overall = models.FloatField(_("Overall"), null=True, blank=True)
    n = models.PositiveIntegerField(_("questions"), default=0)
    facts = models.JSONField(_("facts of the result"), default=dict)
    digest = models.CharField(_("digest"), max_length=64, blank=True)
    failure_code = models.CharField(_("failure code"), max_length=60, blank=True)
    started_at = models.DateTimeField(_("started"))
    ended_at = models.DateTimeField(_("ended"), null=True, blank=True)

    class Meta:
        verbose_name = _("run of a reference arm")
        verbose_name_plural = _("runs of reference arms")
        ordering = ["release", "arm", "-number"]
        constraints = [
            models.UniqueConstraint(fields=["release", "arm", "number"], name="arm_run_number_once_for_each_arm"),
            models.CheckConstraint(
                condition=~Q(state="succeeded") | Q(overall__isnull=False, ended_at__isnull=False),
                name="arm_run_that_succeeded_has_a_result",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.release} {self.arm} {self.number}"


class ArmItem(models.Model):
    """One question of an arm's run: what the arm remembered for it, what was answered, and the score."""

    run = models.ForeignKey(ArmRun, on_delete=models.CASCADE, related_name="items")
    bundle = models.CharField(_("bundle"), max_length=64)
    scope_key = models.CharField(_("scope"), max_length=200)
    question_key = models.CharField(_("question"), max_length=200)
    step = models.PositiveIntegerField(_("step"), default=0)
    category = models.CharField(_("category"), max_length=60)
    capability = models.CharField(_("capability"), max_length=1)
    answerable = models.BooleanField(_("answerable"), default=True)
    has_evidence = models.BooleanField(_("names evidence"), default=True)
    score = models.FloatField(_("score"))
    answer = models.TextField(_("answer"))
    model = models.CharField(_("model"), max_length=120)
    memories = models.PositiveIntegerField(_("memories"))
    characters = models.PositiveIntegerField(_("characters"))
    context_tokens = models.PositiveIntegerField(_("context tokens"))
    left_out = models.PositiveIntegerField(_("turns left out for want of budget"), default=0)

    class Meta:
        verbose_name = _("item of a reference arm")
        verbose_name_plural = _("items of reference arms")
        ordering = ["run", "bundle", "scope_key", "question_key", "step"]
        constraints = [
            models.UniqueConstraint(fields=["run", "question_key", "step"], name="arm_item_once_at_each_step"),
            models.CheckConstraint(condition=Q(score__gte=0, score__lte=1), name="arm_item_score_between_0_and_1"),
        ]

    def __str__(self) -> str:
        return self.question_key
