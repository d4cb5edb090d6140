"""The two forms of the Evaluation page: the key, and the run to start."""

from typing import Any, Final

from django import forms
from django.utils.translation import gettext_lazy as _

from evaluation.admission import CHECKLIST, LABEL_LENGTH, OPEN_SOURCE_CHECKLIST
from evaluation.models import Job
from evaluation.pipeline.baseline import TOP_K
from evaluation.selectors import tracks_of
from submissions.keys import KEY_LENGTH
from submissions.models import Division, LeaderboardKey, Track, Version
from submissions.refusals import Refusal


class KeyForm(forms.Form):
    """Asks for a Leaderboard Key; what was entered is never shown again."""

    key = forms.CharField(
        label=_("Leaderboard Key"),
        help_text=_("The server keeps a session that names the key; the key itself is not kept in this browser."),
        max_length=KEY_LENGTH + 60,
        widget=forms.PasswordInput(attrs={"autocomplete": "off", "spellcheck": "false", "class": "code"}),
    )


class VersionChoice(forms.ModelChoiceField):
    """A version by its system, label and declared capacity."""

    def label_from_instance(self, obj: Any) -> str:
        return f"{obj.system.name} · {obj.label}"


class JobForm(forms.Form):
    """Everything that a run needs to be told. The rules are the service's; a refusal finds its field here."""

    track = forms.ChoiceField(label=_("Track"))
    version = VersionChoice(label=_("System and version"), queryset=Version.objects.none(), empty_label=None)
    mode = forms.ChoiceField(
        label=_("Mode"),
        choices=[
            (Job.Mode.SMOKE, _("Smoke test: a small public suite, private result")),
            (Job.Mode.FULL, _("Full evaluation: the whole suite, may be published after review")),
        ],
        initial=Job.Mode.SMOKE,
        widget=forms.RadioSelect,
    )
    add_concurrency = forms.IntegerField(
        label=_("Parallel Adds"), min_value=1, max_value=1024, help_text=_("At most what the version declared.")
    )
    search_concurrency = forms.IntegerField(
        label=_("Parallel Searches"), min_value=1, max_value=1024, help_text=_("At most what the version declared.")
    )
    top_k = forms.IntegerField(label="Top K", initial=TOP_K, disabled=True, help_text=_("Fixed for every run."))
    run_label = forms.CharField(
        label=_("Run label"),
        max_length=LABEL_LENGTH,
        help_text=_("Tells this run from your others; each label can be used once."),
    )
    checklist = forms.MultipleChoiceField(
        label=_("Before a full evaluation"),
        help_text=_("Confirm each point. A smoke test needs none of them."),
        required=False,
        widget=forms.CheckboxSelectMultiple,
    )

    def __init__(self, *args: Any, key: LeaderboardKey, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        versions = Version.objects.for_key(key).approved().select_related("system")
        version_field = self.fields["version"]
        assert isinstance(version_field, forms.ModelChoiceField)
        version_field.queryset = versions
        self.fields["track"].choices = [(track, Track(track).label) for track in tracks_of(key)]  # type: ignore[attr-defined]
        self.fields["checklist"].choices = list(_ticks(list(versions)).items())  # type: ignore[attr-defined]
        self._propose(key, list(versions))

    def _propose(self, key: LeaderboardKey, versions: list[Version]) -> None:
        self.fields["add_concurrency"].initial = min((version.add_concurrency for version in versions), default=1)
        self.fields["search_concurrency"].initial = min((version.search_concurrency for version in versions), default=1)
        self.fields["run_label"].initial = f"run-{Job.objects.for_key(key).count() + 1}"

    def ticked(self) -> dict[str, bool]:
        """The checklist by code; codes that a version does not ask for do no harm."""
        return dict.fromkeys(self.cleaned_data["checklist"], True)

    def show(self, refusal: Refusal) -> None:
        """Put a refusal beside the field that can mend it, else above the form."""
        self.add_error(_FIELDS.get(refusal.code), str(refusal.message))


_FIELDS: Final = {
    "run_label_invalid": "run_label",
    "run_label_taken": "run_label",
    "concurrency_out_of_range": "add_concurrency",
    "checklist_incomplete": "checklist",
    "version_not_found": "version",
    "version_not_approved": "version",
    "auth_required": "version",
    "https_required": "version",
    "plain_http_not_confirmed": "version",
    "memory_system_key_missing": "version",
    "track_not_entered": "track",
    "no_open_release": "track",
    "job_active": "track",
    "smoke_not_passed": "mode",
    "scope_missing": "mode",
    "quota_used_up": "mode",
    "quota_not_yet": "mode",
    "previous_full_running": "mode",
}


def _ticks(versions: list[Version]) -> dict[str, Any]:
    open_source = any(version.system.division == Division.OPEN_SOURCE for version in versions)
    return {**CHECKLIST, **OPEN_SOURCE_CHECKLIST} if open_source else dict(CHECKLIST)
