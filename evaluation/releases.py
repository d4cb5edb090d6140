"""The frozen baseline that all runs of a board share: what it holds, how it opens, whether we still match it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from benchmarks.datasets.registry import DATASETS
from benchmarks.models import Bundle
from benchmarks.selectors import scopes_of
from evaluation.models import Release
from evaluation.pipeline.answering.counting import CounterMissing
from evaluation.pipeline.baseline import (
    TOP_K,
    answer_baseline,
    canonical_digest,
    contract_code_hash,
    judge_baseline,
    pipeline_code_hash,
)
from evaluation.releasechecks import ReleaseCheck, arms_check, failed, read_checks, run_checks
from submissions.audit import append_event
from submissions.refusals import Refusal


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing in which this installation is not what the release froze. `name` is a path like `answer.model`."""

    name: str
    frozen: str
    now: str


def build_baseline(*, bundles: Sequence[Bundle], smoke_bundle: Bundle) -> dict[str, Any]:
    """What a release of these bundles would freeze now. Reads the smoke bundle's files."""
    metrics = {bundle.name: _metric(bundle) for bundle in bundles}
    return {
        "answer": _answer_baseline(),
        "judge": _judge_baseline({**metrics, smoke_bundle.name: _metric(smoke_bundle)}),
        "metrics": metrics,
        "limits": {"top_k": TOP_K},
        "bundles": {bundle.name: {"digest": bundle.digest, "counts": bundle.counts} for bundle in bundles},
        "smoke": _smoke_baseline(smoke_bundle),
        "code": pipeline_code_hash(),
        "contract": contract_code_hash(),
    }


def draft_release(
    *, name: str, track: str, bundles: Sequence[Bundle], smoke_bundle: Bundle, actor: str, at: datetime
) -> Release:
    """Name the parts of a release of `track`, which opens once its checklist passes.

    Raises Refusal when the name is taken, when there is no bundle, and when two bundles share a name.
    """
    _check_bundles(bundles)
    if Release.objects.filter(name=name).exists():
        raise Refusal("release_name_taken", _("There is a release of this name already. Choose another name."))
    try:
        with transaction.atomic():
            release = Release.objects.create(name=name, track=track, smoke_bundle=smoke_bundle)
            release.bundles.set(bundles)
            after = {"bundles": {bundle.name: bundle.digest for bundle in bundles}}
            append_event(actor=actor, action="release.drafted", subject=release, after=after, at=at)
    except IntegrityError as error:
        raise _try_again() from error
    return release


def check_release(*, release: Release, at: datetime) -> list[ReleaseCheck]:
    """Run the checklist on a draft and keep what it came to. Raises Refusal for a release that is no draft."""
    _check_draft(release)
    checks = run_checks(release)
    release.checks, release.checked_at = [check.as_json() for check in checks], at
    release.save(update_fields=["checks", "checked_at"])
    return checks


def open_draft(*, release: Release, actor: str, reason: str = "", at: datetime) -> Release:
    """Run the checklist, freeze the baseline and open the draft; the release that was open before is retired.

    Raises Refusal when a check fails, when the release is no draft, and when somebody else opens one at the same
    moment.
    """
    wrong = failed(check_release(release=release, at=at))
    if wrong:
        first = wrong[0]
        message = _("The release stays closed: %(sentence)s %(advice)s") % {
            "sentence": first.sentence,
            "advice": first.advice,
        }
        raise Refusal("release_checks_failed", message, details={"failed": [check.code for check in wrong]})
    baseline = build_baseline(bundles=list(release.bundles.all()), smoke_bundle=release.smoke_bundle)
    try:
        return _open(release, baseline, actor=actor, reason=reason, at=at)
    except IntegrityError as error:
        raise _try_again() from error


def discard_draft(*, release: Release, actor: str, reason: str, at: datetime) -> None:
    """Remove a draft; its name is free again. Raises Refusal for a release that is no draft."""
    _check_draft(release)
    with transaction.atomic():
        append_event(
            actor=actor,
            action="release.discarded",
            subject=release,
            reason=reason,
            before={"name": release.name},
            at=at,
        )
        release.delete()


def open_release(
    *, name: str, track: str, bundles: Sequence[Bundle], smoke_bundle: Bundle, actor: str, at: datetime
) -> Release:
    """Draft a release and open it at once; nothing stays of one that its checklist keeps closed.

    Raises Refusal as `draft_release` and `open_draft` do.
    """
    release = draft_release(name=name, track=track, bundles=bundles, smoke_bundle=smoke_bundle, actor=actor, at=at)
    try:
        return open_draft(release=release, actor=actor, at=at)
    except Refusal as refusal:
        discard_draft(release=release, actor=actor, reason=refusal.code, at=at)
        raise


@transaction.atomic
def _open(release: Release, baseline: dict[str, Any], *, actor: str, reason: str, at: datetime) -> Release:
    release = Release.objects.select_for_update().get(pk=release.pk)
    _check_draft(release)
    for older in Release.objects.select_for_update().filter(track=release.track, state=Release.State.OPEN):
        _retire(older, actor=actor, at=at)
    release.state, release.opened_at = Release.State.OPEN, at
    release.baseline, release.digest = baseline, canonical_digest(baseline)
    release.save(update_fields=["state", "opened_at", "baseline", "digest"])
    after = {"digest": release.digest, "checks": [check["code"] for check in release.checks]}
    append_event(actor=actor, action="release.opened", subject=release, reason=reason, after=after, at=at)
    return release


def checklist_of(release: Release) -> list[ReleaseCheck]:
    """The checklist as it was kept, with the reference arms as they stand now."""
    kept = [check for check in read_checks(release.checks) if not check.code.startswith("arms_")]
    return [*kept, arms_check(release)]


def _check_draft(release: Release) -> None:
    if release.state != Release.State.DRAFT:
        raise Refusal("release_not_draft", _("This release is no draft any more. What it froze stays as it is."))


def _try_again() -> Refusal:
    return Refusal("try_again", _("Another change came in between. Try again."))


def current_release(track: str) -> Release | None:
    """The open release of `track`."""
    return Release.objects.filter(track=track, state=Release.State.OPEN).first()


def compare_baseline(release: Release) -> list[Difference]:
    """In what this installation, as it runs now, differs from what `release` froze. Reads no dataset file."""
    scored = {bundle.name: _metric(bundle) for bundle in (*release.bundles.all(), release.smoke_bundle)}
    now = {
        "answer": _answer_baseline(),
        "judge": _judge_baseline(scored),
        "code": pipeline_code_hash(),
        "bundles": {
            bundle.name: {"digest": bundle.digest, "counts": bundle.counts} for bundle in release.bundles.all()
        },
    }
    frozen = {name: release.baseline.get(name) for name in now}
    return [
        Difference(path, _shown(_at_path(frozen, path)), _shown(_at_path(now, path)))
        for path in sorted({*_paths(frozen), *_paths(now)})
        if _at_path(frozen, path) != _at_path(now, path)
    ]


def describe_baseline(release: Release, *, smoke: bool = False) -> list[tuple[str, str]]:
    """The baseline as pairs of a label and a value, for pages and the admin; `smoke` for a smoke test's part of it."""
    baseline = release.baseline
    bundles = baseline.get("bundles", {})
    if smoke and (taken := baseline.get("smoke")):
        bundles = {taken["bundle"]: taken}
    return [
        (_("Answer model"), _model_text(baseline.get("answer", {}))),
        (_("Judge"), _model_text(baseline.get("judge", {}))),
        *_prompt_pairs(baseline),
        (_("Metrics"), ", ".join(f"{name}: {metric}" for name, metric in baseline.get("metrics", {}).items())),
        (
            _("Questions"),
            ", ".join(f"{name}: {facts['counts'].get('questions', '?')}" for name, facts in bundles.items()),
        ),
        ("Top K", str(baseline.get("limits", {}).get("top_k", ""))),
        (_("Bundle digests"), ", ".join(f"{name}: {facts['digest'][:12]}" for name, facts in bundles.items())),
        (_("Pipeline code"), str(baseline.get("code", ""))[:12]),
        (_("Release digest"), release.digest),
    ]


def _check_bundles(bundles: Sequence[Bundle]) -> None:
    if not bundles:
        raise Refusal("release_without_bundles", _("A release needs at least one bundle."))
    if len({bundle.name for bundle in bundles}) != len(bundles):
        raise Refusal("release_bundle_twice", _("Two of the bundles have the same name. Choose one version of each."))


def _retire(release: Release, *, actor: str, at: datetime) -> None:
    release.state = Release.State.RETIRED
    release.save(update_fields=["state"])
    append_event(
        actor=actor,
        action="release.retired",
        subject=release,
        before={"state": "open"},
        after={"state": "retired"},
        at=at,
    )


def models_in_settings() -> list[tuple[str, str, bool]]:
    """The answer model and the judge that a release opened now would fix: title, name, and whether it is offline."""
    answer, judge = _answer_baseline(), _judge_baseline()
    return [
        (_("Answer model"), _model_text(answer), answer["backend"] == "offline"),
        (_("Judge"), _model_text(judge), judge["backend"] == "rules"),
    ]


def _answer_baseline() -> dict[str, Any]:
    try:
        return answer_baseline(
            base_url=settings.AML_ANSWER_BASE_URL,
            model=settings.AML_ANSWER_MODEL,
            tokenizer=settings.AML_ANSWER_TOKENIZER,
        )
    except CounterMissing as error:
        raise Refusal("tokenizer_missing", str(error)) from error


def _judge_baseline(metrics: Mapping[str, str] | None = None) -> dict[str, Any]:
    return judge_baseline(base_url=settings.AML_JUDGE_BASE_URL, model=settings.AML_JUDGE_MODEL, metrics=metrics)


def _metric(bundle: Bundle) -> str:
    """A release that has a judge model scores by the dataset's judge, any other by the bundle's own metric."""
    return DATASETS[bundle.dataset].scored_by(bundle.metric, has_judge=bool(settings.AML_JUDGE_BASE_URL))


def _smoke_baseline(bundle: Bundle) -> dict[str, Any]:
    keys = list(bundle.smoke_scopes) or [next(iter(scopes_of(bundle))).key]
    questions = sum(len(scope.questions) for scope in scopes_of(bundle, only=keys))
    return {
        "bundle": bundle.name,
        "digest": bundle.digest,
        "metric": _metric(bundle),
        "scopes": keys,
        "counts": {"scopes": len(keys), "questions": questions},
    }


def _paths(tree: dict[str, Any], prefix: str = "") -> Iterator[str]:
    for name, value in tree.items():
        if isinstance(value, dict) and value:
            yield from _paths(value, f"{prefix}{name}/")
        else:
            yield f"{prefix}{name}"


def _at_path(tree: Any, path: str) -> Any:
    for name in path.split("/"):
        tree = tree.get(name) if isinstance(tree, dict) else None
    return tree


def _shown(value: Any) -> str:
    return "–" if value in (None, {}) else str(value)


def _prompt_pairs(baseline: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The judges by bundle, how tokens are counted, and the prompt files by hash, where a model is asked."""
    answer, judge = baseline.get("answer", {}), baseline.get("judge", {})
    if judge.get("judges"):
        yield _("Judges"), ", ".join(f"{bundle}: {name}" for bundle, name in judge["judges"].items())
    if answer.get("prompts") and (counter := answer.get("counter")):
        yield _("Tokens counted by"), " ".join(filter(None, (counter["id"], counter["sha256"][:12])))
    for title, part in ((_("Answer prompts"), answer), (_("Judge prompts"), judge)):
        if prompts := part.get("prompts"):
            yield title, ", ".join(f"{name} {digest[:12]}" for name, digest in sorted(prompts.items()))


def _model_text(part: dict[str, Any]) -> str:
    host = part.get("base_url_host")
    return f"{part.get('model', '')} ({host})" if host else str(part.get("model", ""))
