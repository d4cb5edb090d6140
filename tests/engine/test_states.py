"""Any order of submitting, waking, killing, losing a lease, delivering twice, answering, cancelling and waiting keeps
what the engine promises. Deterministic: `STATES_EXAMPLES` says how many orders are tried (20), and `STATES_STEP` which
points of a run by themselves, every sixth by default.
"""

import os
import uuid
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db.models import Count
from django_q.models import OrmQ
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from evaluation.models import (
    Answer,
    Event,
    Item,
    Job,
    Judgement,
    QuotaEntry,
    Receipt,
    Release,
    Result,
    Retrieval,
    StageProgress,
)
from evaluation.quotas import next_submission
from evaluation.services import submit_job
from evaluation.slices import MAX_BARREN_TAKEOVERS
from evaluation.tasks import reap
from submissions.models import LeaderboardKey, Version
from submissions.refusals import Refusal
from tests.engine import world as worlds
from tests.engine.suite import make_key, make_version, open_test_release
from tests.engine.talks import write_bundle
from tests.engine.world import ACTIONS, World

EXAMPLES = int(os.environ.get("STATES_EXAMPLES", "20"))
STEP = int(os.environ.get("STATES_STEP", "6"))
LANES = 3
QUESTIONS, ADDS = 6, 4
HAPPENS = st.sampled_from(("", *ACTIONS, "kill", "take over", "close"))
ENDS = {"succeeded", "failed", "cancelled"}

pytestmark = pytest.mark.timeout(600)


class Engine(RuleBasedStateMachine):
    """One team, its jobs one after another, and everything that can happen to them."""

    digest = ""

    @initialize(mode=st.sampled_from(("ok", "ok", "busy", "broken")), down=st.sampled_from((False, False, True)))
    def begin(self, mode: str, down: bool) -> None:
        self.world = World(mode=mode, model_is_down=down)
        self.patch = pytest.MonkeyPatch()
        worlds.rule(self.world, self.patch)
        OrmQ.objects.all().delete()
        self.version: Version = make_version("http://127.0.0.1:9", auth="none")
        self.key: LeaderboardKey = make_key(self.version)
        self.jobs: dict[uuid.UUID, dict[str, bool]] = {}
        self.tokens: dict[uuid.UUID, int] = {}
        self.ends: dict[uuid.UUID, Any] = {}
        self.submit()

    @rule()
    def submit(self) -> None:
        allowed = next_submission(key=self.key, track="textual", mode="smoke", at=self.world.now).allowed
        idle = not Job.objects.active().filter(lineage=self.key.lineage).exists()
        try:
            job = submit_job(
                key=self.key,
                version=self.version,
                track="textual",
                mode="smoke",
                run_label=f"run {len(self.jobs)}",
                add_concurrency=LANES,
                search_concurrency=LANES,
                checklist={},
                at=self.world.now,
            )
        except Refusal:
            job = None
        assert (job is not None) == (allowed and idle)
        if job is None:
            return
        self.jobs[job.pk] = {"broken": self.world.mode == "broken", "down": self.world.model_is_down, "cancel": False}

    @rule(action=HAPPENS, at=st.integers(1, 40))
    def go_on(self, action: str, at: int) -> None:
        """Time passes, the reaper looks, and a worker takes what it has woken."""
        self.world.now += timedelta(seconds=65)
        reap(self.world.now)
        self.deliver(action, at, False)

    @rule(action=HAPPENS, at=st.integers(1, 40), keep=st.booleans())
    def deliver(self, action: str, at: int, keep: bool) -> None:
        """A worker takes the oldest wake-up. With `keep` the queue forgets that it was taken: it comes again."""
        for row in OrmQ.objects.order_by("pk"):
            if row.task["func"] == "evaluation.tasks.run_slice":
                if not keep:
                    row.delete()
                job = Job.objects.get(pk=row.task["args"][0])
                if action == "cancel" and job.pk in self.jobs:
                    self.jobs[job.pk]["cancel"] = True
                self.world.work(job, action=action, at=at)
                return

    @rule()
    def forget_wake_ups(self) -> None:
        OrmQ.objects.all().delete()

    @rule()
    def look_after_jobs(self) -> None:
        reap(self.world.now)

    @rule(seconds=st.sampled_from((1, 31, 61, 3700)))
    def wait(self, seconds: int) -> None:
        self.world.now += timedelta(seconds=seconds)

    @rule(really=st.sampled_from((False, False, False, True)))
    def cancel(self, really: bool) -> None:
        if not really:  # most runs should go on
            return
        for job in Job.objects.active().filter(lineage=self.key.lineage):
            self.jobs[job.pk]["cancel"] |= self.world.cancel(job)

    @rule(mode=st.sampled_from(("ok", "busy", "busy", "broken")))
    def answer(self, mode: str) -> None:
        self.world.mode = mode
        self._note("broken", mode == "broken")

    @rule(down=st.booleans())
    def turn_model(self, down: bool) -> None:
        self.world.model_is_down = down
        self._note("down", down)

    def _note(self, what: str, happens: bool) -> None:
        for job in Job.objects.active().filter(lineage=self.key.lineage):
            self.jobs[job.pk][what] |= happens

    @invariant()
    def everything_holds(self) -> None:
        if hasattr(self, "world"):
            for job in Job.objects.filter(lineage=self.key.lineage):
                self._check(job)
            assert self.world.kept == sorted(self.world.kept) or len(self.jobs) > 1, "an older token kept something"

    def _check(self, job: Job) -> None:
        assert job.lease_token >= self.tokens.get(job.pk, 0), "tokens only grow"
        self.tokens[job.pk] = job.lease_token
        items, receipts = Item.objects.filter(job=job), Receipt.objects.filter(job=job)
        assert items.count() in {0, QUESTIONS, QUESTIONS // 2}, "scope by scope"
        done = {
            "ingestion": Event.objects.filter(scope__job=job, kind="add", state="done").count(),
            "retrieval": Retrieval.objects.filter(item__job=job).count(),
            "answering": Answer.objects.filter(item__job=job).count(),
            "scoring": Judgement.objects.filter(item__job=job).count(),
            "aggregation": Result.objects.filter(job=job).count(),
        }
        assert dict(StageProgress.objects.filter(job=job).values_list("stage", "done")) == done, "progress is the truth"
        assert items.filter(state="scored").count() == done["scoring"]
        assert not receipts.filter(verdict="ok").values("event").annotate(n=Count("pk")).filter(n__gt=1).exists()
        charges = QuotaEntry.objects.filter(job=job).values_list("kind", flat=True)
        assert sorted(charges) == (["charge", "refund"] if self._comes_back(job) else ["charge"])
        self._check_wire(job, receipts.count())
        if not job.is_active:
            end = (job.state, job.blame, job.failure_code, job.lease_token, receipts.count(), *done.values())
            assert self.ends.setdefault(job.pk, end) == end, "an end is an end"

    @staticmethod
    def _comes_back(job: Job) -> bool:
        """A slot comes back for a fault of the platform, and when nothing can have been sent."""
        return (job.state, job.blame) == ("failed", "platform") or (job.state == "cancelled" and job.started_at is None)

    def _check_wire(self, job: Job, receipts: int) -> None:
        calls = 0
        for user, heard in self.world.heard.items():
            if f":{job.pk.hex}:" not in user:
                continue
            calls += len(heard)
            assert len({ordinal for ordinal, _ in heard}) == len(set(heard)), "an event is the same bytes each time"
        assert receipts <= calls <= receipts + self.world.interruptions * 2 * LANES

    def teardown(self) -> None:
        """Whatever happened: with time, a server and a model that answer, every job comes to its right end."""
        if not hasattr(self, "world"):
            return
        try:
            self._bring_to_an_end()
        finally:
            self.patch.undo()

    def _bring_to_an_end(self) -> None:
        self.world.mode, self.world.model_is_down = "ok", False
        for _ in range(60):
            if not Job.objects.active().filter(lineage=self.key.lineage).exists():
                break
            self.world.now += timedelta(seconds=65)
            reap(self.world.now)
            for _ in range(OrmQ.objects.count()):
                self.deliver("", 1, False)
            self.everything_holds()
        for job in Job.objects.filter(lineage=self.key.lineage):
            self._check_end(job, self.jobs[job.pk])

    def _check_end(self, job: Job, happened: dict[str, bool]) -> None:
        assert job.state in ENDS
        if job.state == "succeeded":
            assert Result.objects.get(job=job).digest == self.digest
            assert Item.objects.filter(job=job, state="scored").count() == QUESTIONS
        elif job.state == "cancelled":
            assert happened["cancel"]
        elif job.blame == "participant":
            exhausted = job.failure_code in {"attempts_exhausted", "wall_time_exhausted"}
            assert exhausted or (happened["broken"] and job.failure_code == "data_missing")
        else:
            gave_up = job.failure_code == "no_progress" and self.world.interruptions > MAX_BARREN_TAKEOVERS
            assert gave_up or (happened["down"] and job.failure_code == "answers_incomplete")


@pytest.fixture
def release(transactional_db: None, tmp_path: Path) -> Release:
    return open_test_release(
        write_bundle(tmp_path / "talks", scopes=2, sessions=2, questions=QUESTIONS // 2, smoke_scopes=2)
    )


def test_whatever_happens_in_any_order(release: Release) -> None:
    Engine.digest = _undisturbed()
    run_state_machine_as_test(
        Engine,
        settings=settings(
            max_examples=EXAMPLES,
            stateful_step_count=14,
            deadline=None,
            derandomize=True,
            suppress_health_check=list(HealthCheck),
        ),
    )


@pytest.mark.parametrize("action", ["kill", "take over"])
def test_at_each_single_point_of_a_run(release: Release, action: str) -> None:
    """The points of a slice in turn, until there are no more."""
    digest = _undisturbed()
    for at in range(1, 200, STEP):
        machine = Engine()
        Engine.digest = digest
        machine.begin("ok", False)
        machine.deliver(action, at, False)
        machine.everything_holds()
        machine.teardown()
        assert Job.objects.get(lineage=machine.key.lineage).state == "succeeded"
        if not machine.world.interruptions:
            break
    assert at > 40


def _undisturbed() -> str:
    machine = Engine()
    machine.begin("ok", False)
    machine.deliver("", 1, False)
    machine.patch.undo()
    return Result.objects.get(job__lineage=machine.key.lineage).digest
