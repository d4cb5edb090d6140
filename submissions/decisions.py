"""Decisions in the admin: a button and a list action for each, a page that asks for the reason, then one service.

Use it in the admin of any app:

    def approve(call: DecisionCall) -> None:
        approve_publication(review=call.subject, actor=call.actor, reason=call.reason, at=call.at)

    @admin.register(PublicationReview)
    class PublicationReviewAdmin(DecisionsMixin, ReadOnlyAdmin):
        decisions = (
            Decision(
                name="approve",                                    # the end of the page's address
                label=gettext_lazy("Approve"),                     # the button
                question=gettext_lazy("Approve this result?"),     # the page's heading
                service=approve,
                allows=lambda review: review.state == "pending",   # whether the button shows; the service still decides
                preview=lambda review, reason: render_letter(...), # optional: a Letter shown before it is sent
                permission="leaderboard.publish_board",            # optional, beside the change permission
                needs_reason=False,                                # optional; True unless said
                is_severe=True,                                    # optional: the button looks like what it does
            ),
        )

What the mixin sees to: only POST decides; whoever lacks the change permission (or `permission`) gets neither button nor
page (403); `actor` is "organizer:<user name>"; a Refusal of the service is shown as a message; many selected rows are
decided one by one, each in the service's own transaction. With `ReadOnlyAdmin` nothing is edited by hand: it keeps the
view and decision pages and takes away adding, deleting and saving. Otherwise derive from `admin.ModelAdmin`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db import models
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from submissions.outbox import Letter
from submissions.refusals import Refusal

MANY = 100
"""Rows that one list action may decide."""


@dataclass(frozen=True)
class DecisionCall:
    """What a decision hands to its service."""

    subject: Any
    actor: str
    reason: str
    at: datetime


@dataclass(frozen=True)
class Decision:
    """One thing that an organizer may decide about a row; the module's text shows each field."""

    name: str
    label: str | Promise
    question: str | Promise
    service: Callable[[DecisionCall], Any]
    allows: Callable[[Any], bool] = lambda subject: True
    preview: Callable[[Any, str], Letter | None] = lambda subject, reason: None
    permission: str = ""
    needs_reason: bool = True
    is_severe: bool = False


class ReasonForm(forms.Form):
    """Asks why; what is written goes into the audit chain and, where the page says so, to the team."""

    reason = forms.CharField(
        label=gettext_lazy("Reason"),
        help_text=gettext_lazy("Kept in the audit chain. Where a letter goes out, the team reads it."),
        max_length=4000,
        widget=forms.Textarea(attrs={"rows": 5, "cols": 80}),
    )

    def __init__(self, *args: Any, needs_reason: bool = True, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["reason"].required = needs_reason


def actor_of(request: HttpRequest) -> str:
    """The organizer as the audit chain names them."""
    return f"organizer:{request.user.get_username()}"


class ReadOnlyAdmin(admin.ModelAdmin):
    """Shows rows and changes none; who may change them still reaches the decisions."""

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[Any]:
        names = [field.name for field in self.opts.fields if field.editable and not field.primary_key]
        shown = [*names, *(field.name for field in self.opts.many_to_many)]
        hidden = set(self.exclude or ())
        return [
            name for name in dict.fromkeys([*shown, *super().get_readonly_fields(request, obj)]) if name not in hidden
        ]

    def get_model_perms(self, request: HttpRequest) -> dict[str, bool]:
        """The index says "View": who may change a row here decides about it, and edits nothing."""
        return {**super().get_model_perms(request), "change": False}

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> Any:
        title = _("Select %s to view") % self.opts.verbose_name
        return super().changelist_view(request, {"title": title, **(extra_context or {})})

    def changeform_view(
        self, request: HttpRequest, object_id: str | None = None, form_url: str = "", extra_context: Any = None
    ) -> Any:
        title = _("View %s") % self.opts.verbose_name
        return super().changeform_view(request, object_id, form_url, {"title": title, **(extra_context or {})})

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        raise PermissionDenied

    def render_change_form(self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        context.update(show_save=False, show_save_and_continue=False, show_save_and_add_another=False)
        return super().render_change_form(request, context, *args, **kwargs)


class DecisionsMixin(admin.ModelAdmin):
    """Adds the pages, buttons and list actions of `decisions` to a ModelAdmin."""

    decisions: Sequence[Decision] = ()
    change_form_template = "submissions/admin/change_form.html"

    def get_urls(self) -> list[URLPattern]:
        name = f"{self.opts.app_label}_{self.opts.model_name}"
        wrap = self.admin_site.admin_view
        return [
            path("decide/<slug:decision>/", wrap(self.decide_many_view), name=f"{name}_decide_many"),
            path("<path:object_id>/decide/<slug:decision>/", wrap(self.decide_view), name=f"{name}_decide"),
            *super().get_urls(),
        ]

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        actions: dict[str, Any] = super().get_actions(request)
        for decision in self.decisions:
            if self.may_decide(request, decision):
                name = f"decide_{decision.name}"
                actions[name] = (_ask_about_many(decision), name, decision.label)
        return actions

    def change_view(self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None) -> Any:
        subject = self.get_object(request, object_id)
        return super().change_view(
            request, object_id, form_url, {**(extra_context or {}), "decisions": self._buttons(request, subject)}
        )

    def may_decide(self, request: HttpRequest, decision: Decision, subject: Any = None) -> bool:
        """Whether this organizer may make this decision at all."""
        if not self.has_change_permission(request, subject):
            return False
        return not decision.permission or request.user.has_perm(decision.permission)

    def decide_view(self, request: HttpRequest, object_id: str, decision: str) -> HttpResponse:
        """The confirmation page for one row, and what its POST decides."""
        subject = self.get_object(request, object_id)
        if subject is None:
            raise Http404
        after = reverse(self._name("change"), args=[subject.pk], current_app=self.admin_site.name)
        return self._confirm(request, self._decision(decision), [subject], after)

    def decide_many_view(self, request: HttpRequest, decision: str) -> HttpResponse:
        """The confirmation page for the rows that a list action selected."""
        pks = request.GET.getlist("pk")[:MANY]
        subjects = [get_object_or_404(self.get_queryset(request), pk=pk) for pk in pks if self._is_pk(pk)]
        if not subjects:
            raise Http404
        after = reverse(self._name("changelist"), current_app=self.admin_site.name)
        return self._confirm(request, self._decision(decision), subjects, after)

    def _confirm(self, request: HttpRequest, decision: Decision, subjects: list[Any], after: str) -> HttpResponse:
        if not all(self.may_decide(request, decision, subject) for subject in subjects):
            raise PermissionDenied
        data = request.POST if request.method == "POST" else None
        form = ReasonForm(data, needs_reason=decision.needs_reason)
        if request.method == "POST" and form.is_valid() and "look" not in request.POST:
            self._decide(request, decision, subjects, form.cleaned_data["reason"].strip())
            return HttpResponseRedirect(after)
        return self._confirmation(request, decision, subjects, form, after)

    def _confirmation(
        self, request: HttpRequest, decision: Decision, subjects: list[Any], form: ReasonForm, after: str
    ) -> HttpResponse:
        reason = form.data.get("reason", "").strip() or _("(the reason that you write below)")
        context = {
            **self.admin_site.each_context(request),
            "title": decision.question,
            "decision": decision,
            "subjects": subjects,
            "letters": [letter for subject in subjects if (letter := decision.preview(subject, reason))],
            "form": form,
            "opts": self.opts,
            "back": after,
        }
        return TemplateResponse(request, "submissions/admin/decision.html", context)

    def _decide(self, request: HttpRequest, decision: Decision, subjects: list[Any], reason: str) -> None:
        done = 0
        for subject in subjects:
            call = DecisionCall(subject, actor_of(request), reason, timezone.now())
            try:
                decision.service(call)
            except Refusal as refusal:
                messages.error(request, f"{subject}: {refusal.message}")
            else:
                done += 1
        if done:
            text = ngettext("%(decision)s: done for %(count)d row.", "%(decision)s: done for %(count)d rows.", done)
            messages.success(request, text % {"decision": decision.label, "count": done})

    def _decision(self, name: str) -> Decision:
        for decision in self.decisions:
            if decision.name == name:
                return decision
        raise Http404

    def _buttons(self, request: HttpRequest, subject: Any) -> list[dict[str, Any]]:
        if subject is None:
            return []
        return [
            {"decision": decision, "url": self._url(subject, decision)}
            for decision in self.decisions
            if self.may_decide(request, decision, subject) and decision.allows(subject)
        ]

    def _url(self, subject: Any, decision: Decision) -> str:
        return reverse(self._name("decide"), args=[subject.pk, decision.name], current_app=self.admin_site.name)

    def _name(self, page: str) -> str:
        return f"admin:{self.opts.app_label}_{self.opts.model_name}_{page}"

    def _is_pk(self, text: str) -> bool:
        try:
            self.opts.pk.to_python(text)
        except Exception:  # a hand-written address: whatever a field raises, it names no row
            return False
        return True


def _ask_about_many(decision: Decision) -> Callable[..., HttpResponse]:
    def action(
        model_admin: DecisionsMixin, request: HttpRequest, queryset: models.QuerySet[Any]
    ) -> HttpResponseRedirect:
        left_out = queryset.count() - MANY
        if left_out > 0:
            text = ngettext(
                "%(many)d rows can be decided at once; %(count)d of those you chose is left out.",
                "%(many)d rows can be decided at once; %(count)d of those you chose are left out.",
                left_out,
            )
            messages.warning(request, text % {"many": MANY, "count": left_out})
        pks = "&".join(f"pk={pk}" for pk in queryset.values_list("pk", flat=True)[:MANY])
        url = reverse(model_admin._name("decide_many"), args=[decision.name], current_app=model_admin.admin_site.name)
        return HttpResponseRedirect(f"{url}?{pks}")

    return action
