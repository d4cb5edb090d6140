"""Where a run's evidence lies: what is heavy leaves the rows for compressed segments, chained by hash."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from evaluation.models.jobs import Job
from evaluation.models.wire import Receipt, Scope


class Segment(models.Model):
    """The sealed evidence of one scope: a file in the storage `evidence`, and where each question stands in it.

    `index` holds `[first ordinal, offset, length]` for each frame of the file, ascending. `digest` covers the
    segment's facts and the digest of the job's segment before it, so that none can be changed, left out or put in.
    """

    job = models.ForeignKey(Job, verbose_name=_("job"), on_delete=models.CASCADE, related_name="segments")
    scope = models.OneToOneField(Scope, verbose_name=_("scope"), on_delete=models.CASCADE, related_name="segment")
    number = models.PositiveIntegerField(_("number in the chain"))
    file = models.CharField(_("file"), max_length=200)
    size = models.PositiveBigIntegerField(_("bytes"))
    sha256 = models.CharField("SHA-256", max_length=64)
    questions = models.PositiveIntegerField(_("questions"))
    index = models.JSONField(default=list, editable=False)
    previous_digest = models.CharField(_("digest of the segment before"), max_length=64, blank=True)
    digest = models.CharField(_("digest"), max_length=64)
    created_at = models.DateTimeField(_("created"))
    purged_at = models.DateTimeField(_("file removed"), null=True, blank=True)

    class Meta:
        verbose_name = _("evidence segment")
        verbose_name_plural = _("evidence segments")
        ordering = ["job", "number"]
        constraints = [models.UniqueConstraint(fields=["job", "number"], name="segment_number_once_in_a_job")]

    def __str__(self) -> str:
        return self.file


class ResponseBody(models.Model):
    """The body of an answer that was refused or is to be tried again, without the credential, until it is sealed."""

    receipt = models.OneToOneField(Receipt, on_delete=models.CASCADE, related_name="body")
    size = models.PositiveBigIntegerField(_("bytes"))
    sha256 = models.CharField(max_length=64, editable=False)
    data = models.BinaryField(editable=False, help_text="zstandard-compressed; the first 64 KiB")

    class Meta:
        verbose_name = _("response body")
        verbose_name_plural = _("response bodies")

    def __str__(self) -> str:
        return f"{self.receipt}: {self.size}"
