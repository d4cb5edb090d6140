"""The portal's rows that a run of a small suite needs."""

import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path

from benchmarks.models import Bundle
from benchmarks.services import register_bundle
from evaluation.models import Job, Release, StageProgress
from evaluation.quotas import charge
from evaluation.releases import open_release
from submissions.models import Cycle, LeaderboardKey, System, Team, Version
from submissions.vault import store_memory_system_key

SECRET = "a-secret-of-the-tests"


def open_test_release(folder: Path, *, dataset: str | None = None) -> Release:
    """Register the bundle in `folder` and open a release of it."""
    bundle: Bundle = register_bundle(folder=folder, dataset=dataset, actor="organizer:test", at=datetime.now(UTC))
    at = datetime.now(UTC)
    name = f"release-{uuid.uuid4().hex[:8]}"
    return open_release(
        name=name, track="textual", bundles=[bundle], smoke_bundle=bundle, actor="organizer:test", at=at
    )


def make_version(url: str, *, auth: str = "bearer", status_url: str = "") -> Version:
    """An approved version whose endpoints are at `url`."""
    team = Team.objects.create(name=f"Team {uuid.uuid4().hex[:8]}")
    system = System.objects.create(team=team, name="Memory", division="open_source")
    version = Version.objects.create(
        system=system,
        label="1.0",
        state=Version.State.APPROVED,
        tracks=["textual"],
        add_url=f"{url}/add",
        search_url=f"{url}/search",
        add_status_url=status_url,
        auth_scheme=auth,
        add_concurrency=64,
        search_concurrency=256,
        method_description="keeps turns",
        run_notes="none",
        endpoint_changed_at=datetime.now(UTC) - timedelta(days=1),
    )
    if auth != "none":
        store_memory_system_key(version=version, secret=SECRET)
    return version


def make_key(version: Version) -> LeaderboardKey:
    """A key of the version's team in an open cycle."""
    cycle, _ = Cycle.objects.get_or_create(
        number=9001,
        defaults={
            "slug": "cycle-9001",
            "name_en": "Test",
            "name_zh_hans": "测试",
            "state": "open",
            "tracks": ["textual"],
        },
    )
    key = LeaderboardKey.objects.create(
        public_id=uuid.uuid4().hex[:8],
        digest=uuid.uuid4().hex,
        lineage=uuid.uuid4(),
        team=version.system.team,
        cycle=cycle,
        scopes=["read", "smoke", "full"],
    )
    key.versions.add(version)
    return key


def make_job(release: Release, version: Version, *, mode: str = "full", lanes: int = 8) -> Job:
    """A queued job that has spent its slot, as a submission leaves it."""
    key = make_key(version)
    job = Job.objects.create(
        key=key,
        lineage=key.lineage,
        version=version,
        cycle=key.cycle,
        release=release,
        track="textual",
        mode=mode,
        run_label="run",
        add_concurrency=lanes,
        search_concurrency=lanes,
        baseline_digest=release.digest,
    )
    charge(key=key, job=job, at=datetime.now(UTC))
    StageProgress.objects.bulk_create([StageProgress(job=job, stage=stage) for stage in Job.Stage.values])
    return job
