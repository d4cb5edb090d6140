"""Holds the project's own suites to their purpose: no memory below plain search, and that not above the evidence."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import fsum
from random import Random
from typing import Final

from django.utils import timezone
from rich.box import SIMPLE
from rich.table import Table

from aml.demo import prepare
from aml.demo.road import RoadBlocked, Traveller, approve, check_counts
from aml.demo.screen import Screen
from aml.demo.show import Plan, start_programs
from aml.processes import Fleet, StartFailed
from benchmarks.datasets.registry import DATASETS
from benchmarks.models import Bundle
from benchmarks.services import register_own_suites
from evaluation.arms.selectors import scores_of
from evaluation.models import ArmRun, Item, Job
from evaluation.releases import open_release
from submissions.models import Track
from submissions.refusals import Refusal

PORTAL = "reference server"
"""The name of the run over the wire, beside the arms."""
DRAWS: Final = 2000
SEED: Final = 7
_COLUMNS: Final = {
    ArmRun.Arm.NO_MEMORY: "no\nmemory",
    ArmRun.Arm.FULL_CONTEXT: "full\ncontext",
    ArmRun.Arm.BM25: "BM25",
    ArmRun.Arm.ORACLE: "oracle",
    PORTAL: "reference\nserver",
}


@dataclass(frozen=True, slots=True)
class Mark:
    """A mean over answerable questions, 0 to 1, with its 95% interval."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class SuiteLine:
    """What a suite came to. `marks` is by arm, without `oracle` where no question names its evidence."""

    suite: str
    n: int
    answerable: int
    scopes: int
    marks: dict[str, Mark]

    def problems(self) -> list[str]:
        """In what the order does not hold, as sentences; empty where all is well."""
        low, middle = self.marks[ArmRun.Arm.NO_MEMORY], self.marks[ArmRun.Arm.BM25]
        top = self.marks.get(ArmRun.Arm.ORACLE)
        found = []
        if not low.mean < middle.mean:
            found.append("no-memory is not below BM25")
        if top is not None and not middle.mean <= top.mean:
            found.append("BM25 is above the oracle")
        if not low.high < (top or middle).low:
            found.append(f"the intervals of no-memory and {'oracle' if top else 'BM25'} overlap")
        return found


def run(plan: Plan, names: Sequence[str]) -> int:
    """Evaluate the suites, print the table, and return the exit code."""
    screen = Screen()
    with Fleet() as fleet:
        try:
            traveller, bundles = _begin(plan, names, fleet, screen)
            lines = [_measure(traveller, bundle, screen) for bundle in bundles]
        except (StartFailed, RoadBlocked) as error:
            screen.stopped(str(error))
            return 1
        except Refusal as error:
            screen.stopped(f"{error.message} ({error.code})")
            return 1
    _show(lines, screen)
    return 1 if any(line.problems() for line in lines) else 0


def _begin(plan: Plan, names: Sequence[str], fleet: Fleet, screen: Screen) -> tuple[Traveller, list[Bundle]]:
    """A portal with a participant whose smoke test has passed, and the suites to evaluate."""
    with screen.step("Prepare the database and register the suites"):
        prepare.prepare_database()
        cycle = prepare.open_cycle()
        bundles = _chosen(names)
        screen.note(", ".join(bundle.name for bundle in bundles))
    start_programs(plan, fleet, screen)
    traveller = Traveller(plan.site, plan.server, plan.server_key, cycle, is_reference=True)
    with screen.step("Request access, approve it, claim the key, pass the smoke test"):
        access_request = traveller.request_access()
        approve(access_request)
        traveller.claim(access_request)
        prepare.open_demo_release(None, "")
        traveller.start(Job.Mode.SMOKE, label="smoke")
        traveller.finish(lambda stage, done, total: None)
    return traveller, bundles


def _chosen(names: Sequence[str]) -> list[Bundle]:
    own = {bundle.name: bundle for bundle in register_own_suites(actor=prepare.ACTOR, at=timezone.now())}
    textual = {name: bundle for name, bundle in own.items() if DATASETS[bundle.dataset].track == Track.TEXTUAL}
    unknown = sorted(set(names) - textual.keys())
    if unknown:
        raise RoadBlocked(f"There is no textual suite {', '.join(unknown)}. There are: {', '.join(textual)}.")
    return [textual[name] for name in names or sorted(textual)]


def _measure(traveller: Traveller, bundle: Bundle, screen: Screen) -> SuiteLine:
    """A full evaluation through the portal, and the arms beside it, under one release of the suite."""
    with screen.step(f"Evaluate {bundle.name}"):
        release = open_release(
            name=f"suite-{bundle.name}",
            track=Track.TEXTUAL,
            bundles=[bundle],
            smoke_bundle=bundle,
            actor=prepare.ACTOR,
            at=timezone.now(),
        )
        traveller.start(Job.Mode.FULL, label=release.name)
        arms = prepare.run_reference_arms(release)
        job = traveller.finish(lambda stage, done, total: None)
        check_counts(job)
        line = SuiteLine(
            suite=bundle.name,
            n=job.result.n,
            answerable=int(job.result.answerable["n"]),
            scopes=int(bundle.counts["scopes"]),
            marks={run.arm: mark for run in arms if (mark := _arm_mark(run))} | {PORTAL: _portal_mark(job)},
        )
        screen.note(f"{line.n:,} questions in {line.scopes:,} scopes, {'; '.join(line.problems()) or 'in order'}")
    return line


def _arm_mark(run: ArmRun) -> Mark | None:
    scores = [score for score in scores_of(run.pk) if score.answerable]
    if run.arm == ArmRun.Arm.ORACLE and not any(score.has_evidence for score in scores):
        return None
    return _mark((score.cluster, score.score) for score in scores)


def _portal_mark(job: Job) -> Mark:
    rows = Item.objects.filter(job=job, answerable=True).order_by("question_key", "step")
    scored = rows.values_list("scope__ordinal", "score")
    return _mark((str(scope), score) for scope, score in scored if score is not None)


def _mark(scored: Iterable[tuple[str, float]]) -> Mark:
    clusters: defaultdict[str, list[float]] = defaultdict(list)
    for cluster, score in scored:
        clusters[cluster].append(score)
    scores = [score for part in clusters.values() for score in part]
    return Mark(fsum(scores) / len(scores), *_interval(list(clusters.values())))


def _interval(clusters: Sequence[Sequence[float]]) -> tuple[float, float]:
    """The 95% percentile interval of the mean where whole clusters are drawn; the same draws in every run."""
    draw = Random(SEED)  # noqa: S311 - statistics
    parts = [(fsum(scores), len(scores)) for scores in clusters]
    means = []
    for _ in range(DRAWS):
        drawn = draw.choices(parts, k=len(parts))
        means.append(fsum(total for total, _ in drawn) / sum(count for _, count in drawn))
    means.sort()
    return means[round(0.025 * (DRAWS - 1))], means[round(0.975 * (DRAWS - 1))]


def _show(lines: Sequence[SuiteLine], screen: Screen) -> None:
    """The table, in 80 columns: means above their intervals, and what is out of order in sentences below it."""
    title = "Answerable questions: mean, and its 95% interval over scopes"
    table = Table(title=title, title_justify="left", box=SIMPLE, pad_edge=False)
    table.add_column("suite\nanswerable", no_wrap=True)
    for name in _COLUMNS.values():
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("order", no_wrap=True)
    for line in lines:
        marks = (line.marks.get(name) for name in _COLUMNS)
        table.add_row(
            f"{line.suite}\n{line.answerable:,} of {line.n:,}",
            *(_text(mark) if mark else "no\nevidence" for mark in marks),
            "no" if line.problems() else "holds",
        )
    screen.console.print(table)
    for line in lines:
        for problem in line.problems():
            screen.console.print(f"[red]{line.suite}[/]: {problem}")


def _text(mark: Mark) -> str:
    return f"{100 * mark.mean:.2f}\n{100 * mark.low:.1f}–{100 * mark.high:.1f}"
