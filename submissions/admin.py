"""Requests, versions, keys, cycles, letters and the audit chain in the organizers' admin."""

from collections.abc import Iterable
from typing import Any

from django.contrib import admin
from django.db.models import Model, URLField
from django.http import HttpRequest
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from submissions import services
from submissions.decisions import Decision, DecisionCall, DecisionsMixin, ReadOnlyAdmin, actor_of
from submissions.keys import SCOPES
from submissions.models import (
    AccessRequest,
    AuditEvent,
    Cycle,
    LeaderboardKey,
    MemorySystemKey,
    OutboxMail,
    Prize,
    System,
    Team,
    Version,
)
from submissions.moments import moment_text
from submissions.outbox import requeue_mail
from submissions.selectors import disclosures_of, keys_of_team


def _start_review(call: DecisionCall) -> None:
    services.start_review(access_request=call.subject, actor=call.actor, reason=call.reason, at=call.at)


def _request_changes(call: DecisionCall) -> None:
    services.request_changes(access_request=call.subject, actor=call.actor, reason=call.reason, at=call.at)


def _approve(call: DecisionCall) -> None:
    services.approve_access_request(access_request=call.subject, actor=call.actor, reason=call.reason, at=call.at)


def _reject(call: DecisionCall) -> None:
    services.reject_access_request(access_request=call.subject, actor=call.actor, reason=call.reason, at=call.at)


def _suspend(call: DecisionCall) -> None:
    services.suspend_version(version=call.subject, actor=call.actor, reason=call.reason, at=call.at)


def _disqualify(call: DecisionCall) -> None:
    services.disqualify_version(version=call.subject, actor=call.actor, reason=call.reason, at=call.at)


def _reinstate(call: DecisionCall) -> None:
    services.reinstate_version(version=call.subject, actor=call.actor, reason=call.reason, at=call.at)


def _allow_http(call: DecisionCall) -> None:
    services.set_http_override(version=call.subject, actor=call.actor, reason=call.reason, at=call.at)


def _revoke(call: DecisionCall) -> None:
    services.revoke_key(key=call.subject, actor=call.actor, reason=call.reason, at=call.at)


def _allow_reading(call: DecisionCall) -> None:
    _set_scopes(call, ["read"])


def _allow_all(call: DecisionCall) -> None:
    _set_scopes(call, SCOPES)


def _set_scopes(call: DecisionCall, scopes: Iterable[str]) -> None:
    services.set_scopes(key=call.subject, scopes=scopes, actor=call.actor, reason=call.reason, at=call.at)


def _offer(call: DecisionCall) -> None:
    services.offer_new_key(key=call.subject, actor=call.actor, reason=call.reason, at=call.at)


def _send_again(call: DecisionCall) -> None:
    requeue_mail(mail=call.subject, actor=call.actor, reason=call.reason, at=call.at)


def secret_summary(version: Version) -> str:
    """All that the admin ever says about a Memory System Key."""
    stored = MemorySystemKey.objects.filter(version=version).first()
    if stored is None:
        return _("not configured")
    return f"{_('configured')} · {stored.fingerprint} · {moment_text(stored.set_at)}"


@admin.register(AccessRequest)
class AccessRequestAdmin(DecisionsMixin, ReadOnlyAdmin):
    """A request with all that was declared, and what is decided about it."""

    list_display = ("version", "team", "cycle", "division", "state", "submitted_at", "contact_email")
    list_filter = ("state", "cycle", "version__system__division")
    search_fields = ("id", "team__name", "version__label", "version__system__name", "contact_email", "contact_name")
    list_select_related = ("version__system", "team", "cycle")
    date_hierarchy = "submitted_at"
    readonly_fields = ("division", "declared", "secret", "notices")
    decisions = (
        Decision(
            name="start-review",
            label=gettext_lazy("Start review"),
            question=gettext_lazy("Start the review of this request?"),
            service=_start_review,
            allows=lambda request: request.state == AccessRequest.State.SUBMITTED,
            needs_reason=False,
        ),
        Decision(
            name="approve",
            label=gettext_lazy("Approve"),
            question=gettext_lazy("Approve this request?"),
            service=_approve,
            allows=lambda request: request.state in {"submitted", "in_review"},
            preview=lambda request, reason: services.approval_letter(request),
            needs_reason=True,
        ),
        Decision(
            name="request-changes",
            label=gettext_lazy("Request changes"),
            question=gettext_lazy("Give this request back for changes?"),
            service=_request_changes,
            preview=services.changes_letter,
            allows=lambda request: request.state in {"submitted", "in_review"},
        ),
        Decision(
            name="reject",
            label=gettext_lazy("Reject"),
            question=gettext_lazy("Reject this request?"),
            service=_reject,
            preview=services.rejection_letter,
            allows=lambda request: request.state in {"submitted", "in_review"},
            is_severe=True,
        ),
    )

    @admin.display(description=gettext_lazy("division"))
    def division(self, request: AccessRequest) -> str:
        return request.version.system.get_division_display()

    @admin.display(description=gettext_lazy("Memory System Key"))
    def secret(self, request: AccessRequest) -> str:
        return secret_summary(request.version)

    @admin.display(description=gettext_lazy("declared"))
    def declared(self, request: AccessRequest) -> SafeString:
        return facts_table(request.version)

    def change_view(self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None) -> Any:
        """What should be looked at before a decision stands above everything else."""
        subject = self.get_object(request, object_id)
        warnings = self.notice_lines(subject) if isinstance(subject, AccessRequest) else []
        return super().change_view(request, object_id, form_url, {"warnings": warnings, **(extra_context or {})})

    @admin.display(description=gettext_lazy("look at these"))
    def notices(self, request: AccessRequest) -> SafeString | str:
        lines = self.notice_lines(request)
        if not lines:
            return _("nothing")
        return format_html("<ul>{}</ul>", format_html_join("", "<li>{}</li>", ((line,) for line in lines)))

    def notice_lines(self, request: AccessRequest) -> list[str]:
        """Copies of other teams' endpoints or code, and a key that the team holds already."""
        lines = [
            _("%(kind)s also disclosed by %(team)s for %(version)s; first disclosed by %(first)s")
            % {
                "kind": _("Endpoint") if found.kind == "endpoint" else _("Repository and commit"),
                "team": found.other.system.team,
                "version": found.other,
                "first": found.first.system.team,
            }
            for found in disclosures_of(request.version)
        ]
        if request.existing_key is None:
            for key in keys_of_team(request, timezone.now()):
                lines.append(
                    _("%(team)s holds the key %(public_id)s in this cycle already (%(email)s)")
                    % {"team": key.team, "public_id": key.public_id, "email": key.contact_email}
                )
        return lines


_DECLARED = (
    "tracks",
    "add_url",
    "search_url",
    "health_url",
    "add_status_url",
    "auth_scheme",
    "allow_plain_http",
    "add_concurrency",
    "search_concurrency",
    "call_timeout_s",
    "largest_body_mib",
    "rate_limit",
    "method_description",
    "public_description",
    "run_notes",
    "repository",
    "commit",
    "original_authors",
    "technical_report",
    "method_changes",
    "models_used",
)


def facts_table(version: Version) -> SafeString:
    """What a team declared, as a table that escapes every value."""
    names = {name: getattr(Version._meta.get_field(name), "verbose_name", name) for name in _DECLARED}
    values = {name: getattr(version, name) for name in _DECLARED} | {"auth_scheme": version.get_auth_scheme_display()}
    rows = ((title, values[name]) for name, title in names.items())
    shown = ((name, ", ".join(value) if isinstance(value, list) else value) for name, value in rows if value)
    return format_html("<table>{}</table>", format_html_join("", "<tr><th>{}</th><td>{}</td></tr>", shown))


@admin.register(Version)
class VersionAdmin(DecisionsMixin, ReadOnlyAdmin):
    """A fixed version: never edited, only suspended, disqualified or reinstated."""

    list_display = ("__str__", "team", "state", "auth_scheme", "approved_at", "created_at")
    list_filter = ("state", "system__division", "auth_scheme")
    search_fields = ("id", "label", "system__name", "system__team__name", "repository")
    list_select_related = ("system__team",)
    readonly_fields = ("secret",)
    decisions = (
        Decision(
            name="suspend",
            label=gettext_lazy("Suspend"),
            question=gettext_lazy("Suspend this version?"),
            service=_suspend,
            allows=lambda version: version.state == Version.State.APPROVED,
            is_severe=True,
        ),
        Decision(
            name="disqualify",
            label=gettext_lazy("Disqualify"),
            question=gettext_lazy("Disqualify this version?"),
            service=_disqualify,
            allows=lambda version: version.state in {"approved", "suspended"},
            is_severe=True,
        ),
        Decision(
            name="reinstate",
            label=gettext_lazy("Reinstate"),
            question=gettext_lazy("Approve this version again?"),
            service=_reinstate,
            allows=lambda version: version.state in {"suspended", "disqualified"},
        ),
        Decision(
            name="allow-http",
            label=gettext_lazy("Allow plain http"),
            question=gettext_lazy("Let full evaluations send this version's key over plain http?"),
            service=_allow_http,
            allows=lambda version: version.state in {"proposed", "approved"} and not version.plain_http_override,
            is_severe=True,
        ),
    )

    @admin.display(description=gettext_lazy("team"))
    def team(self, version: Version) -> str:
        return version.system.team.name

    @admin.display(description=gettext_lazy("Memory System Key"))
    def secret(self, version: Version) -> str:
        return secret_summary(version)


@admin.register(LeaderboardKey)
class LeaderboardKeyAdmin(DecisionsMixin, ReadOnlyAdmin):
    """A key that was issued: its digest is shown nowhere."""

    list_display = ("public_id", "team", "cycle", "created_at", "last_used_at", "expires_at", "revoked_at")
    list_filter = ("cycle", "is_test", ("revoked_at", admin.EmptyFieldListFilter))
    search_fields = ("public_id", "team__name", "contact_email")
    list_select_related = ("team", "cycle")
    decisions = (
        Decision(
            name="offer",
            label=gettext_lazy("Rotate"),
            question=gettext_lazy("Offer the owner the next key on the request's status page?"),
            service=_offer,
        ),
        Decision(
            name="read-only",
            label=gettext_lazy("Limit to reading"),
            question=gettext_lazy("Let this key only read, and start or cancel nothing?"),
            service=_allow_reading,
            allows=lambda key: key.scopes != ["read"],
        ),
        Decision(
            name="all-scopes",
            label=gettext_lazy("Give every scope"),
            question=gettext_lazy("Let this key read, run smoke tests and run full evaluations?"),
            service=_allow_all,
            allows=lambda key: set(key.scopes) != set(SCOPES),
        ),
        Decision(
            name="revoke",
            label=gettext_lazy("Revoke"),
            question=gettext_lazy("Revoke this key at once?"),
            service=_revoke,
            allows=lambda key: key.revoked_at is None,
            is_severe=True,
        ),
    )


class PrizeInline(admin.TabularInline):
    model = Prize
    extra = 0


@admin.register(Cycle)
class CycleAdmin(admin.ModelAdmin):
    """Dates, quotas and prizes of a cycle; each change leaves an audit row."""

    list_display = ("number", "name_en", "name_zh_hans", "state", "opens_at", "materials_close_at", "board_on")
    prepopulated_fields = {"slug": ("name_en",)}
    formfield_overrides = {URLField: {"assume_scheme": "https"}}
    inlines = (PrizeInline,)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def save_model(self, request: HttpRequest, obj: Cycle, form: Any, change: bool) -> None:
        services.record_cycle_change(
            cycle=obj,
            before={name: form.initial.get(name) for name in form.changed_data} if change else {},
            after={name: form.cleaned_data[name] for name in form.changed_data},
            actor=actor_of(request),
            at=timezone.now(),
        )

    def save_formset(self, request: HttpRequest, form: Any, formset: Any, change: bool) -> None:
        before = prize_facts(form.instance)
        super().save_formset(request, form, formset, change)
        services.record_prize_change(
            cycle=form.instance,
            before=before,
            after=prize_facts(form.instance),
            actor=actor_of(request),
            at=timezone.now(),
        )


def prize_facts(cycle: Cycle) -> dict[str, str]:
    """A cycle's prizes by kind, for the audit chain."""
    return {
        prize.kind: f"{prize.winners_per_track} × {prize.amount_cny}" for prize in Prize.objects.filter(cycle=cycle)
    }


@admin.register(Team)
class TeamAdmin(ReadOnlyAdmin):
    list_display = ("name", "created_at")
    search_fields = ("name",)


@admin.register(System)
class SystemAdmin(ReadOnlyAdmin):
    list_display = ("name", "team", "division")
    list_filter = ("division",)
    search_fields = ("name", "team__name")
    list_select_related = ("team",)


@admin.register(AuditEvent)
class AuditEventAdmin(ReadOnlyAdmin):
    """The chain, to read. `manage.py verify_audit` proves it."""

    list_display = ("sequence", "at", "actor", "action", "subject_type", "subject_id")
    list_filter = ("action", "subject_type")
    search_fields = ("actor", "action", "subject_id", "reason")

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


@admin.register(OutboxMail)
class OutboxMailAdmin(DecisionsMixin, ReadOnlyAdmin):
    """Letters as they were written; a failed one can be sent again."""

    list_display = ("event", "to", "language", "state", "attempts", "created_at", "sent_at", "last_error")
    list_filter = ("state", "event", "language")
    search_fields = ("to", "subject")
    exclude = ("html",)
    decisions = (
        Decision(
            name="send-again",
            label=gettext_lazy("Send again"),
            question=gettext_lazy("Try to send this letter again?"),
            service=_send_again,
            allows=lambda mail: mail.state == OutboxMail.State.FAILED,
            needs_reason=False,
        ),
    )
