"""Boards, entries and snapshots in the organizers' site: read, publish, withdraw."""

from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from leaderboard import services
from leaderboard.models import Board, Entry, Snapshot
from leaderboard.selectors import awaiting_publication, with_waiting_and_newest
from leaderboard.snapshots import is_intact
from submissions.decisions import Decision, DecisionCall, DecisionsMixin, ReadOnlyAdmin, actor_of
from submissions.moments import moment_text
from submissions.refusals import Refusal

NOTHING = "–"


def _publish(call: DecisionCall) -> None:
    services.publish_board(board=call.subject, actor=call.actor, reason=call.reason, at=call.at)


def _withdraw(call: DecisionCall) -> None:
    services.withdraw_entry(entry=call.subject, actor=call.actor, reason=call.reason, at=call.at)


class BoardForm(forms.ModelForm):
    """Opens a board; which ones there can be, the service says."""

    class Meta:
        model = Board
        fields = ("cycle", "track", "division")

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        if {"cycle", "track", "division"} <= set(data):
            try:
                services.check_board(**data)
            except Refusal as refusal:
                raise forms.ValidationError(str(refusal.message), code=refusal.code) from refusal
        return data


@admin.register(Board)
class BoardAdmin(DecisionsMixin, ReadOnlyAdmin):
    """A board with the runs that wait for it; publishing takes them all."""

    form = BoardForm
    list_display = ("cycle", "track", "division", "waiting", "newest")
    list_filter = ("cycle", "track", "division")
    list_select_related = ("cycle",)
    decisions = (
        Decision(
            name="publish",
            label=gettext_lazy("Publish"),
            question=gettext_lazy("Publish the approved runs and take the next snapshot?"),
            service=_publish,
            allows=lambda board: awaiting_publication(board).exists(),
        ),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Board]:
        return with_waiting_and_newest(super().get_queryset(request))

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return admin.ModelAdmin.has_add_permission(self, request)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[Any]:
        if obj is None:
            return []
        return [*super().get_readonly_fields(request, obj), "waiting_runs", "newest", "public_page"]

    def save_model(self, request: HttpRequest, obj: Board, form: Any, change: bool) -> None:
        if change:
            super().save_model(request, obj, form, change)
        board = services.open_board(
            cycle=obj.cycle, track=obj.track, division=obj.division, actor=actor_of(request), at=timezone.now()
        )
        obj.pk, obj._state.adding = board.pk, False

    def render_change_form(self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        if kwargs.get("add"):
            return admin.ModelAdmin.render_change_form(self, request, context, *args, **kwargs)
        return super().render_change_form(request, context, *args, **kwargs)

    @admin.display(description=gettext_lazy("runs that wait"))
    def waiting(self, board: Board) -> int:
        return int(board.waiting_count)  # type: ignore[attr-defined]  # annotated by get_queryset

    @admin.display(description=gettext_lazy("runs that wait"))
    def waiting_runs(self, board: Board) -> SafeString | str:
        reviews = awaiting_publication(board)
        rows = (
            (
                reverse("admin:evaluation_publicationreview_change", args=[review.pk]),
                review.job.version,
                f"{100 * review.job.result.overall:.2f}",
                review.job.result.n,
            )
            for review in reviews
        )
        return format_html_join("", '<div><a href="{}">{}</a>: {} (n {})</div>', rows) or NOTHING

    @admin.display(description=gettext_lazy("latest snapshot"))
    def newest(self, board: Board) -> SafeString | str:
        found: list[Snapshot] = board.newest_snapshots  # type: ignore[attr-defined]  # prefetched by get_queryset
        snapshot = found[0] if found else None
        if snapshot is None:
            return NOTHING
        url = reverse("admin:leaderboard_snapshot_change", args=[snapshot.pk])
        return format_html('<a href="{}">#{}</a> {}', url, snapshot.number, moment_text(snapshot.created_at))

    @admin.display(description=gettext_lazy("public page"))
    def public_page(self, board: Board) -> SafeString:
        url = reverse("leaderboard:board", args=[board.cycle.slug, board.track, board.division])
        return format_html('<a href="{}">{}</a>', url, url)


@admin.register(Entry)
class EntryAdmin(DecisionsMixin, ReadOnlyAdmin):
    """A published result; withdrawing it leaves a tombstone that the public reads."""

    list_display = ("system_name", "version_label", "team_name", "board", "score", "n", "state", "published_at")
    list_filter = ("state", "board__cycle", "board__track", "board__division")
    list_select_related = ("board__cycle",)
    search_fields = ("system_name", "team_name", "version_label", "id")
    decisions = (
        Decision(
            name="withdraw",
            label=gettext_lazy("Withdraw"),
            question=gettext_lazy("Withdraw this entry? The public reads the reason."),
            service=_withdraw,
            allows=lambda entry: entry.state == Entry.State.PUBLISHED,
            is_severe=True,
        ),
    )


@admin.register(Snapshot)
class SnapshotAdmin(ReadOnlyAdmin):
    """A board as it stood. Nobody changes it."""

    list_display = ("board", "number", "created_at", "entry_count", "digest")
    list_filter = ("board__cycle", "board__track", "board__division")
    list_select_related = ("board__cycle",)
    readonly_fields = ("intact",)

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def get_queryset(self, request: HttpRequest) -> QuerySet[Snapshot]:
        return super().get_queryset(request).select_related("board__cycle")

    @admin.display(description=gettext_lazy("entries"))
    def entry_count(self, snapshot: Snapshot) -> int:
        return len(snapshot.payload["entries"])

    @admin.display(description=gettext_lazy("digest checked"))
    def intact(self, snapshot: Snapshot) -> str:
        if is_intact(snapshot):
            return _("The content is what the digest says.")
        return _("The content is NOT what the digest says. Tell the other organizers, and verify the audit chain.")
