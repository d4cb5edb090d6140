"""One question of a run and what became of it at each step; uniqueness makes a double result impossible."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from evaluation.models.jobs import Job
from evaluation.models.wire import Scope


class Item(models.Model):
    """A question asked at one point of a run (`step` tells repeated askings of a streaming plan apart)."""

    class State(models.TextChoices):
        PENDING = "pending", _("pending")
        SCORED = "scored", _("scored")
        UNSCORED = "unscored", _("unscored")
        PARTICIPANT_ERROR = "participant_error", _("error of the participant")
        PLATFORM_ERROR = "platform_error", _("error of the platform")

    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="items")
    scope = models.ForeignKey(Scope, on_delete=models.CASCADE, related_name="items")
    ordinal = models.PositiveIntegerField(_("number in the scope"))
    question_key = models.CharField(_("question"), max_length=200)
    step = models.PositiveIntegerField(_("step"), default=0)
    category = models.CharField(_("category"), max_length=60)
    capability = models.CharField(_("capability"), max_length=1)
    answerable = models.BooleanField(_("answerable"), default=True)
    state = models.CharField(_("state"), max_length=20, choices=State.choices, default=State.PENDING)
    score = models.FloatField(_("score"), null=True, blank=True)
    error_code = models.CharField(_("error code"), max_length=60, blank=True)
    attribution = models.CharField(_("cause of a wrong answer"), max_length=24, blank=True)
    attempts = models.PositiveIntegerField(_("attempts to answer and score"), default=0)
    next_attempt_at = models.DateTimeField(_("next attempt"), null=True, blank=True)

    class Meta:
        verbose_name = _("item")
        verbose_name_plural = _("items")
        ordering = ["scope", "ordinal"]
        constraints = [
            models.UniqueConstraint(fields=["job", "question_key", "step"], name="item_question_once_at_each_step"),
            models.UniqueConstraint(fields=["scope", "ordinal"], name="item_ordinal_once_in_a_scope"),
            models.CheckConstraint(
                condition=models.Q(score__isnull=True) | models.Q(score__gte=0, score__lte=1),
                name="item_score_between_0_and_1",
            ),
        ]

    def __str__(self) -> str:
        return self.question_key


class Retrieval(models.Model):
    """The validated memories that one Search returned, in the participant's order."""

    item = models.OneToOneField(Item, on_delete=models.CASCADE, related_name="retrieval")
    count = models.PositiveIntegerField(_("memories"))
    characters = models.PositiveIntegerField(_("characters"))
    latency_ms = models.FloatField(_("latency on the wire, ms"))
    flags = models.JSONField(_("flags"), default=list)
    memories = models.BinaryField(editable=False, help_text="zstandard-compressed JSON")
    sha256 = models.CharField(max_length=64, editable=False)

    class Meta:
        verbose_name = _("retrieval")
        verbose_name_plural = _("retrievals")

    def __str__(self) -> str:
        return f"{self.item}: {self.count}"


class Answer(models.Model):
    item = models.OneToOneField(Item, on_delete=models.CASCADE, related_name="answer")
    text = models.TextField(_("answer"))
    model = models.CharField(_("model"), max_length=120)
    prompt_sha256 = models.CharField(_("prompt hash"), max_length=64)
    prompt_tokens = models.PositiveIntegerField(_("prompt tokens"), null=True)
    completion_tokens = models.PositiveIntegerField(_("completion tokens"), null=True)
    latency_ms = models.FloatField(_("latency, ms"))
    memories_used = models.PositiveIntegerField(_("memories used"))
    memories_cut = models.PositiveIntegerField(_("memories cut"))

    class Meta:
        verbose_name = _("answer")
        verbose_name_plural = _("answers")

    def __str__(self) -> str:
        return self.text[:60]


class Judgement(models.Model):
    """A score for an answer. Scoring again adds a row under another `column` and never changes one."""

    item = models.ForeignKey(Item, on_delete=models.CASCADE, related_name="judgements")
    column = models.CharField(_("column"), max_length=40, default="main")
    metric = models.CharField(_("metric"), max_length=40)
    score = models.FloatField(_("score"))
    verdict = models.CharField(_("verdict"), max_length=20, blank=True)
    reason = models.TextField(_("reason"), blank=True)
    votes = models.JSONField(_("votes"), default=list)
    model = models.CharField(_("model"), max_length=120, blank=True)
    prompt_sha256 = models.CharField(_("prompt hash"), max_length=64, blank=True)
    prompt_tokens = models.PositiveIntegerField(_("prompt tokens"), null=True)
    completion_tokens = models.PositiveIntegerField(_("completion tokens"), null=True)

    class Meta:
        verbose_name = _("judgement")
        verbose_name_plural = _("judgements")
        constraints = [models.UniqueConstraint(fields=["item", "column"], name="judgement_once_for_each_column")]

    def __str__(self) -> str:
        return f"{self.item}: {self.score}"


class BudgetScore(models.Model):
    """What an item of the budget curve's sample would score with only the first `memories` of its Search."""

    item = models.ForeignKey(Item, on_delete=models.CASCADE, related_name="budget_scores")
    memories = models.PositiveIntegerField(_("memories"))
    score = models.FloatField(_("score"))

    class Meta:
        verbose_name = _("score by budget")
        verbose_name_plural = _("scores by budget")
        constraints = [models.UniqueConstraint(fields=["item", "memories"], name="budget_score_once_at_each_depth")]

    def __str__(self) -> str:
        return f"{self.item}: {self.memories}, {self.score}"
