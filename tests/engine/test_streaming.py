"""A streaming plan through the whole engine: each Search sees what was written before it and nothing else."""

import json
from itertools import groupby
from pathlib import Path

import pytest

from evaluation.arms.running import run_arm
from evaluation.evidence.replaying import replay_run
from evaluation.models import ArmItem, Event, Item, Receipt, Result
from tests.benchmarks.test_streams import add, ask
from tests.engine.conftest import Memory
from tests.engine.suite import make_job, make_version, open_test_release
from tests.engine.test_run import run_to_end

PLACES = ["shed", "hall", "cellar", "yard"]


def write_streams(folder: Path, *, users: int = 3) -> Path:
    """A bundle of users who move a bicycle and are asked for it each time."""
    folder.mkdir()
    events = []
    for place in PLACES:
        for user in range(users):
            events.append(add(f"user-{user}", place, f"The bicycle of user {user} is in the {place} now."))
            events.append(ask(f"user-{user}", "bike", place, evidence=[f"{place}:1"]))
            events.append(ask(f"user-{user}", f"bike-{place}", place, evidence=[f"{place}:1"]))
    (folder / "streams.jsonl").write_text("".join(f"{json.dumps(event)}\n" for event in events))
    return folder


@pytest.mark.django_db(transaction=True)
def test_each_search_comes_after_what_was_written_before_it_and_before_what_comes_later(
    tmp_path: Path, memory: Memory
) -> None:
    release = open_test_release(write_streams(tmp_path / "streams"), dataset="streaming")
    job = run_to_end(make_job(release, make_version(memory.url), lanes=8))

    assert (job.state, job.failure_code) == ("succeeded", "")
    _check_order(memory)

    items = Item.objects.filter(job=job)
    assert items.count() == 24
    assert sorted(items.filter(question_key="streams/user-0-bike").values_list("step", flat=True)) == [0, 1, 2, 3]
    assert Result.objects.get(job=job).n == 24
    kinds = [event.kind for event in Event.objects.filter(scope__job=job, scope__ordinal=0).order_by("ordinal")]
    assert kinds == ["add", "search", "search"] * 4
    assert Receipt.objects.filter(job=job, verdict="ok").count() == 36
    assert replay_run(job).differences == []


def _check_order(memory: Memory) -> None:
    """By user: one Add, then the two Searches of it side by side, four times over."""
    heard = [(json.loads(body)["user_id"], path) for path, body in memory.heard]
    for user in {user for user, _ in heard}:
        paths = [path for each, path in heard if each == user]
        assert [(path, len(list(same))) for path, same in groupby(paths)] == [("/add", 1), ("/search", 2)] * 4


@pytest.mark.django_db(transaction=True)
def test_a_reference_arm_remembers_what_was_written_by_then(tmp_path: Path) -> None:
    release = open_test_release(write_streams(tmp_path / "streams"), dataset="streaming")
    run_arm(release=release, arm="full-context", actor="organizer:test")

    rows = ArmItem.objects.filter(question_key="streams/user-0-bike").order_by("step")
    assert [row.memories for row in rows] == [1, 2, 3, 4]
