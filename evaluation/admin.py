"""Runs, reviews, releases and quotas in the organizers' admin. Decisions go through services, each with a reason."""

from collections.abc import Sequence
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.loader import render_to_string
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from benchmarks.models import Bundle
from evaluation import gate, reviews, selectors, services
from evaluation.arms.selectors import arms_of
from evaluation.columns import columns_of
from evaluation.models import Job, PublicationReview, QuotaAccount, QuotaEntry, Receipt, Release, Result
from evaluation.questionadmin import QuestionPages
from evaluation.releases import (
    check_release,
    checklist_of,
    compare_baseline,
    describe_baseline,
    discard_draft,
    draft_release,
    models_in_settings,
    open_draft,
)
from submissions.decisions import Decision, DecisionCall, DecisionsMixin, ReadOnlyAdmin, actor_of
from submissions.models import Track
from submissions.refusals import Refusal


class QuietAdmin(ReadOnlyAdmin):
    """Leaves out fields that a table of its own shows better."""

    hidden_fields: Sequence[str] = ()

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[Any]:
        shown = super().get_readonly_fields(request, obj)
        return [name for name in shown if name not in self.hidden_fields]

    def get_exclude(self, request: HttpRequest, obj: Any = None) -> list[str]:
        return list(self.hidden_fields)


def _cancel(call: DecisionCall) -> None:
    services.cancel_job_by_organizer(job=call.subject, actor=call.actor, reason=call.reason, at=call.at)


def _end(call: DecisionCall) -> None:
    services.end_job_by_organizer(job=call.subject, actor=call.actor, reason=call.reason, at=call.at)


@admin.register(Job)
class JobAdmin(QuestionPages, DecisionsMixin, ReadOnlyAdmin):
    """A run: read only, but for stopping it."""

    list_display = ("run_label", "version", "track", "mode", "runner", "state", "stage", "blame", "created_at")
    list_filter = ("state", "mode", "track", "runner", "blame", "cycle")
    search_fields = ("id", "run_label", "version__label", "version__system__name", "failure_code")
    list_select_related = ("version__system",)
    readonly_fields = (
        "progress_table",
        "columns_table",
        "questions_link",
        "heartbeat_at",
        "code_sha256",
        "receipts_table",
    )
    decisions = (
        Decision(
            name="cancel",
            label=gettext_lazy("Cancel"),
            question=gettext_lazy("Cancel this run? Its slot stays spent if anything was sent."),
            service=_cancel,
            allows=lambda job: job.is_active,
            is_severe=True,
        ),
        Decision(
            name="end",
            label=gettext_lazy("End as a fault of the platform"),
            question=gettext_lazy("End this run as a fault of the platform? Its slot is given back."),
            service=_end,
            allows=lambda job: job.is_active,
            is_severe=True,
        ),
    )

    @admin.display(description=gettext_lazy("progress"))
    def progress_table(self, job: Job) -> SafeString:
        context = {"status": selectors.job_status(job, timezone.now()), "job": job}
        return render_to_string("evaluation/admin/progress.html", context)

    @admin.display(description=gettext_lazy("columns of scores"))
    def columns_table(self, job: Job) -> SafeString | str:
        """Empty until a run is scored again."""
        columns = columns_of(job)
        return render_to_string("evaluation/_columns.html", {"columns": columns}) if columns else "–"

    @admin.display(description=gettext_lazy("questions"))
    def questions_link(self, job: Job) -> SafeString:
        return format_html(
            '<a href="{}">{}</a>', reverse("admin:evaluation_job_questions", args=[job.pk]), _("Open each question")
        )

    @admin.display(description=gettext_lazy("receipts"))
    def receipts_table(self, job: Job) -> SafeString:
        return render_to_string("evaluation/admin/receipts.html", {"receipts": selectors.receipts_summary(job)})


def _approve(call: DecisionCall) -> None:
    reviews.approve_publication(review=call.subject, actor=call.actor, reason=call.reason, at=call.at)


def _return(call: DecisionCall) -> None:
    reviews.return_publication(review=call.subject, actor=call.actor, reason=call.reason, at=call.at)


def _disqualify(call: DecisionCall) -> None:
    reviews.disqualify_publication(review=call.subject, actor=call.actor, reason=call.reason, at=call.at)


@admin.register(PublicationReview)
class PublicationReviewAdmin(DecisionsMixin, QuietAdmin):
    """A result that waits for a decision, with the gate's checks beside it."""

    list_display = ("job", "state", "passes", "overall", "created_at", "decided_at")
    list_filter = ("state", "job__track", "job__cycle")
    list_select_related = ("job__version__system", "job__result")
    search_fields = ("job__run_label", "job__version__label", "job__version__system__name")
    readonly_fields = ("checks_table", "result_table")
    hidden_fields = ("checks",)
    decisions = (
        Decision(
            name="approve",
            label=gettext_lazy("Approve"),
            question=gettext_lazy("Approve this result for the board? The gate runs once more."),
            service=_approve,
            allows=reviews.may_approve,
        ),
        Decision(
            name="return",
            label=gettext_lazy("Return"),
            question=gettext_lazy("Return this result to its team?"),
            service=_return,
            allows=reviews.may_return,
        ),
        Decision(
            name="disqualify",
            label=gettext_lazy("Disqualify"),
            question=gettext_lazy("Disqualify this result?"),
            service=_disqualify,
            allows=reviews.may_disqualify,
            is_severe=True,
        ),
    )

    @admin.display(description=gettext_lazy("gate"), boolean=True)
    def passes(self, review: PublicationReview) -> bool:
        return gate.passes(gate.read_checks(review.checks))

    @admin.display(description=gettext_lazy("Overall"))
    def overall(self, review: PublicationReview) -> str:
        result = getattr(review.job, "result", None)  # selected with the list
        return f"{100 * result.overall:.2f} (n {result.n})" if result else "–"

    @admin.display(description=gettext_lazy("checks as they stand now"))
    def checks_table(self, review: PublicationReview) -> SafeString:
        """A decided review shows the checks of its decision."""
        waits = review.state == PublicationReview.State.PENDING
        checks = gate.check_publication(review.job) if waits else gate.read_checks(review.checks)
        return render_to_string("evaluation/_checks.html", {"checks": checks})

    @admin.display(description=gettext_lazy("result"))
    def result_table(self, review: PublicationReview) -> SafeString:
        context = {"result": selectors.result_of(review.job), "job": review.job}
        return render_to_string("evaluation/admin/result.html", context)


class ReleaseForm(forms.Form):
    """What a release is made of."""

    name = forms.SlugField(label=gettext_lazy("name"), max_length=50)
    track = forms.ChoiceField(label=gettext_lazy("track"), choices=Track.choices)
    bundles = forms.ModelMultipleChoiceField(
        label=gettext_lazy("bundles of the full suite"),
        queryset=Bundle.objects.all(),
        widget=forms.CheckboxSelectMultiple,
    )
    smoke_bundle = forms.ModelChoiceField(label=gettext_lazy("bundle of the smoke test"), queryset=Bundle.objects.all())
    counts_checked = forms.BooleanField(label=gettext_lazy("I have checked the bundles' question counts and licences."))
    models_checked = forms.BooleanField(
        label=gettext_lazy("I have checked the answer model and the judge in the settings.")
    )
    retires_checked = forms.BooleanField(
        label=gettext_lazy("I know that the open release of this track is retired and its runs pass the gate no more.")
    )


def _check_release(call: DecisionCall) -> None:
    check_release(release=call.subject, at=call.at)


def _open_release(call: DecisionCall) -> None:
    open_draft(release=call.subject, actor=call.actor, reason=call.reason, at=call.at)


def _discard_release(call: DecisionCall) -> None:
    discard_draft(release=call.subject, actor=call.actor, reason=call.reason, at=call.at)


def _is_draft(release: Release) -> bool:
    return release.state == Release.State.DRAFT


@admin.register(Release)
class ReleaseAdmin(DecisionsMixin, QuietAdmin):
    """Releases: drafted on a page of their own, checked, opened, never edited."""

    list_display = ("name", "track", "state", "digest", "opened_at")
    list_filter = ("state", "track")
    readonly_fields = ("checklist_table", "arms_table", "baseline_table", "differences_table")
    hidden_fields = ("baseline",)
    change_list_template = "evaluation/admin/release_list.html"
    decisions = (
        Decision(
            name="open",
            label=gettext_lazy("Open the release"),
            question=gettext_lazy(
                "Open this release? The checklist runs once more, and what it freezes stays as it is."
            ),
            service=_open_release,
            allows=_is_draft,
        ),
        Decision(
            name="check",
            label=gettext_lazy("Check again"),
            question=gettext_lazy("Run the checklist? Each configured model is asked once."),
            service=_check_release,
            allows=_is_draft,
            needs_reason=False,
        ),
        Decision(
            name="discard",
            label=gettext_lazy("Discard the draft"),
            question=gettext_lazy("Discard this draft? Its name is free again."),
            service=_discard_release,
            allows=_is_draft,
            is_severe=True,
        ),
    )

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.open_view)
        return [path("open/", view, name="evaluation_release_open"), *super().get_urls()]

    def open_view(self, request: HttpRequest) -> HttpResponse:
        """Asks for a release's parts, and leads to the checklist of the draft that they make."""
        if not request.user.has_perm("evaluation.add_release"):
            raise PermissionDenied
        form = ReleaseForm(request.POST or None)
        if request.method == "POST" and form.is_valid() and (release := self._draft(request, form)):
            return HttpResponseRedirect(reverse("admin:evaluation_release_change", args=[release.pk]))
        context = {
            **self.admin_site.each_context(request),
            "form": form,
            "bundles": Bundle.objects.all(),
            "models": models_in_settings(),
            "open_releases": Release.objects.filter(state=Release.State.OPEN),
            "title": _("Draft a release"),
            "opts": self.opts,
        }
        return TemplateResponse(request, "evaluation/admin/open_release.html", context)

    def decide_view(self, request: HttpRequest, object_id: str, decision: str) -> HttpResponse:
        """As for every row; where a draft is gone, the list is what comes next."""
        response = super().decide_view(request, object_id, decision)
        if response.status_code == 302 and not Release.objects.filter(pk=object_id).exists():
            return HttpResponseRedirect(reverse("admin:evaluation_release_changelist"))
        return response

    def _draft(self, request: HttpRequest, form: ReleaseForm) -> Release | None:
        fields, at = form.cleaned_data, timezone.now()
        try:
            release = draft_release(
                name=fields["name"],
                track=fields["track"],
                bundles=list(fields["bundles"]),
                smoke_bundle=fields["smoke_bundle"],
                actor=actor_of(request),
                at=at,
            )
            check_release(release=release, at=at)
        except Refusal as refusal:
            form.add_error(None, str(refusal.message))
            return None
        messages.success(request, _("The draft is made. It opens once its checklist passes."))
        return release

    @admin.display(description=gettext_lazy("checklist"))
    def checklist_table(self, release: Release) -> SafeString:
        return render_to_string("evaluation/admin/checklist.html", {"checks": checklist_of(release)})

    @admin.display(description=gettext_lazy("reference arms"))
    def arms_table(self, release: Release) -> SafeString:
        return render_to_string("evaluation/admin/arms.html", {"arms": arms_of(release)})

    @admin.display(description=gettext_lazy("baseline"))
    def baseline_table(self, release: Release) -> SafeString:
        """What it froze; of a draft, nothing is frozen yet."""
        pairs = [] if _is_draft(release) else describe_baseline(release)
        return render_to_string("evaluation/admin/pairs.html", {"pairs": pairs})

    @admin.display(description=gettext_lazy("differences from this installation"))
    def differences_table(self, release: Release) -> SafeString:
        """A draft has frozen nothing that could differ."""
        differences = [] if _is_draft(release) else compare_baseline(release)
        return render_to_string("evaluation/admin/differences.html", {"differences": differences})


@admin.register(Result)
class ResultAdmin(ReadOnlyAdmin):
    list_display = ("job", "points", "n", "coverage", "created_at")
    list_select_related = ("job__version__system",)

    @admin.display(description=gettext_lazy("Overall"), ordering="overall")
    def points(self, result: Result) -> str:
        """As on every page: points of 100."""
        return f"{100 * result.overall:.2f}"


@admin.register(QuotaEntry)
class QuotaEntryAdmin(ReadOnlyAdmin):
    list_display = ("account", "job", "kind", "reason", "at")
    list_filter = ("kind", "account__track", "account__mode")
    list_select_related = ("account", "job__version__system")


@admin.register(QuotaAccount)
class QuotaAccountAdmin(ReadOnlyAdmin):
    list_display = ("lineage", "cycle", "track", "mode")
    list_filter = ("cycle", "track", "mode")


@admin.register(Receipt)
class ReceiptAdmin(ReadOnlyAdmin):
    list_display = ("id", "kind", "attempt", "http_status", "verdict", "reason_code", "latency_ms", "started_at")
    list_filter = ("kind", "verdict")
    search_fields = ("=job__id", "event__request_id", "reason_code")
    show_full_result_count = False
