"""Builds what evaluation tests need: cycles, versions with their keys, a small bundle, its release, runs."""

import json
import uuid
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from django.utils import timezone

from benchmarks.models import Bundle
from benchmarks.services import register_bundle
from evaluation.models import (
    Answer,
    Event,
    Item,
    Job,
    Judgement,
    Receipt,
    Release,
    Result,
    Retrieval,
    Scope,
    StageProgress,
)
from evaluation.pipeline.aggregate import ScoredItem, digest_of
from evaluation.releases import current_release, open_release
from evaluation.services import end_job, submit_job
from submissions.keys import make_key
from submissions.models import Cycle, LeaderboardKey, System, Team, Version
from submissions.vault import store_memory_system_key

CHECKED = dict.fromkeys(
    ["smoke_passed", "api_contract", "run_notes", "disclosure", "integrity", "declared_models"], True
)


@dataclass
class Entrant:
    """A team with an approved version and an open key; `text` is the key as the team holds it."""

    cycle: Cycle
    version: Version
    key: LeaderboardKey
    text: str


def make_cycle(**fields: Any) -> Cycle:
    at = timezone.now()
    number = Cycle.objects.count() + 101
    defaults = {
        "number": number,
        "slug": f"cycle-{number}",
        "name_en": f"Cycle {number}",
        "name_zh_hans": f"第 {number} 期",
        "state": "open",
        "opens_at": at - timedelta(days=60),
        "materials_close_at": at + timedelta(days=60),
        "evaluation_closes_at": at + timedelta(days=60),
        "tracks": ["textual", "coding"],
    }
    return Cycle.objects.create(**{**defaults, **fields})


def make_entrant(
    cycle: Cycle | None = None,
    *,
    name: str = "Acme",
    division: str = "open_source",
    secret: str = "s3cret-value",
    **fields: Any,
) -> Entrant:
    """A team called `name`; `fields` go to its version."""
    cycle = cycle or make_cycle()
    team = Team.objects.create(name=name)
    system = System.objects.create(team=team, name=f"{name} Memory", division=division)
    defaults = {
        "label": "1.0",
        "state": "approved",
        "tracks": ["textual"],
        "add_url": "https://memory.acme-labs.com/add",
        "search_url": "https://memory.acme-labs.com/search",
        "auth_scheme": "bearer",
        "add_concurrency": 16,
        "search_concurrency": 32,
        "method_description": "Keeps everything.",
        "run_notes": "None.",
    }
    version = Version.objects.create(system=system, **{**defaults, **fields})
    Version.objects.filter(pk=version.pk).update(endpoint_changed_at=timezone.now() - timedelta(days=50))
    version.refresh_from_db()
    if version.auth_scheme != "none" and secret:
        store_memory_system_key(version=version, secret=secret)
    key, text = make_leaderboard_key(cycle, team)
    key.versions.add(version)
    return Entrant(cycle, version, key, text)


def make_leaderboard_key(
    cycle: Cycle, team: Team, *, lineage: uuid.UUID | None = None, **fields: Any
) -> tuple[LeaderboardKey, str]:
    new = make_key()
    defaults = {
        "public_id": new.public_id,
        "digest": new.digest,
        "lineage": lineage or uuid.uuid4(),
        "team": team,
        "cycle": cycle,
        "scopes": ["read", "smoke", "full"],
        "contact_email": "team@acme-labs.com",
        "language": "en",
    }
    return LeaderboardKey.objects.create(**{**defaults, **fields}), new.text


def write_locomo(folder: Path, *, conversations: int = 2, questions: int = 3) -> Path:
    """A small file of our own in LoCoMo's format, with its manifest."""
    folder.mkdir(parents=True, exist_ok=True)
    samples = [
        {
            "sample_id": f"talk-{number}",
            "conversation": {
                "speaker_a": "Ann",
                "speaker_b": "Bo",
                "session_1_date_time": "1:56 pm on 8 May, 2023",
                "session_1": [
                    {"speaker": "Ann", "dia_id": "D1:1", "text": f"I planted {number + 3} pear trees."},
                    {"speaker": "Bo", "dia_id": "D1:2", "text": "I painted the boat green."},
                ],
            },
            "qa": [
                {
                    "question": f"How many pear trees did Ann plant ({index})?",
                    "answer": str(number + 3),
                    "evidence": ["D1:1"],
                    "category": 4,
                }
                for index in range(questions)
            ],
        }
        for number in range(conversations)
    ]
    (folder / "talks.json").write_text(json.dumps(samples), encoding="utf-8")
    manifest = {
        "name": "talks",
        "title": "Talks",
        "title_zh": "闲谈",
        "dataset": "locomo",
        "file": "talks.json",
        "licence": "CC-BY-4.0",
        "source": "written for a test",
        "version": "1",
        "smoke_scopes": ["talk-0"],
    }
    (folder / "bundle.json").write_text(json.dumps(manifest), encoding="utf-8")
    return folder


def make_bundle(folder: Path, **size: int) -> Bundle:
    return register_bundle(folder=write_locomo(folder, **size), actor="organizer:test", at=timezone.now())


def make_release(folder: Path, *, name: str = "textual-1", track: str = "textual") -> Release:
    bundle = make_bundle(folder)
    return open_release(
        name=name, track=track, bundles=[bundle], smoke_bundle=bundle, actor="organizer:test", at=timezone.now()
    )


def start(entrant: Entrant, mode: str = "smoke", *, at: datetime | None = None, **fields: Any) -> Job:
    """Submit a run through the service."""
    defaults = {
        "key": entrant.key,
        "version": entrant.version,
        "track": "textual",
        "run_label": f"{mode}-{uuid.uuid4().hex[:8]}",
        "add_concurrency": 1,
        "search_concurrency": 1,
        "checklist": CHECKED,
    }
    return submit_job(mode=mode, at=at or timezone.now(), **{**defaults, **fields})


def finish(job: Job, *, state: str = "succeeded", at: datetime | None = None, blame: str = "", **fields: Any) -> Job:
    """End a run the way its worker does."""
    job.refresh_from_db()
    ended = end_job(job_id=job.pk, token=job.lease_token, state=state, blame=blame, at=at or timezone.now(), **fields)
    assert ended
    job.refresh_from_db()
    return job


def send_something(job: Job) -> Receipt:
    """One receipt of an Add that was answered."""
    at = timezone.now()
    scope, _created = Scope.objects.get_or_create(
        job=job, ordinal=0, defaults={"bundle": "talks", "key": "talk-0", "user_id": "u"}
    )
    event = Event.objects.create(
        scope=scope,
        ordinal=scope.event_rows.count(),
        kind="add",
        request_id="eval:x:chunk-0",
        body_sha256="0" * 64,
        first_started_at=at,
    )
    return Receipt.objects.create(
        job=job,
        event=event,
        kind="add",
        attempt=1,
        started_at=at,
        ended_at=at,
        latency_ms=12.5,
        http_status=200,
        bytes_sent=100,
        bytes_received=50,
        verdict="ok",
    )


def fill_result(job: Job, *, score: float = 0.5, conversations: int = 2, questions: int = 3) -> Result:
    """Everything that a run which worked leaves behind: scopes, items with answers and scores, the result."""
    model = job.release.baseline["answer"]["model"]
    metric = job.release.baseline["metrics"]["talks"]
    items: list[Item] = []
    for number in range(conversations):
        scope = Scope.objects.create(
            job=job, ordinal=number, bundle="talks", key=f"talk-{number}", user_id=f"u{number}"
        )
        items += [_item(job, scope, index, score=score, model=model, metric=metric) for index in range(questions)]
    part = {"score": score, "n": len(items)}
    scored = [ScoredItem(item.question_key, 0, item.state, item.score, "4", "A", "talks", True) for item in items]
    StageProgress.objects.filter(job=job).update(done=len(items), total=len(items))
    return Result.objects.create(
        job=job,
        overall=score,
        n=len(items),
        coverage=1.0,
        answerable=part,
        categories={"4": part},
        capabilities={"A": part},
        datasets={"talks": part},
        states={"scored": len(items)},
        efficiency={"add_p50_ms": 10.0, "add_p95_ms": 20.0, "search_p50_ms": 5.0, "search_p95_ms": 9.0},
        digest=digest_of(scored),
    )


def _item(job: Job, scope: Scope, index: int, *, score: float, model: str, metric: str) -> Item:
    item = Item.objects.create(
        job=job,
        scope=scope,
        ordinal=index,
        question_key=f"{scope.key}-q{index}",
        category="4",
        capability="A",
        state="scored",
        score=score,
    )
    Retrieval.objects.create(item=item, count=1, characters=20, latency_ms=5.0, memories=b"", sha256="0" * 64)
    Answer.objects.create(
        item=item,
        text="GOLD-LIKE ANSWER",
        model=model,
        prompt_sha256="",
        prompt_tokens=0,
        completion_tokens=0,
        latency_ms=1.0,
        memories_used=1,
        memories_cut=0,
    )
    Judgement.objects.create(item=item, metric=metric, score=score, prompt_tokens=0, completion_tokens=0)
    return item


def finished_full(entrant: Entrant, *, score: float = 0.5, at: datetime | None = None) -> Job:
    """A succeeded Full with everything that the gate looks at; needs an open release and a passed smoke test."""
    job = start(entrant, "full", at=at)
    fill_result(job, score=score)
    return finish(job, at=at)


def passed_smoke(entrant: Entrant, *, at: datetime | None = None) -> Job:
    return finish(start(entrant, "smoke", at=at), at=at)


def release_of(track: str = "textual") -> Release:
    release = current_release(track)
    assert release is not None
    return release
