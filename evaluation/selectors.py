"""Reads that the pages, the API and the admin share: a run as it stands, its results, receipts and questions."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from django.db.models import Avg, Count, Max, QuerySet
from django.utils.functional import Promise
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from benchmarks.titles import capability_title, category_title
from contract.auth import AuthScheme, auth_header
from evaluation.failures import failure_text
from evaluation.gate import GateCheck, read_checks
from evaluation.models import Item, Job, PublicationReview, Receipt, Result, StageProgress
from evaluation.quotas import Allowance, next_submission, was_refunded
from submissions.models import LeaderboardKey, Track, Version

STALLED_AFTER: Final = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class StageStatus:
    """A stage of a run. `rate` is units a second, `eta_s` seconds to its end; None while they can't be told."""

    code: str
    title: str
    state: str
    word: str
    done: int
    total: int
    retries: int
    rate: float | None
    eta_s: float | None
    is_current: bool
    note: str = ""

    @property
    def rate_text(self) -> str:
        """The rate with one decimal."""
        return f"{self.rate:,.1f}" if self.rate is not None else ""


@dataclass(frozen=True, slots=True)
class JobStatus:
    """A run as it stands at one moment. `queue_position` counts from 1, and is None for a run that is not queued."""

    job: Job
    stages: list[StageStatus]
    queue_position: int | None
    is_stalled: bool
    at: datetime

    @property
    def current(self) -> StageStatus | None:
        """The stage that goes on now."""
        return next((stage for stage in self.stages if stage.is_current), None)

    @property
    def retries(self) -> int:
        """Attempts beyond the first, over all stages."""
        return sum(stage.retries for stage in self.stages)


_STAGE_WORDS: Final[dict[str, Promise]] = {
    "waiting": gettext_lazy("waiting"),
    "running": gettext_lazy("running"),
    "done": gettext_lazy("done"),
    "stopped": gettext_lazy("stopped"),
    "skipped": gettext_lazy("not reached"),
}


def job_status(job: Job, at: datetime) -> JobStatus:
    """The stages of `job` in their order, with rate and time to go, and its place in the queue."""
    progress = {row.stage: row for row in job.progress.all()}
    stages = [_stage(job, stage, progress.get(stage), at) for stage in Job.Stage.values]
    stalled = job.state == Job.State.RUNNING and job.heartbeat_at is not None and job.heartbeat_at < at - STALLED_AFTER
    return JobStatus(job, stages, _queue_position(job), stalled, at)


def _stage(job: Job, stage: str, row: StageProgress | None, at: datetime) -> StageStatus:
    done, total = (row.done, row.total) if row else (0, 0)
    state = _stage_state(job, stage, row)
    rate, eta_s = _pace(row, at) if state == "running" else (None, None)
    return StageStatus(
        code=stage,
        title=str(capfirst(Job.Stage(stage).label)),
        state=state,
        word=str(_STAGE_WORDS[state]),
        done=done,
        total=total,
        retries=row.retries if row else 0,
        rate=rate,
        eta_s=eta_s,
        is_current=state == "running",
        note=_stage_note(row.retries if row else 0),
    )


def _stage_note(retries: int) -> str:
    if not retries:
        return ""
    return ngettext("%(count)d retry", "%(count)d retries", retries) % {"count": retries}


def _stage_state(job: Job, stage: str, row: StageProgress | None) -> str:
    order = Job.Stage.values
    if job.state == Job.State.SUCCEEDED or (row is not None and row.total > 0 and row.done >= row.total):
        return "done"
    if order.index(stage) < order.index(job.stage):
        return "done"
    if job.state == Job.State.RUNNING and stage == job.stage:
        return "running"
    if job.is_active:
        return "waiting"
    return "stopped" if stage == job.stage and job.started_at is not None else "skipped"


def _pace(row: StageProgress | None, at: datetime) -> tuple[float | None, float | None]:
    if row is None or row.started_at is None or not row.done:
        return None, None
    elapsed = (at - row.started_at).total_seconds()
    if elapsed <= 0:
        return None, None
    rate = row.done / elapsed
    return rate, (row.total - row.done) / rate if row.total else None


def _queue_position(job: Job) -> int | None:
    if job.state != Job.State.QUEUED:
        return None
    return Job.objects.filter(state=Job.State.QUEUED, created_at__lt=job.created_at).count() + 1


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a run failed, for people; `got` is a quotation without translation.

    `where` is the place in the answer, such as ``data[3].id``. `kind`, `request_id`, `user_id` and `question` name the
    call: a Search has no request id, but a question, numbered as on the page of the run's questions. `sent` says how
    the platform proved itself where the server did not believe it, without the key.
    """

    code: str
    title: str
    expected: str
    got: str
    advice: str
    http_status: int | None
    kind: str
    request_id: str
    user_id: str
    question: str
    where: str
    sent: str
    blame: str


def failure_of(job: Job) -> Failure | None:
    """Why `job` failed; None when it did not."""
    if job.state != Job.State.FAILED:
        return None
    text = failure_text(job.failure_code, platform=job.blame == Job.Blame.PLATFORM)
    detail = job.failure_detail
    return Failure(
        code=job.failure_code,
        title=str(text.title),
        expected=str(text.expected),
        got=str(detail.get("got", ""))[:300],
        advice=str(text.advice),
        http_status=detail.get("http_status"),
        kind=str(detail.get("kind", "")),
        request_id=str(detail.get("request_id", "")),
        user_id=str(detail.get("user_id", "")),
        question=str(detail.get("question", "")),
        where=str(detail.get("where", "")),
        sent=_credential_text(job) if job.failure_code in _NOT_BELIEVED else "",
        blame=job.blame,
    )


_NOT_BELIEVED: Final = frozenset({"auth_failed", "access_denied"})


def _credential_text(job: Job) -> str:
    """The header that carried the Memory System Key of the run's version, by name and scheme."""
    header = auth_header(AuthScheme(job.version.auth_scheme), "")
    if header is None:
        return _("No key: version %(version)s declares no authentication.") % {"version": job.version.label}
    words = _(
        "%(header)s, with the Memory System Key of version %(version)s. Compare both with your server's settings."
    )
    return words % {"header": ": ".join(header).rstrip(": "), "version": job.version.label}


@dataclass(frozen=True, slots=True)
class ScorePart:
    """A part of a result: a score of 0 to 1 beside its number of questions."""

    code: str
    title: str
    score: float | None
    n: int


@dataclass(frozen=True, slots=True)
class ResultParts:
    """A result taken apart by category, capability and dataset."""

    result: Result
    answerable: ScorePart | None
    categories: list[ScorePart] = field(default_factory=list)
    capabilities: list[ScorePart] = field(default_factory=list)
    datasets: list[ScorePart] = field(default_factory=list)


def result_of(job: Job) -> ResultParts | None:
    """The result of `job`, its parts named in the reader's language; None while there is none."""
    result = Result.objects.filter(job=job).first()
    if result is None:
        return None
    answerable = _parts({"answerable": result.answerable}, lambda code: _("Answerable questions"))
    return ResultParts(
        result=result,
        answerable=answerable[0] if result.answerable else None,
        categories=_parts(result.categories, category_title),
        capabilities=_parts(result.capabilities, capability_title),
        datasets=_parts(result.datasets, str),
    )


def _parts(parts: dict[str, Any], title_of: Callable[[str], str]) -> list[ScorePart]:
    return [
        ScorePart(code, title_of(code), facts.get("score"), int(facts.get("n", 0)))
        for code, facts in sorted(parts.items())
    ]


def receipts_summary(job: Job) -> list[dict[str, Any]]:
    """Attempts of `job` by kind, HTTP status, verdict and reason, with mean and longest latency in ms."""
    groups = job.receipts.order_by().values("kind", "http_status", "verdict", "reason_code")
    summed = groups.annotate(count=Count("id"), mean_ms=Avg("latency_ms"), max_ms=Max("latency_ms"))
    return [dict(row) for row in summed.order_by("kind", "-count", "reason_code")]


def receipts_of(job: Job) -> QuerySet[Receipt]:
    """Every attempt of `job`, in order."""
    return job.receipts.select_related("event").order_by("id")


def items_of(job: Job, *, state: str = "") -> QuerySet[Item]:
    """The questions of `job` in the order of their scopes; nothing of the dataset's own text or answers is read."""
    items = job.items.select_related("scope", "retrieval").defer("retrieval__memories")
    if state in Item.State.values:
        items = items.filter(state=state)
    return items.order_by("scope__ordinal", "ordinal")


def checks_of(job: Job) -> list[GateCheck]:
    """The gate's checks as they stand with the review of `job`; empty when it has none."""
    review = PublicationReview.objects.filter(job=job).first()
    return read_checks(review.checks) if review else []


@dataclass(frozen=True, slots=True)
class Quota:
    """What a key may still do on a track in a mode."""

    track: str
    track_title: str
    mode: str
    mode_title: str
    allowance: Allowance

    def as_json(self) -> dict[str, Any]:
        """The quota as the API gives it."""
        facts = asdict(self.allowance)
        facts["next_at"] = self.allowance.next_at.isoformat() if self.allowance.next_at else None
        return {"track": self.track, "mode": self.mode, **facts}


def quotas_of(key: LeaderboardKey, at: datetime) -> list[Quota]:
    """The quotas of `key` for each track that its versions are entered for, smoke before full."""
    return [
        Quota(
            track,
            str(Track(track).label),
            mode,
            str(capfirst(Job.Mode(mode).label)),
            next_submission(key=key, track=track, mode=mode, at=at),
        )
        for track in tracks_of(key)
        for mode in Job.Mode.values
    ]


def tracks_of(key: LeaderboardKey) -> list[str]:
    """The tracks of the key's cycle for which at least one of its versions is entered, in the cycle's order."""
    entered = {track for version in Version.objects.for_key(key) for track in version.tracks}
    return [track for track in key.cycle.tracks if track in entered and track in Track.values]


def slot_word(job: Job) -> str:
    """What became of the slot of `job`: spent, refunded, or none (a run of the platform)."""
    if job.runner == Job.Runner.PLATFORM:
        return "none"
    return "refunded" if was_refunded(job) else "spent"
