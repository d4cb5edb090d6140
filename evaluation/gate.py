"""The publication gate: named checks with what was expected and found, the same for team and reviewer."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from django.db.models import Count
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from benchmarks.models import Bundle
from evaluation.backends import is_same_model
from evaluation.models import Answer, Item, Job, Judgement, PublicationReview, Release, Result
from evaluation.pipeline.baseline import RULES_ID
from evaluation.releases import current_release
from submissions.models import Version

TITLES: Final[Mapping[str, str | Promise]] = {
    "mode": _("It is a full evaluation"),
    "tasks": _("Every task succeeded"),
    "answer_model": _("Answer model"),
    "judge_model": _("Judge model"),
    "contract": _("Evaluation contract"),
    "code": _("Pipeline code and prompts"),
    "bundles": _("Dataset bundles"),
    "counts": _("Question counts"),
    "results": _("No result is missing or double"),
    "unique": _("The result was not submitted before"),
    "version": _("The version is unchanged"),
}


@dataclass(frozen=True, slots=True)
class GateCheck:
    """One check: `observed` and `expected` are short texts made of codes and values, as programs and the audit read
    them; `title`, `found` and `wanted` are for people."""

    name: str
    passed: bool
    observed: str
    expected: str

    @property
    def title(self) -> str | Promise:
        """What the check asks, in the reader's language."""
        return TITLES.get(self.name, self.name)

    @property
    def found(self) -> str:
        """`observed` in the reader's language."""
        return _told(self.name, self.observed)

    @property
    def wanted(self) -> str:
        """`expected` in the reader's language."""
        return _told(self.name, self.expected)

    def as_json(self) -> dict[str, Any]:
        """The check as it is kept with a review."""
        return asdict(self)


_WORDS: Final[Mapping[str, str | Promise]] = {
    **{str(value): label for kind in (Item.State, Version.State, Job.State, Job.Mode) for value, label in kind.choices},
    "unique": _("unique"),
    "unchanged since the run began": _("unchanged since the run began"),
    "changed since the run began": _("changed since the run began"),
    "questions": _("questions"),
    "retrievals": _("retrievals"),
    "answers": _("answers"),
    "judgements": _("judgements"),
    "in the result": _("in the result"),
}
"""What checks say in codes; the rest of their texts are names, numbers and hashes."""
_CODES: Final = re.compile(rf"\b(?:{'|'.join(sorted(_WORDS, key=len, reverse=True))})\b")
_SAID_IN_CODES: Final = frozenset({"mode", "tasks", "results", "version"})


def _told(name: str, text: str) -> str:
    """`text` of a check with its codes put into words. Names of models, bundles and versions stay as they are."""
    if name in _SAID_IN_CODES:
        return _CODES.sub(lambda code: str(_WORDS[code[0]]), text)
    return str(_WORDS[text]) if name == "unique" and text in _WORDS else text


def check_publication(job: Job) -> list[GateCheck]:
    """Run every check on a job. The order is fixed; a board takes only jobs that pass them all."""
    return [check(job) for check in _CHECKS]


def read_checks(stored: list[dict[str, Any]]) -> list[GateCheck]:
    """Checks as they were kept with a review."""
    return [GateCheck(**check) for check in stored]


def passes(checks: list[GateCheck]) -> bool:
    """Whether all checks passed; no check at all is no pass."""
    return bool(checks) and all(check.passed for check in checks)


def _mode(job: Job) -> GateCheck:
    return GateCheck("mode", job.mode == Job.Mode.FULL, job.mode, Job.Mode.FULL.value)


def _tasks(job: Job) -> GateCheck:
    states = dict(job.items.order_by().values_list("state").annotate(Count("id")))
    total = sum(states.values())
    scored = states.get(Item.State.SCORED, 0)
    observed = f"{job.state}, {scored}/{total} scored"
    others = ", ".join(f"{count} {state}" for state, count in sorted(states.items()) if state != Item.State.SCORED)
    passed = job.state == Job.State.SUCCEEDED and total > 0 and scored == total
    return GateCheck(
        "tasks", passed, f"{observed}; {others}" if others else observed, f"succeeded, {total}/{total} scored"
    )


def _answer_model(job: Job) -> GateCheck:
    expected = str(job.release.baseline.get("answer", {}).get("model", ""))
    found = Answer.objects.filter(item__job=job).order_by().values_list("model", flat=True).distinct()
    return _one_model("answer_model", found, expected)


def _judge_model(job: Job) -> GateCheck:
    """Rules name no model in a judgement; a judge's name stands in each of its judgements."""
    judge: Mapping[str, Any] = job.release.baseline.get("judge", {})
    expected = str(judge.get("model", ""))
    judgements = Judgement.objects.filter(item__job=job, column="main")
    found = judgements.order_by().values_list("model", flat=True).distinct()
    by_rules = judge.get("backend") == "rules"
    return _one_model("judge_model", (name or (RULES_ID if by_rules else "") for name in found), expected)


def _one_model(name: str, models: Iterable[str], expected: str) -> GateCheck:
    found = sorted(set(models))
    passed = bool(expected) and len(found) == 1 and is_same_model(found[0], expected)
    return GateCheck(name, passed, ", ".join(model or "–" for model in found) or "–", expected or "–")


def _contract(job: Job) -> GateCheck:
    release = current_release(job.track)
    expected = f"{release.name} {release.digest[:16]}" if release else "–"
    observed = f"{job.release.name} {job.baseline_digest[:16]}"
    allowed = set(job.release.baseline.get("metrics", {}).values())
    found = set(
        Judgement.objects.filter(item__job=job, column="main").order_by().values_list("metric", flat=True).distinct()
    )
    strange = sorted(found - allowed)
    passed = release is not None and job.baseline_digest == release.digest and bool(found) and not strange
    return GateCheck("contract", passed, f"{observed}; {', '.join(strange)}" if strange else observed, expected)


def _code(job: Job) -> GateCheck:
    expected = str(job.release.baseline.get("code", ""))
    return GateCheck("code", bool(expected) and job.code_sha256 == expected, job.code_sha256[:16] or "–", expected[:16])


def _bundles(job: Job) -> GateCheck:
    frozen: Mapping[str, Any] = job.release.baseline.get("bundles", {})
    expected = {name: str(facts.get("digest", "")) for name, facts in frozen.items()}
    used = set(job.scopes.order_by().values_list("bundle", flat=True).distinct())
    digests = dict(_bundle_digests(job.release))
    observed = {name: digests.get(name, "") for name in used}
    return GateCheck("bundles", bool(expected) and observed == expected, _short(observed), _short(expected))


def _bundle_digests(release: Release) -> list[tuple[str, str]]:
    return list(Bundle.objects.filter(releases=release).values_list("name", "digest"))


def _counts(job: Job) -> GateCheck:
    frozen: Mapping[str, Any] = job.release.baseline.get("bundles", {})
    expected = {name: facts.get("counts", {}).get("questions", 0) for name, facts in frozen.items()}
    observed = dict(job.items.order_by().values_list("scope__bundle").annotate(Count("id")))
    return GateCheck("counts", bool(expected) and observed == expected, _plain(observed), _plain(expected))


def _results(job: Job) -> GateCheck:
    items = job.items.count()
    counts = {
        "questions": job.items.order_by().values("question_key", "step").distinct().count(),
        "retrievals": job.items.filter(retrieval__isnull=False).count(),
        "answers": Answer.objects.filter(item__job=job).count(),
        "judgements": Judgement.objects.filter(item__job=job, column="main").count(),
        "in the result": Result.objects.filter(job=job).values_list("n", flat=True).first() or 0,
    }
    passed = items > 0 and set(counts.values()) == {items}
    return GateCheck("results", passed, _plain(counts), _plain(dict.fromkeys(counts, items)))


def _unique(job: Job) -> GateCheck:
    """A team hands in a result once; the same scores from another team are named to the reviewer, not refused."""
    digest = Result.objects.filter(job=job).values_list("digest", flat=True).first()
    same = Job.objects.filter(
        result__digest=digest,
        result__digest__gt="",
        cycle=job.cycle,
        track=job.track,
        mode=Job.Mode.FULL,
        runner=Job.Runner.PARTICIPANT,
        review__state__in=[PublicationReview.State.PENDING, PublicationReview.State.APPROVED],
    )
    same = same.exclude(pk=job.pk).select_related("version__system").order_by("created_at")
    own = [other for other in same if other.lineage == job.lineage]
    observed = "; ".join(f"{other.version} ({other.created_at:%Y-%m-%d})" for other in same)
    return GateCheck("unique", digest is not None and not own, observed or "unique", "unique")


def _version(job: Job) -> GateCheck:
    """Addresses of an approved version never change; its secret may, and then the run shows another system perhaps."""
    version = job.version
    changed = version.endpoint_changed_at >= job.created_at
    observed = f"{version.state}, {'changed since the run began' if changed else 'unchanged since the run began'}"
    passed = version.state == Version.State.APPROVED and not changed
    return GateCheck("version", passed, observed, "approved, unchanged since the run began")


_CHECKS: Final[tuple[Callable[[Job], GateCheck], ...]] = (
    _mode,
    _tasks,
    _answer_model,
    _judge_model,
    _contract,
    _code,
    _bundles,
    _counts,
    _results,
    _unique,
    _version,
)


def _short(digests: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {digest[:12]}" for name, digest in sorted(digests.items())) or "–"


def _plain(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(counts.items())) or "–"
