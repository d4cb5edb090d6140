"""The access request, as one form in groups, and the small forms of its status page."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django import forms
from django.core import signing
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from submissions.materials import MAX_CONCURRENCY, NAMES, NEEDED_IN_A_DRAFT, Materials
from submissions.models import AccessRequest, Cycle, Division, Track, Version
from submissions.refusals import Refusal
from submissions.services import new_receipt

RECEIPT_SALT = "access-request-receipt"


@dataclass(frozen=True)
class Group:
    """One fieldset: its legend, a sentence, and the names of its fields."""

    legend: str | Promise
    text: str | Promise
    names: tuple[str, ...]


GROUPS = (
    Group(
        _("Contact"), _("Letters go to this address, in the language of this page."), ("contact_name", "contact_email")
    ),
    Group(
        _("System"),
        _("Freeze the version before you apply: once approved it does not change, a change is a new version."),
        ("team", "system", "version", "division", "tracks"),
    ),
    Group(
        _("Endpoints"),
        _("Public addresses of your own servers. They are checked by form now and called only once a run starts."),
        ("add_url", "search_url", "health_url", "add_status_url"),
    ),
    Group(
        _("Authentication"),
        _("The Memory System Key is stored encrypted, bound to these URLs, and never shown again."),
        ("auth_scheme", "memory_system_key", "allow_plain_http"),
    ),
    Group(
        _("Capacity"),
        _(
            "The platform keeps to the numbers of parallel calls and to the longest time of a call. The largest body "
            "and the rate limit are for the people who review and run: requests are not cut or slowed down by them."
        ),
        ("add_concurrency", "search_concurrency", "call_timeout_s", "largest_body_mib", "rate_limit"),
    ),
    Group(_("Description"), "", ("method_description", "public_description", "run_notes")),
    Group(
        _("Open-source methods"),
        _("Needed in the open-source division; leave it empty for a commercial product."),
        ("repository", "commit", "original_authors", "technical_report", "method_changes", "models_used"),
    ),
    Group(_("Promise"), "", ("stays_reachable",)),
)


def _text(rows: int) -> forms.Textarea:
    return forms.Textarea(attrs={"rows": rows})


def _url(label: Any, help_text: Any, *, required: bool) -> forms.CharField:
    widget = forms.TextInput(attrs={"class": "code", "inputmode": "url", "autocomplete": "off", "spellcheck": "false"})
    return forms.CharField(label=label, help_text=help_text, required=required, max_length=2048, widget=widget)


class AccessRequestForm(forms.Form):
    """Everything a team declares. Which field may be empty depends on the others: `submissions.materials` decides."""

    receipt = forms.CharField(widget=forms.HiddenInput)
    contact_name = forms.CharField(
        label=_("Contact name"), max_length=120, widget=forms.TextInput(attrs={"autocomplete": "name"})
    )
    contact_email = forms.EmailField(
        label=_("E-mail"), max_length=254, widget=forms.EmailInput(attrs={"autocomplete": "email"})
    )
    team = forms.CharField(
        label=_("Organization or team"), max_length=200, widget=forms.TextInput(attrs={"autocomplete": "organization"})
    )
    system = forms.CharField(label=_("System name"), max_length=120)
    version = forms.CharField(
        label=_("Fixed version"), max_length=120, help_text=_("A tag, commit, image digest or product version.")
    )
    division = forms.ChoiceField(
        label=_("Division"),
        choices=Division.choices,
        widget=forms.RadioSelect,
        help_text=_("Decides the board on which results stand. Prizes are for open-source methods."),
    )
    tracks = forms.MultipleChoiceField(label=_("Tracks"), choices=Track.choices, widget=forms.CheckboxSelectMultiple)
    add_url = _url(_("Add URL"), _("POST; takes the messages of a session."), required=True)
    search_url = _url(_("Search URL"), _("POST; returns up to 100 memories for a query."), required=True)
    health_url = _url(_("Health URL"), _("GET without authentication; any 2xx means well."), required=False)
    add_status_url = _url(
        _("Add-status URL"), _("Only if Add answers 202: holds {task_id} once in its path or query."), required=False
    )
    auth_scheme = forms.ChoiceField(
        label=_("How the key is sent"),
        choices=Version.AuthScheme.choices,
        initial=Version.AuthScheme.BEARER,
        widget=forms.RadioSelect,
    )
    memory_system_key = forms.CharField(
        label=_("Memory System Key"),
        required=False,
        max_length=512,
        strip=False,
        help_text=_(
            "Needed unless you chose none. A key of your API made for this evaluation: 8 to 512 visible ASCII "
            "characters, no spaces."
        ),
        widget=forms.PasswordInput(render_value=False, attrs={"class": "code", "autocomplete": "off"}),
    )
    allow_plain_http = forms.BooleanField(
        label=_("Send the key over plain http"),
        required=False,
        help_text=_("Anyone on the way can read it. Enough for smoke tests; a full evaluation needs https."),
    )
    add_concurrency = forms.IntegerField(label=_("Parallel Adds"), min_value=1, max_value=MAX_CONCURRENCY, initial=16)
    search_concurrency = forms.IntegerField(
        label=_("Parallel Searches"), min_value=1, max_value=MAX_CONCURRENCY, initial=16
    )
    call_timeout_s = forms.IntegerField(
        label=_("Longest time that a call may take, in seconds"), required=False, min_value=1, max_value=1800
    )
    largest_body_mib = forms.IntegerField(
        label=_("Largest request body, in MiB"), required=False, min_value=1, max_value=1024
    )
    rate_limit = forms.CharField(
        label=_("Rate limit"), required=False, max_length=200, help_text=_("Such as 600 requests a minute.")
    )
    method_description = forms.CharField(label=_("Method or product description"), max_length=20_000, widget=_text(6))
    public_description = forms.CharField(
        label=_("What may be shown publicly"),
        max_length=4_000,
        widget=_text(3),
        help_text=_("Printed beside your result, word for word."),
    )
    run_notes = forms.CharField(
        label=_("Run notes"),
        max_length=20_000,
        widget=_text(4),
        help_text=_("What organizers should know to run and to review: warm-up, regions, maintenance times, limits."),
    )
    repository = forms.URLField(label=_("Public repository"), required=False, max_length=200, assume_scheme="https")
    commit = forms.CharField(
        label=_("Fixed commit"),
        required=False,
        max_length=80,
        widget=forms.TextInput(attrs={"class": "code", "spellcheck": "false"}),
    )
    original_authors = forms.CharField(
        label=_("Original authors"),
        required=False,
        max_length=4_000,
        widget=_text(2),
        help_text=_("Of every paper, repository and code that the method builds on."),
    )
    technical_report = forms.URLField(
        label=_("Technical report"), required=False, max_length=200, assume_scheme="https"
    )
    method_changes = forms.CharField(
        label=_("Every change to the method"),
        required=False,
        max_length=20_000,
        widget=_text(4),
        help_text=_("Against the original work. If there is none, say so."),
    )
    models_used = forms.CharField(
        label=_("Models that Add and Search use"), required=False, max_length=4_000, widget=_text(2)
    )
    stays_reachable = forms.BooleanField(
        label=_("The endpoints stay reachable, unchanged, for 30 days after the evaluation"), required=False
    )

    def __init__(
        self,
        *args: Any,
        cycle: Cycle,
        team: str = "",
        stored_secret: bool = False,
        as_draft: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self.retry_after_s: int | None = None
        self._offer_tracks(cycle)
        self.fields["receipt"].initial = signing.dumps(new_receipt(), salt=RECEIPT_SALT)
        if team:
            self.fields["team"].disabled = True
            self.fields["team"].initial = team
        if stored_secret:
            self.fields["memory_system_key"].help_text = _(
                "A key is stored. Leave this empty to keep it; if you change a URL, enter it once more."
            )
        if as_draft:
            for name, field in self.fields.items():
                field.required = name in NEEDED_IN_A_DRAFT

    def groups(self) -> Iterator[tuple[Group, list[forms.BoundField]]]:
        """The fieldsets with their fields, in the order of the page."""
        for group in GROUPS:
            yield group, [self[name] for name in group.names]

    def clean_receipt(self) -> str:
        try:
            return str(signing.loads(self.cleaned_data["receipt"], salt=RECEIPT_SALT))
        except signing.BadSignature:
            return new_receipt()

    def materials(self) -> Materials:
        """The declared fields of a valid form."""
        values = {name: self.cleaned_data[name] for name in NAMES if self.cleaned_data.get(name) is not None}
        values["tracks"] = tuple(values.get("tracks", ()))
        return Materials(**values)

    def add_refusal(self, refusal: Refusal) -> None:
        """Show what a service refused, at the fields that it names."""
        self.retry_after_s = refusal.retry_after_s
        self.full_clean()
        problems: list[dict[str, str]] = refusal.details.get("fields", [])
        for problem in problems:
            name = problem["field"]
            self.add_error(name if name in self.fields else None, problem["message"])
        if not problems:
            self.add_error(None, str(refusal.message))

    def _offer_tracks(self, cycle: Cycle) -> None:
        tracks = self.fields["tracks"]
        assert isinstance(tracks, forms.MultipleChoiceField)
        tracks.choices = [(code, label) for code, label in Track.choices if code in cycle.tracks]


def declared_values(access_request: AccessRequest) -> dict[str, Any]:
    """What the form shows of a request that is edited; never the secret."""
    version = access_request.version
    values: dict[str, Any] = {name: getattr(version, name) for name in NAMES if hasattr(version, name)}
    return values | {
        "contact_name": access_request.contact_name,
        "contact_email": access_request.contact_email,
        "team": access_request.team.name,
        "system": version.system.name,
        "version": version.label,
        "division": version.system.division,
        "stays_reachable": access_request.stays_reachable,
    }


class ExistingKeyForm(forms.Form):
    """Opens the key under which another version is to be entered."""

    leaderboard_key = forms.CharField(
        label=_("Leaderboard Key"),
        max_length=200,
        help_text=_("Only to add a version to a key that you have. It is not kept in the browser."),
        widget=forms.PasswordInput(render_value=False, attrs={"class": "code", "autocomplete": "off"}),
    )


class SecretForm(forms.Form):
    """Another Memory System Key in place of the stored one."""

    memory_system_key = forms.CharField(
        label=_("New Memory System Key"),
        max_length=512,
        strip=False,
        help_text=_("A full evaluation then needs a new smoke test."),
        widget=forms.PasswordInput(render_value=False, attrs={"class": "code", "autocomplete": "off"}),
    )


class AppealForm(forms.Form):
    """What the team answers to a suspension or disqualification."""

    note = forms.CharField(label=_("Your answer"), max_length=4_000, widget=_text(5))
