"""The frozen baseline that all runs of a board share: what it holds, how it opens, whether we still match it."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.db import transaction
from django.utils.translation import gettext as _

from benchmarks.judging.judge import ChatJudge
from benchmarks.judging.judge import prompt_hashes as judge_prompts
from benchmarks.models import Bundle
from benchmarks.selectors import scopes_of
from evaluation.models import Release
from evaluation.pipeline.answering.chat import ChatAnswerer
from evaluation.pipeline.answering.chat import prompt_hashes as answer_prompts
from evaluation.pipeline.answering.offline import OfflineAnswerer
from submissions.audit import append_event
from submissions.refusals import Refusal

TOP_K = 100
SEED = 7
MAX_TOKENS = 256
TOKEN_BUDGET = 8000
RULES_ID = "rules"

# What decides a score: from the dataset's bytes over the requests and the reading of responses to the aggregation.
_CODE = (
    "contract",
    "benchmarks/datasets",
    "benchmarks/scoring",
    "benchmarks/judging",
    "evaluation/pipeline",
    "evaluation/aggregation.py",
    "evaluation/backends.py",
    "evaluation/door.py",
    "evaluation/itemledger.py",
    "evaluation/ledger.py",
    "evaluation/slices.py",
    "evaluation/suites.py",
)
_NOT_CODE = ("contract/reference/", "contract/faulty/")
_CODE_SUFFIXES = {".py", ".txt"}


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing in which this installation is not what the release froze. `name` is a path like `answer.model`."""

    name: str
    frozen: str
    now: str


def canonical_digest(value: Any) -> str:
    """SHA-256, in hexadecimal, of `value` as JSON with sorted keys and no spaces."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


@cache
def pipeline_code_hash() -> str:
    """SHA-256 over the names and bytes of the files that decide a score; read once, like the modules themselves."""
    return _hash_files(_code_files())


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
        "contract": _hash_files(
            path for path in _code_files() if path.relative_to(settings.BASE_DIR).parts[0] == "contract"
        ),
    }


@transaction.atomic
def open_release(
    *, name: str, track: str, bundles: Sequence[Bundle], smoke_bundle: Bundle, actor: str, at: datetime
) -> Release:
    """Freeze the baseline of `track` and open it; the release that was open before is retired.

    Raises Refusal when the name is taken, when there is no bundle, or when two bundles share a name.
    """
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


def describe_baseline(release: Release) -> list[tuple[str, str]]:
    """The baseline as pairs of a label and a value, for pages and the admin."""
    baseline = release.baseline
    bundles = baseline.get("bundles", {})
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


def _answer_baseline() -> dict[str, Any]:
    online = bool(settings.AML_ANSWER_BASE_URL)
    return {
        "backend": "openai" if online else "offline",
        "id": ChatAnswerer.id if online else OfflineAnswerer.id,
        "model": settings.AML_ANSWER_MODEL if online else OfflineAnswerer.id,
        "base_url_host": urlsplit(settings.AML_ANSWER_BASE_URL).hostname or "",
        "prompts": dict(answer_prompts()) if online else {},
        "temperature": 0,
        "seed": SEED,
        "max_tokens": MAX_TOKENS,
        "token_budget": TOKEN_BUDGET,
    }


def _judge_baseline() -> dict[str, Any]:
    online = bool(settings.AML_JUDGE_BASE_URL)
    return {
        "backend": "openai" if online else "rules",
        "id": ChatJudge.id if online else RULES_ID,
        "model": settings.AML_JUDGE_MODEL if online else RULES_ID,
        "base_url_host": urlsplit(settings.AML_JUDGE_BASE_URL).hostname or "",
        "prompts": dict(judge_prompts()) if online else {},
    }


def _metric(bundle: Bundle) -> str:
    """A release that has a judge scores by it, any other by the bundle's own metric."""
    return ChatJudge.id if settings.AML_JUDGE_BASE_URL else bundle.metric


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


def _code_files() -> Iterator[Path]:
    for place in _CODE:
        path = settings.BASE_DIR / place
        found = [path] if path.is_file() else sorted(path.rglob("*"))
        for file in found:
            relative = file.relative_to(settings.BASE_DIR).as_posix()
            if file.is_file() and file.suffix in _CODE_SUFFIXES and not relative.startswith(_NOT_CODE):
                yield file


def _hash_files(paths: Iterator[Path]) -> str:
    digest = hashlib.sha256()
    for path in paths:
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        digest.update(f"{path.relative_to(settings.BASE_DIR).as_posix()} {content}\n".encode())
    return digest.hexdigest()


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
