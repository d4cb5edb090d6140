"""Benchmark bundles: a folder of a dataset's files, registered with its hashes and counts."""

from django.db import models
from django.utils.translation import get_language
from django.utils.translation import gettext_lazy as _


class Bundle(models.Model):
    """A dataset as it lies on disk. Files are never copied into the database; their hashes are."""

    class Origin(models.TextChoices):
        OWN = "own", _("written by this project")
        IMPORTED = "imported", _("obtained by the organizers")

    name = models.SlugField(_("name"))
    version = models.CharField(_("version"), max_length=40)
    title_en = models.CharField(_("title in English"), max_length=120)
    title_zh_hans = models.CharField(_("title in Chinese"), max_length=120)
    origin = models.CharField(_("origin"), max_length=10, choices=Origin.choices)
    dataset = models.CharField(_("dataset kind"), max_length=40, help_text=_("the loader that reads its files"))
    metric = models.CharField(_("metric"), max_length=40)
    folder = models.CharField(_("folder"), max_length=500)
    files = models.JSONField(_("files and their SHA-256"), default=dict)
    digest = models.CharField(_("digest"), max_length=64, help_text=_("SHA-256 over the files' names and hashes"))
    counts = models.JSONField(_("counts"), default=dict)
    smoke_scopes = models.JSONField(_("scopes of the smoke test"), default=list)
    licence = models.CharField(_("licence"), max_length=120, blank=True)
    source = models.CharField(_("source"), max_length=300, blank=True)
    registered_at = models.DateTimeField(_("registered"), auto_now_add=True)

    class Meta:
        verbose_name = _("bundle")
        verbose_name_plural = _("bundles")
        ordering = ["name", "-registered_at"]
        constraints = [models.UniqueConstraint(fields=["name", "digest"], name="bundle_once_for_each_digest")]

    def __str__(self) -> str:
        return f"{self.name} {self.version}"

    @property
    def title(self) -> str:
        """The title in the reader's language."""
        return self.title_zh_hans if (get_language() or "").startswith("zh") else self.title_en
