"""What a job asks: the bundles of its release, their scopes in order, and the plan of each."""

from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.datasets.model import Scope
from benchmarks.models import Bundle
from benchmarks.selectors import BundleError, scopes_of
from evaluation.faults import PlatformFault
from evaluation.models import Job
from evaluation.pipeline.ids import RunIds
from evaluation.pipeline.plan import Planned, plan_scope

__all__ = ["JobSuite", "Part", "SuiteScope"]


@dataclass(frozen=True, slots=True)
class Part:
    """A bundle in a job. `only` are the keys of the scopes that it takes part with, None for all."""

    bundle: Bundle
    only: frozenset[str] | None
    metric: str


@dataclass(frozen=True, slots=True)
class SuiteScope:
    """A scope with its number in the job, counted from 0 over all bundles."""

    ordinal: int
    part: Part
    scope: Scope


class JobSuite:
    """Reads a job's suite from its frozen release. Raises PlatformFault when what was frozen is not what is there."""

    def __init__(self, job: Job) -> None:
        self._ids = RunIds(job.pk.hex, bytes(job.id_key) if job.mode == Job.Mode.FULL else None)
        self._baseline = job.release.baseline
        self.top_k = int(self._baseline["limits"]["top_k"])
        if job.baseline_digest != job.release.digest:
            raise PlatformFault("plan_changed", f"expected {job.baseline_digest}, got {job.release.digest}")
        self.parts = self._smoke(job) if job.mode == Job.Mode.SMOKE else self._full(job)

    def scopes(self) -> Iterator[SuiteScope]:
        """Yield every scope, bundle by bundle; the order is always the same."""
        ordinal = 0
        for part in self.parts:
            try:
                for scope in scopes_of(part.bundle, only=part.only):
                    yield SuiteScope(ordinal, part, scope)
                    ordinal += 1
            except BundleError as error:
                raise PlatformFault("dataset_changed", str(error)) from error

    def plan(self, scope: SuiteScope) -> Iterator[Planned]:
        """The scope's Adds and Searches, in order."""
        return plan_scope(scope.scope, dataset=scope.part.bundle.name, ids=self._ids, top_k=self.top_k)

    def user_id(self, scope: SuiteScope) -> str:
        """The id under which the scope is one user's."""
        return self._ids.user_id(scope.part.bundle.name, scope.scope.key)

    def _full(self, job: Job) -> list[Part]:
        frozen = self._baseline["bundles"]
        bundles = {bundle.name: bundle for bundle in job.release.bundles.all()}
        if {name: bundle.digest for name, bundle in bundles.items()} != {n: f["digest"] for n, f in frozen.items()}:
            raise PlatformFault("plan_changed", "the release holds other bundles than it was opened with")
        return [Part(bundles[name], None, self._baseline["metrics"][name]) for name in sorted(bundles)]

    def _smoke(self, job: Job) -> list[Part]:
        smoke, bundle = self._baseline["smoke"], job.release.smoke_bundle
        if (bundle.name, bundle.digest) != (smoke["bundle"], smoke["digest"]):
            raise PlatformFault("plan_changed", "the release has another smoke bundle than it was opened with")
        return [Part(bundle, frozenset(smoke["scopes"]), smoke.get("metric", bundle.metric))]
