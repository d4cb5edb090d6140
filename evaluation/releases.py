"""The frozen baseline that all runs of a board share: what it holds, how it opens, whether we still match it."""

from collections.abc import Iterator, Sequence
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
from evaluation.pipeline.baseline import (
    TOP_K,
    answer_baseline,
    canonical_digest,
    contract_code_hash,
    judge_baseline,
    pipeline_code_hash,
)
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
    return {
        "answer": _answer_baseline(),
        "judge": _judge_baseline(),
        "metrics": {bundle.name: _metric(bundle) for bundle in bundles},
        "limits": {"top_k": TOP_K},
        "bundles": {bundle.name: {"digest": bundle.digest, "counts": bundle.counts} for bundle in bundles},
        "smoke": _smoke_baseline(smoke_bundle),
        "code": pipeline_code_hash(),
        "contract": contract_code_hash(),
    }


def open_release(
    *, name: str, track: str, bundles: Sequence[Bundle], smoke_bundle: Bundle, actor: str, at: datetime
) -> Release:
    """Freeze the baseline of `track` and open it; the release that was open before is retired.

    Raises Refusal when the name is taken, when there is no bundle, when two bundles share a name, or when somebody
    else opens one at the same moment.
    """
    try:
        return _open(name=name, track=track, bundles=bundles, smoke_bundle=smoke_bundle, actor=actor, at=at)
    except IntegrityError as error:
        raise Refusal("try_again", _("Another change came in between. Try again.")) from error


@transaction.atomic
def _open(
    *, name: str, track: str, bundles: Sequence[Bundle], smoke_bundle: Bundle, actor: str, at: datetime
) -> Release:
    _check_bundles(bundles)
    if Release.objects.filter(name=name).exists():
        raise Refusal("release_name_taken", _("There is a release of this name already. Choose another name."))
    baseline = build_baseline(bundles=bundles, smoke_bundle=smoke_bundle)
    for older in Release.objects.select_for_update().filter(track=track, state=Release.State.OPEN):
        _retire(older, actor=actor, at=at)
    release = Release.objects.create(
        name=name,
        track=track,
        state=Release.State.OPEN,
        smoke_bundle=smoke_bundle,
        baseline=baseline,
        digest=canonical_digest(baseline),
        opened_at=at,
    )
    release.bundles.set(bundles)
    append_event(actor=actor, action="release.opened", subject=release, after={"digest": release.digest}, at=at)
    return release


def current_release(track: str) -> Release | None:
    """The open release of `track`."""
    return Release.objects.filter(track=track, state=Release.State.OPEN).first()


def compare_baseline(release: Release) -> list[Difference]:
    """In what this installation, as it runs now, differs from what `release` froze. Reads no dataset file."""
    now = {
        "answer": _answer_baseline(),
        "judge": _judge_baseline(),
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
    return answer_baseline(base_url=settings.AML_ANSWER_BASE_URL, model=settings.AML_ANSWER_MODEL)


def _judge_baseline() -> dict[str, Any]:
    return judge_baseline(base_url=settings.AML_JUDGE_BASE_URL, model=settings.AML_JUDGE_MODEL)


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


def _model_text(part: dict[str, Any]) -> str:
    host = part.get("base_url_host")
    return f"{part.get('model', '')} ({host})" if host else str(part.get("model", ""))
