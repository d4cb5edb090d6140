"""The checklist that a release passes before it opens: what is checked, what came of it, and what to do about it."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlsplit

from django.conf import settings
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from benchmarks.datasets.registry import DATASETS
from benchmarks.judging.faults import ModelFault
from benchmarks.judging.registry import JUDGES
from benchmarks.models import Bundle
from benchmarks.scoring.registry import METRICS
from benchmarks.selectors import BundleError, scopes_of, verify_files
from evaluation.arms.selectors import latest_runs
from evaluation.backends import ask_model, is_same_model
from evaluation.models import ArmRun, Job, Release
from evaluation.pipeline.baseline import (
    answer_baseline,
    changed_code_files,
    judge_baseline,
)

__all__ = ["ReleaseCheck", "arms_check", "failed", "read_checks", "run_checks"]

PASSED, FAILED, NOTED = "passed", "failed", "noted"

_MODEL_ADVICE: Final = _(
    "Check the address, the model's name and the key in the settings, and whether the service is up. Then check again."
)
_NAME_ADVICE: Final = _(
    "The gate wants the model that the release names: put the name that comes back into the settings."
)
_IMPORT_AGAIN: Final = _("Import the folder once more as it is now, and draft another release of the new bundle.")

_TEXTS: Final[Mapping[str, tuple[str, str | Promise, str | Promise]]] = {
    "files_ok": (PASSED, _("Each of %(files)d dataset files is, byte for byte, what was registered."), ""),
    "files_changed": (
        FAILED,
        _("%(bundle)s: the file %(file)s is missing or not what was registered."),
        _("Put the registered file back. If the change is meant, import the folder again and draft another release."),
    ),
    "counts_ok": (
        PASSED,
        _("%(questions)d questions in %(scopes)d conversations were read, as many as registered."),
        "",
    ),
    "counts_differ": (
        FAILED,
        _("%(bundle)s: %(found)d questions were read, but %(expected)d are registered, or their categories differ."),
        _IMPORT_AGAIN,
    ),
    "counts_unread": (FAILED, _("%(bundle)s could not be read to its end: %(problem)s"), _IMPORT_AGAIN),
    "smoke_ok": (PASSED, _("The smoke test asks %(questions)d questions of the bundle %(bundle)s."), ""),
    "smoke_missing": (
        FAILED,
        _(
            "The smoke test would ask nothing: %(bundle)s lacks the conversations that it names, "
            "or they have no question."
        ),
        _("Name conversations with questions in the bundle's manifest, or choose another bundle for the smoke test."),
    ),
    "metrics_ok": (PASSED, _("Each bundle is scored by a metric that the platform knows: %(metrics)s."), ""),
    "metrics_unknown": (
        FAILED,
        _("%(bundle)s wants the metric %(metric)s, which the platform does not know."),
        _("Import the bundle again with a metric that this version of the platform has."),
    ),
    "answer_offline": (
        NOTED,
        _(
            "No answer model is set: the offline backend answers. "
            "That is good for a trial, and not for an official board."
        ),
        _("For an official board set AML_ANSWER_BASE_URL and AML_ANSWER_MODEL and start the platform again."),
    ),
    "answer_ok": (PASSED, _("The answer model %(model)s at %(host)s answered."), ""),
    "answer_silent": (FAILED, _("The answer model %(model)s at %(host)s gave no answer (%(problem)s)."), _MODEL_ADVICE),
    "answer_other": (FAILED, _("%(host)s answered as %(got)s instead of %(model)s."), _NAME_ADVICE),
    "judge_offline": (
        NOTED,
        _("No judge is set: the rules of the metric score."),
        _("Where a judge should score, set AML_JUDGE_BASE_URL and AML_JUDGE_MODEL and start the platform again."),
    ),
    "judge_ok": (PASSED, _("The judge %(model)s at %(host)s answered."), ""),
    "judge_silent": (FAILED, _("The judge %(model)s at %(host)s gave no answer (%(problem)s)."), _MODEL_ADVICE),
    "judge_other": (FAILED, _("%(host)s answered as %(got)s instead of %(model)s."), _NAME_ADVICE),
    "prompts_ok": (PASSED, _("%(files)d prompt files are part of the release, each by its hash."), ""),
    "prompts_unused": (PASSED, _("No model is asked, so that no prompt is part of the release."), ""),
    "prompts_missing": (
        FAILED,
        _("A model is configured, but its prompt files are not there."),
        _("Install the platform again: files are missing."),
    ),
    "code_ok": (PASSED, _("The code on disk is the code that runs."), ""),
    "code_changed": (
        FAILED,
        _("Since this process started, files that decide a score have changed on disk, %(file)s among them."),
        _("Start web server and workers again, so that all of them run the same code. Then check again."),
    ),
    "retention_ok": (PASSED, _("The evidence of a run is kept for %(days)d days after its end."), ""),
    "retention_unset": (
        FAILED,
        _("The evidence of a run would be kept for no day at all."),
        _("Set AML_EVIDENCE_DAYS to the days for which a result can be looked into, and start the platform again."),
    ),
    "retires_none": (PASSED, _("No release of this track is open, so that none is retired."), ""),
    "retires_idle": (NOTED, _("Opening it retires %(release)s, under which no run is going on."), ""),
    "retires_runs": (
        NOTED,
        _("Opening it retires %(release)s, under which %(runs)d runs are going on."),
        _("Runs of a retired release pass the gate no more. Wait for their end, or tell their teams."),
    ),
    "arms_later": (
        NOTED,
        _("The reference arms run once the release is open."),
        _("After the opening call: manage.py run_arms %(release)s"),
    ),
    "arms_missing": (
        NOTED,
        _("Reference arms without a result: %(arms)s."),
        _("Call: manage.py run_arms %(release)s"),
    ),
    "arms_ok": (PASSED, _("All reference arms have a result under this release."), ""),
}
"""Code → outcome, sentence, advice."""


@dataclass(frozen=True, slots=True)
class ReleaseCheck:
    """What one check came to. `code` is for machines; sentence and advice are in the reader's language."""

    code: str
    values: Mapping[str, Any] = field(default_factory=dict)

    @property
    def outcome(self) -> str:
        """passed, failed, or noted: to be known, but nothing that keeps the release closed."""
        return _TEXTS[self.code][0]

    @property
    def sentence(self) -> str:
        """What was found."""
        return str(_TEXTS[self.code][1]) % self.values

    @property
    def advice(self) -> str:
        """What to do about it; empty where nothing is to be done."""
        return str(_TEXTS[self.code][2]) % self.values

    def as_json(self) -> dict[str, Any]:
        """The check as it is kept with the release."""
        return {"code": self.code, "values": dict(self.values)}


def run_checks(release: Release) -> list[ReleaseCheck]:
    """Run every check on a draft. Reads its datasets to their ends, and asks each configured model once."""
    return [check(release) for check in _CHECKS]


def read_checks(stored: list[dict[str, Any]]) -> list[ReleaseCheck]:
    """Checks as they were kept; those that a newer platform doesn't know are left out."""
    return [ReleaseCheck(one["code"], one["values"]) for one in stored if one["code"] in _TEXTS]


def failed(checks: list[ReleaseCheck]) -> list[ReleaseCheck]:
    """Those that keep the release closed."""
    return [check for check in checks if check.outcome == FAILED]


def arms_check(release: Release) -> ReleaseCheck:
    """Which reference arms have a result now."""
    if release.state == Release.State.DRAFT:
        return ReleaseCheck("arms_later", {"release": release.name})
    runs = latest_runs(release)
    done = {arm for arm, run in runs.items() if run.state == ArmRun.State.SUCCEEDED}
    missing = [arm for arm in ArmRun.Arm.values if arm not in done]
    if missing:
        return ReleaseCheck("arms_missing", {"release": release.name, "arms": ", ".join(missing)})
    return ReleaseCheck("arms_ok")


def _bundles(release: Release) -> list[Bundle]:
    return sorted(release.bundles.all(), key=lambda bundle: bundle.name)


def _files(release: Release) -> ReleaseCheck:
    bundles = {bundle.pk: bundle for bundle in (*_bundles(release), release.smoke_bundle)}.values()
    for bundle in bundles:
        try:
            verify_files(bundle)
        except BundleError as error:
            return ReleaseCheck("files_changed", {"bundle": error.bundle, "file": error.file})
    return ReleaseCheck("files_ok", {"files": sum(len(bundle.files) for bundle in bundles)})


def _counts(release: Release) -> ReleaseCheck:
    scopes = questions = 0
    for bundle in _bundles(release):
        try:
            found = _count(bundle)
        except BundleError as error:
            return ReleaseCheck("counts_unread", {"bundle": bundle.name, "problem": str(error)[:300]})
        expected = bundle.counts
        if any(found[name] != expected.get(name) for name in found):
            values = {"bundle": bundle.name, "found": found["questions"], "expected": expected.get("questions", 0)}
            return ReleaseCheck("counts_differ", values)
        scopes, questions = scopes + found["scopes"], questions + found["questions"]
    return ReleaseCheck("counts_ok", {"scopes": scopes, "questions": questions})


def _count(bundle: Bundle) -> dict[str, Any]:
    scopes, categories = 0, Counter[str]()
    for scope in scopes_of(bundle):
        scopes += 1
        categories.update(question.category for question in scope.questions)
    return {"scopes": scopes, "questions": categories.total(), "by_category": dict(categories)}


def _smoke(release: Release) -> ReleaseCheck:
    bundle = release.smoke_bundle
    try:
        found = {scope.key: len(scope.questions) for scope in _smoke_scopes(bundle)}
    except BundleError:
        found = {}
    if not found or set(bundle.smoke_scopes) - found.keys() or not sum(found.values()):
        return ReleaseCheck("smoke_missing", {"bundle": bundle.name})
    return ReleaseCheck("smoke_ok", {"bundle": bundle.name, "questions": sum(found.values())})


def _smoke_scopes(bundle: Bundle) -> Iterator[Any]:
    """The scopes of the smoke test: those that the bundle names, else its first."""
    for scope in scopes_of(bundle, only=bundle.smoke_scopes or None):
        yield scope
        if not bundle.smoke_scopes:
            return


def _metrics(release: Release) -> ReleaseCheck:
    metrics: list[str] = []
    for bundle in (*_bundles(release), release.smoke_bundle):
        has_judge = bool(settings.AML_JUDGE_BASE_URL)
        metric = DATASETS[bundle.dataset].scored_by(bundle.metric, has_judge=has_judge)
        if metric not in METRICS and not (has_judge and metric in JUDGES):
            return ReleaseCheck("metrics_unknown", {"bundle": bundle.name, "metric": metric})
        metrics.append(metric)
    return ReleaseCheck("metrics_ok", {"metrics": ", ".join(sorted(set(metrics)))})


def _answer_model(release: Release) -> ReleaseCheck:
    return _model("answer", settings.AML_ANSWER_BASE_URL, settings.AML_ANSWER_MODEL, settings.AML_ANSWER_API_KEY)


def _judge_model(release: Release) -> ReleaseCheck:
    return _model("judge", settings.AML_JUDGE_BASE_URL, settings.AML_JUDGE_MODEL, settings.AML_JUDGE_API_KEY)


def _model(part: str, base_url: str, model: str, api_key: str) -> ReleaseCheck:
    if not base_url:
        return ReleaseCheck(f"{part}_offline")
    values = {"model": model, "host": urlsplit(base_url).hostname or ""}
    try:
        got = asyncio.run(ask_model(base_url, model, api_key))
    except ModelFault as fault:
        return ReleaseCheck(f"{part}_silent", {**values, "problem": fault.code})
    if not is_same_model(got, model):
        return ReleaseCheck(f"{part}_other", {**values, "got": got})
    return ReleaseCheck(f"{part}_ok", values)


def _prompts(release: Release) -> ReleaseCheck:
    answer = answer_baseline(base_url=settings.AML_ANSWER_BASE_URL, model=settings.AML_ANSWER_MODEL)
    judge = judge_baseline(base_url=settings.AML_JUDGE_BASE_URL, model=settings.AML_JUDGE_MODEL)
    asked = [part for part in (answer, judge) if part["backend"] == "openai"]
    if not asked:
        return ReleaseCheck("prompts_unused")
    if not all(part["prompts"] for part in asked):
        return ReleaseCheck("prompts_missing")
    return ReleaseCheck("prompts_ok", {"files": sum(len(part["prompts"]) for part in asked)})


def _code(release: Release) -> ReleaseCheck:
    changed = changed_code_files()
    return ReleaseCheck("code_changed", {"file": changed[0]}) if changed else ReleaseCheck("code_ok")


def _retention(release: Release) -> ReleaseCheck:
    days = int(settings.AML_EVIDENCE_DAYS)
    return ReleaseCheck("retention_ok", {"days": days}) if days > 0 else ReleaseCheck("retention_unset")


def _retires(release: Release) -> ReleaseCheck:
    older = Release.objects.filter(track=release.track, state=Release.State.OPEN).exclude(pk=release.pk).first()
    if older is None:
        return ReleaseCheck("retires_none")
    runs = Job.objects.active().filter(release=older).count()
    return ReleaseCheck("retires_runs" if runs else "retires_idle", {"release": older.name, "runs": runs})


_CHECKS: Final[tuple[Callable[[Release], ReleaseCheck], ...]] = (
    _files,
    _counts,
    _smoke,
    _metrics,
    _answer_model,
    _judge_model,
    _prompts,
    _code,
    _retention,
    _retires,
    arms_check,
)
