"""Bundles in the organizers' admin: shown, never edited; `manage.py import_bundle` registers them."""

from django.contrib import admin

from benchmarks.models import Bundle
from submissions.decisions import ReadOnlyAdmin


@admin.register(Bundle)
class BundleAdmin(ReadOnlyAdmin):
    list_display = ("name", "version", "dataset", "metric", "origin", "questions", "short_digest", "registered_at")
    list_filter = ("dataset", "origin")
    search_fields = ("name", "digest")

    @admin.display(description="n")
    def questions(self, bundle: Bundle) -> int:
        return int(bundle.counts.get("questions", 0))

    @admin.display(description="SHA-256")
    def short_digest(self, bundle: Bundle) -> str:
        return bundle.digest[:12]
