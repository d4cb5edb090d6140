"""Rows that stand on a board, made by hand: an approved run with its result, and what it hangs on."""

import uuid
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any

from benchmarks.models import Bundle
from evaluation.models import Job, PublicationReview, Release, Result
from evaluation.pipeline.baseline import canonical_digest
from leaderboard.models import Board
from submissions.models import Cycle, LeaderboardKey, System, Team, Version

AT = datetime(2026, 11, 12, 8, 0, tzinfo=UTC)
PRIVATE = "https://add.private.example/secret-path"
"""Stands in fields that the public must never read."""


def make_cycle(slug: str = "cycle-2", **fields: Any) -> Cycle:
    values: dict[str, Any] = {
        "number": 2,
        "name_en": "Cycle 2",
        "name_zh_hans": "第二期",
        "state": Cycle.State.OPEN,
        "tracks": ["textual", "coding"],
        **fields,
    }
    return Cycle.objects.get_or_create(slug=slug, defaults=values)[0]


def make_release(name: str = "textual-1", **fields: Any) -> Release:
    existing = Release.objects.filter(name=name).first()
    if existing:
        return existing
    bundle = Bundle.objects.get_or_create(
        name="own",
        digest="b" * 64,
        defaults={
            "version": "1",
            "title_en": "Own suite",
            "title_zh_hans": "自有题集",
            "origin": Bundle.Origin.OWN,
            "dataset": "locomo",
            "metric": "locomo.f1.v1",
            "folder": "/nowhere",
        },
    )[0]
    baseline = {
        "answer": {"backend": "offline", "model": "offline.extract.v1", "base_url_host": "models.private.example"},
        "judge": {"backend": "rules", "model": "rules", "base_url_host": "models.private.example"},
        "metrics": {"own": "locomo.f1.v1"},
        "limits": {"top_k": 100},
        "bundles": {"own": {"digest": "b" * 64, "counts": {"questions": 60, "by_category": {"1": 12}}}},
        "code": "c" * 64,
        "contract": "d" * 64,
        "name": name,
    }
    release = Release.objects.create(
        name=name,
        track=fields.pop("track", "textual"),
        state=fields.pop("state", Release.State.RETIRED),
        smoke_bundle=bundle,
        baseline=baseline,
        digest=canonical_digest(baseline),
        **fields,
    )
    release.bundles.add(bundle)
    return release


def make_version(system: str = "Mnemo", *, team: str = "Team A", division: str = "open_source") -> Version:
    row = System.objects.get_or_create(
        team=Team.objects.get_or_create(name=team)[0], name=system, defaults={"division": division}
    )[0]
    return Version.objects.create(
        system=row,
        label=f"v{row.versions.count() + 1}",
        state=Version.State.APPROVED,
        tracks=["textual"],
        add_url=PRIVATE,
        search_url=PRIVATE,
        auth_scheme="bearer",
        method_description=PRIVATE,
        run_notes=PRIVATE,
        public_description="Remembers with care.",
        repository="https://code.example/mnemo",
        commit="abc123",
    )


def make_key(version: Version, cycle: Cycle, **fields: Any) -> LeaderboardKey:
    public_id = uuid.uuid4().hex[:8]
    key = LeaderboardKey.objects.create(
        public_id=public_id,
        digest=sha256(public_id.encode()).hexdigest(),
        lineage=uuid.uuid4(),
        team=version.system.team,
        cycle=cycle,
        scopes=["read", "smoke", "full"],
        contact_email="team@private.example",
        **fields,
    )
    key.versions.add(version)
    return key


def make_approved_run(score: float = 0.5, *, release: Release | None = None, language: str = "en", **named: Any) -> Job:
    """A full run with result and an approved review, ready to be published. `named` goes to `make_version`."""
    cycle, version = make_cycle(), make_version(**named)
    key = make_key(version, cycle, language=language)
    release = release or make_release()
    job = Job.objects.create(
        key=key,
        lineage=key.lineage,
        version=version,
        cycle=cycle,
        release=release,
        track="textual",
        mode=Job.Mode.FULL,
        run_label="private-label",
        add_concurrency=4,
        search_concurrency=4,
        baseline_digest=release.digest,
        state=Job.State.SUCCEEDED,
        started_at=AT - timedelta(hours=2),
        ended_at=AT - timedelta(hours=1),
    )
    Result.objects.create(
        job=job,
        overall=score,
        n=60,
        coverage=1.0,
        answerable={"score": score, "n": 48},
        categories={"1": {"score": score, "n": 12}, "5": {"score": 0.25, "n": 12}},
        capabilities={"A": {"score": score, "n": 24}, "H": {"score": 0.25, "n": 12}},
        datasets={"own": {"score": score, "n": 60}},
        states={"scored": 60},
        efficiency={"add_p50_ms": 12.5, "search_p95_ms": 80.25, "secret_internal": 1},
        digest=sha256(str(job.pk).encode()).hexdigest(),
    )
    PublicationReview.objects.create(
        job=job, state=PublicationReview.State.APPROVED, note_to_team=PRIVATE, decided_at=AT - timedelta(minutes=30)
    )
    return job


def make_board(**fields: Any) -> Board:
    values = {"cycle": make_cycle(), "track": "textual", "division": "open_source", **fields}
    return Board.objects.get_or_create(**values)[0]
