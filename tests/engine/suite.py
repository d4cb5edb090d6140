"""A small suite in LoCoMo's format, and the portal's rows that a run of it needs."""

import json
import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from benchmarks.models import Bundle
from benchmarks.services import register_bundle
from evaluation.models import Job, Release, StageProgress
from evaluation.quotas import charge
from evaluation.releases import open_release
from submissions.models import Cycle, LeaderboardKey, System, Team, Version
from submissions.vault import store_memory_system_key

NAMES = ["Ada", "Ben", "Cleo", "Dan", "Eve", "Finn", "Gus", "Hana"]
PETS = ["cat", "dog", "parrot", "rabbit", "tortoise", "horse"]
WORDS = ["amber", "birch", "cobalt", "dune", "ember", "fjord", "garnet", "hazel", "indigo", "juniper", "kelp", "lotus"]
SECRET = "a-secret-of-the-tests"


def conversation(number: int, *, sessions: int = 3, questions: int = 10) -> dict[str, Any]:
    """One conversation in which one speaker names pets, and questions about the names."""
    first, second = NAMES[number % 8], NAMES[(number + 3) % 8]
    facts = [(PETS[n % 6], f"{WORDS[n % 12]}{number}{n}".capitalize()) for n in range(questions)]
    talk: dict[str, Any] = {"speaker_a": first, "speaker_b": second}
    for session in range(1, sessions + 1):
        talk[f"session_{session}_date_time"] = f"1:56 pm on {session} May, 2023"
        talk[f"session_{session}"] = [
            {
                "speaker": first if turn % 2 == 0 else second,
                "dia_id": f"D{session}:{turn + 1}",
                "text": f"My {pet} number {n} from the town of {name} is called {name}.",
            }
            for turn, (n, (pet, name)) in enumerate((n, f) for n, f in enumerate(facts) if n % sessions == session - 1)
        ]
    qa = [
        {"question": f"What is the {pet} number {n} called?", "answer": name, "evidence": [], "category": 4}
        for n, (pet, name) in enumerate(facts)
    ]
    return {"sample_id": f"talk-{number}", "conversation": talk, "qa": qa}


def write_bundle(
    folder: Path, *, scopes: int = 3, sessions: int = 3, questions: int = 10, smoke_scopes: int = 1
) -> Path:
    """Write a bundle of such conversations into `folder`; a smoke test takes the first `smoke_scopes` of them."""
    folder.mkdir(parents=True, exist_ok=True)
    talks = [conversation(n, sessions=sessions, questions=questions) for n in range(scopes)]
    (folder / "talks.json").write_text(json.dumps(talks))
    manifest = {
        "name": f"talks-{scopes}-{sessions}-{questions}",
        "version": "1",
        "title": "Talks",
        "title_zh": "谈话",
        "dataset": "locomo",
        "metric": "words.f1.v1",
        "files": ["talks.json"],
        "licence": "CC0-1.0",
        "source": "the tests",
        "smoke_scopes": [f"talk-{n}" for n in range(smoke_scopes)],
    }
    (folder / "bundle.json").write_text(json.dumps(manifest))
    return folder


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
