"""Who may start which run: each rule is a function that raises the Refusal that says what to do."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from django.db.models import F
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from evaluation import quotas
from evaluation.models import Job, Release
from evaluation.releases import compare_baseline, current_release
from submissions.endpoints import check_endpoint, is_allowed_private
from submissions.keys import require_scope
from submissions.models import Division, LeaderboardKey, Track, Version
from submissions.refusals import Refusal

UNPROCESSABLE = 422
LABEL_LENGTH = 80

# What a team confirms before a full evaluation, one tick each.
CHECKLIST: Final[Mapping[str, Promise]] = {
    "smoke_passed": gettext_lazy("A smoke test of this version passed on this track."),
    "api_contract": gettext_lazy("Add and Search follow the API contract."),
    "run_notes": gettext_lazy("The run notes are complete."),
    "disclosure": gettext_lazy("Original work, sources and all changes to them are disclosed."),
    "integrity": gettext_lazy(
        "Nothing manipulates the result: no hard-coded answers, leaked data, prompt injection or people answering."
    ),
}
OPEN_SOURCE_CHECKLIST: Final[Mapping[str, Promise]] = {
    "declared_models": gettext_lazy("The models that Add and Search use are declared."),
}


@dataclass(frozen=True, slots=True)
class Precondition:
    """Something that a full evaluation needs, and whether it holds."""

    code: str
    title: str
    met: bool
    advice: str


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule of a submission: `check` raises the Refusal that says what to do."""

    code: str
    title: str
    check: Callable[[], object]


def checklist_for(version: Version) -> dict[str, Promise]:
    """The ticks that a full evaluation of `version` asks for, by code."""
    if version.system.division == Division.OPEN_SOURCE:
        return {**CHECKLIST, **OPEN_SOURCE_CHECKLIST}
    return dict(CHECKLIST)


def check_bound(key: LeaderboardKey, version: Version) -> None:
    """The version must be bound to the key."""
    if not Version.objects.for_key(key).filter(pk=version.pk).exists():
        raise Refusal(
            "version_not_found", _("This key has no such version. Choose one that is bound to it."), status=404
        )


def check_version(key: LeaderboardKey, version: Version, track: str) -> None:
    """The version must be approved and entered for the track."""
    if version.state != Version.State.APPROVED:
        message = _("The version is %(state)s, so it can't be evaluated. Only approved versions can.")
        raise Refusal("version_not_approved", message % {"state": version.get_state_display()})
    if track not in version.tracks or track not in key.cycle.tracks:
        names = ", ".join(str(Track(name).label) for name in version.tracks if name in key.cycle.tracks)
        message = _("The version is not entered for this track. It is for: %(tracks)s.") % {"tracks": names or "–"}
        raise Refusal("track_not_entered", message, status=UNPROCESSABLE)


def release_for(track: str) -> Release:
    """The open release of the track."""
    release = current_release(track)
    if release is None:
        message = _("No release is open for this track yet. The organizers open one before evaluations can start.")
        raise Refusal("no_open_release", message)
    return release


def check_label(key: LeaderboardKey, label: str) -> None:
    """A run label tells a key's runs apart."""
    if not label or len(label) > LABEL_LENGTH or not label.isprintable():
        message = _("A run label has 1 to %(length)d printable characters.") % {"length": LABEL_LENGTH}
        raise Refusal("run_label_invalid", message, status=UNPROCESSABLE)
    if Job.objects.filter(lineage=key.lineage, run_label=label).exists():
        raise Refusal("run_label_taken", _("A run of this key has this label already. Choose another label."))


def check_idle(key: LeaderboardKey, track: str) -> None:
    """One run at a time for a key and track."""
    active = Job.objects.active().filter(lineage=key.lineage, track=track).first()
    if active is not None:
        message = _("The run “%(label)s” is active on this track. Wait until it has ended, or cancel it.")
        raise Refusal("job_active", message % {"label": active.run_label}, details={"job": str(active.pk)})


def check_concurrency(version: Version, *, add: int, search: int) -> None:
    """A run stays within the capacity that the team declared."""
    if not 1 <= add <= version.add_concurrency or not 1 <= search <= version.search_concurrency:
        message = _("Add concurrency goes from 1 to %(add)d and Search concurrency from 1 to %(search)d, as declared.")
        values = {"add": version.add_concurrency, "search": version.search_concurrency}
        raise Refusal("concurrency_out_of_range", message % values, status=UNPROCESSABLE, details=values)


def check_credential(version: Version, mode: str) -> None:
    """A run needs the secret that its authentication names; without authentication only smoke tests run."""
    if version.auth_scheme == Version.AuthScheme.NONE:
        if mode == Job.Mode.FULL:
            message = _("A full evaluation needs an API with authentication. Without it only smoke tests run.")
            raise Refusal("auth_required", message)
        return
    if not hasattr(version, "memory_system_key"):
        message = _("The Memory System Key of this version is missing. Give it on the request's status page.")
        raise Refusal("memory_system_key_missing", message)
    _check_transport(version, mode)


def _check_transport(version: Version, mode: str) -> None:
    """A credential goes over https; the exceptions are named by the team (smoke) or by the organizers (full)."""
    excused = bool(version.plain_http_override) or (mode == Job.Mode.SMOKE and version.allow_plain_http)
    if excused or not any(_is_exposed(url) for url in _credential_urls(version)):
        return
    if mode == Job.Mode.FULL:
        message = _("A full evaluation sends the credential over https only. Enter a version with https addresses.")
        raise Refusal("https_required", message)
    message = _("The credential would go over plain http. Confirm that in the access request, or use https.")
    raise Refusal("plain_http_not_confirmed", message)


def _credential_urls(version: Version) -> list[tuple[str, bool]]:
    urls = [(version.add_url, False), (version.search_url, False), (version.add_status_url, True)]
    return [(url, placeholder) for url, placeholder in urls if url]


def _is_exposed(address: tuple[str, bool]) -> bool:
    url, placeholder = address
    try:
        endpoint = check_endpoint(url, placeholder=placeholder)
    except Refusal:
        return True
    return endpoint.scheme != "https" and not is_allowed_private(endpoint)


def passed_smokes(key: LeaderboardKey, versions: Iterable[Version]) -> set[tuple[UUID, str]]:
    """Versions and tracks whose smoke test succeeded since the version's endpoint or secret last changed."""
    passed = Job.objects.filter(
        lineage=key.lineage,
        version__in=[version.pk for version in versions],
        mode=Job.Mode.SMOKE,
        state=Job.State.SUCCEEDED,
        created_at__gte=F("version__endpoint_changed_at"),
    )
    return set(passed.order_by().values_list("version", "track").distinct())


def check_checklist(version: Version, ticked: Iterable[str]) -> None:
    """A full evaluation needs every point of the checklist, so that nobody spends a slot in vain."""
    missing = [code for code in checklist_for(version) if code not in set(ticked)]
    if missing:
        message = _("Confirm every point of the checklist before a full evaluation.")
        raise Refusal("checklist_incomplete", message, status=UNPROCESSABLE, details={"missing": missing})


def check_smoke(version: Version, track: str, smokes: Collection[tuple[UUID, str]]) -> None:
    """A full evaluation follows a smoke test that passed since the last change."""
    if (version.pk, track) not in smokes:
        message = _("Run a smoke test of this version on this track first; it must have passed since the last change.")
        raise Refusal("smoke_not_passed", message)


def check_unchanged(track: str) -> None:
    """A full evaluation runs on what its release has frozen."""
    release = current_release(track)
    differences = compare_baseline(release) if release else []
    if differences:
        message = _("The platform has changed since this release was opened. The organizers must open a new one first.")
        raise Refusal("release_drifted", message, details={"differs": [difference.name for difference in differences]})


def track_rules(*, key: LeaderboardKey, track: str, mode: str, at: datetime) -> list[Rule]:
    """What must hold of a key and a track before a run of `mode` starts."""
    rules = [
        Rule("scope", _("The key may start it"), lambda: require_scope(key, mode)),
        Rule("release", _("A release is open"), lambda: release_for(track)),
        Rule("idle", _("No other run is active on this track"), lambda: check_idle(key, track)),
        Rule(
            "quota",
            _("A slot is left and may be used now"),
            lambda: quotas.require(quotas.next_submission(key=key, track=track, mode=mode, at=at), at=at),
        ),
    ]
    if mode == Job.Mode.FULL:
        rules.append(Rule("unchanged", _("The platform is as the release froze it"), lambda: check_unchanged(track)))
    return rules


def version_rules(
    *, key: LeaderboardKey, version: Version, track: str, mode: str, smokes: Collection[tuple[UUID, str]]
) -> list[Rule]:
    """What must hold of a version before a run of `mode` starts; `smokes` comes from `passed_smokes`."""
    rules = [
        Rule("version", _("Approved, and entered for the track"), lambda: check_version(key, version, track)),
        Rule("auth", _("API with authentication"), lambda: check_credential(version, mode)),
    ]
    if mode == Job.Mode.FULL:
        title = _("Smoke test passed since the last change")
        rules.append(Rule("smoke_passed", title, lambda: check_smoke(version, track, smokes)))
    return rules


def full_preconditions(
    *, key: LeaderboardKey, versions: Sequence[Version], at: datetime
) -> dict[tuple[UUID, str], list[Precondition]]:
    """What a full evaluation of each version needs on each of its tracks: the rules of a submission, tried out.

    Costs the same queries for one version as for many, if `memory_system_key` is selected with them.
    """
    smokes, full = passed_smokes(key, versions), Job.Mode.FULL.value
    by_track = {
        track: [_tried(rule) for rule in track_rules(key=key, track=track, mode=full, at=at)]
        for track in key.cycle.tracks
    }
    return {
        (version.pk, track): [
            *(_tried(rule) for rule in version_rules(key=key, version=version, track=track, mode=full, smokes=smokes)),
            *by_track[track],
        ]
        for version in versions
        for track in version.tracks
        if track in by_track
    }


def _tried(rule: Rule) -> Precondition:
    try:
        rule.check()
    except Refusal as refusal:
        return Precondition(rule.code, rule.title, False, str(refusal.message))
    return Precondition(rule.code, rule.title, True, "")
