"""How a run's concurrency followed its server: the changes of a stage as a drawing, and the latest as rows.

An entry whose number is that of the one before it tells of trouble that kept concurrency from growing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.utils.functional import Promise
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from evaluation.models import Job, StageProgress

__all__ = ["ThrottleChange", "ThrottleHistory", "throttle_histories", "throttle_payload"]

WIDTH, HEIGHT = 400, 90
SHOWN = 12

_CAUSES: Final[dict[str, Promise]] = {
    "busy": gettext_lazy("HTTP 429: the server was busy"),
    "failing": gettext_lazy("the server answered with an error that is tried again"),
    "silent": gettext_lazy("no whole answer: a time-out or a broken connection"),
    "well": gettext_lazy("all was well"),
}


@dataclass(frozen=True, slots=True)
class ThrottleChange:
    """From `at` on, `lanes` calls went out at once."""

    at: datetime
    lanes: int
    cause: str


@dataclass(frozen=True, slots=True)
class ThrottleHistory:
    """A stage in which concurrency changed. `latest` are the newest changes, newest first, of `count` in all."""

    stage: str
    title: str
    cap: int
    lanes: int
    count: int
    latest: list[ThrottleChange]
    chart: SafeString


def throttle_histories(job: Job, at: datetime) -> list[ThrottleHistory]:
    """The histories of the stages of `job` that have any; `at` ends one that goes on."""
    return [_history(row, cap, at) for row, cap in _throttled(job)]


def throttle_payload(job: Job) -> list[dict[str, Any]]:
    """The same as JSON values: all changes that are kept, oldest first, each with its cause as a word for machines."""
    return [
        {
            "stage": row.stage,
            "cap": cap,
            "lanes": row.throttle[-1][1],
            "changes": [{"at": when, "lanes": lanes, "cause": cause} for when, lanes, cause in row.throttle],
        }
        for row, cap in _throttled(job)
    ]


def _throttled(job: Job) -> list[tuple[StageProgress, int]]:
    """The stages of `job` that have a history, with their declared caps."""
    caps = {Job.Stage.INGESTION: job.add_concurrency, Job.Stage.RETRIEVAL: job.search_concurrency}
    rows = {row.stage: row for row in job.progress.all()}
    return [(rows[stage], cap) for stage, cap in caps.items() if stage in rows and rows[stage].throttle]


def _history(row: StageProgress, cap: int, at: datetime) -> ThrottleHistory:
    changes = [
        ThrottleChange(datetime.fromisoformat(when), int(lanes), str(_CAUSES.get(cause, cause)))
        for when, lanes, cause in row.throttle
    ]
    title = str(capfirst(Job.Stage(row.stage).label))
    begins, ends = row.started_at or changes[0].at, row.ended_at or at
    return ThrottleHistory(
        stage=row.stage,
        title=title,
        cap=cap,
        lanes=changes[-1].lanes,
        count=len(changes),
        latest=changes[: -SHOWN - 1 : -1],
        chart=_chart(f"throttle-{row.pk}", title, cap, changes, begins, ends),
    )


def _chart(
    name: str, title: str, cap: int, changes: Sequence[ThrottleChange], begins: datetime, ends: datetime
) -> SafeString:
    """Lanes over time as steps, between nothing and the declared cap."""
    span = max((ends - begins).total_seconds(), 0.001)

    def x(moment: datetime) -> str:
        return f"{WIDTH * min(max((moment - begins).total_seconds() / span, 0.0), 1.0):.1f}"

    def y(lanes: int) -> str:
        return f"{HEIGHT - (HEIGHT - 4) * lanes / max(cap, 1):.1f}"

    steps = "".join(f"H{x(change.at)}V{y(change.lanes)}" for change in changes)
    lowest = min(change.lanes for change in changes)
    description = _("%(lowest)d to %(cap)d calls at once, now %(lanes)d.") % {
        "lowest": lowest,
        "cap": cap,
        "lanes": changes[-1].lanes,
    }
    return format_html(
        '<svg class="chart-steps" viewBox="0 0 {width} {height}" role="img" aria-labelledby="{name}-title {name}-desc">'
        '<title id="{name}-title">{title}</title><desc id="{name}-desc">{description}</desc>'
        '<path class="chart-axis" d="M0 {cap}H{width}M0 {height}H{width}"/>'
        '<path class="chart-line" fill="none" stroke="currentColor" d="M0 {cap}{steps}H{width}"/></svg>',
        width=WIDTH,
        height=HEIGHT,
        name=name,
        title=title,
        description=description,
        cap=y(cap),
        steps=steps,
    )
