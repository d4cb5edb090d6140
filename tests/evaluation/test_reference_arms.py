"""Reference arms: what each one remembers, and that a release's arms give the same numbers however they are run."""

import socket
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from benchmarks.datasets.model import Question, Scope, Session, Turn
from benchmarks.services import register_own_suites
from evaluation.arms import running
from evaluation.arms.running import run_arm
from evaluation.arms.selectors import arms_of, scores_of
from evaluation.faults import PlatformFault
from evaluation.models import ArmItem, ArmRun, Release
from evaluation.pipeline.arms import ARMS, context_tokens, open_arm
from evaluation.pipeline.items import ModelRetry
from evaluation.releases import open_release
from submissions.models import AuditEvent
from submissions.refusals import Refusal
from tests.evaluation import builders
from tests.loopback_model import MODEL_NAME, loopback_model

pytestmark = pytest.mark.django_db


def turn(name: str, text: str, day: int | None) -> Turn:
    return Turn("user", text, None if day is None else day * 86_400_000, name)


def ask(text: str, *evidence: str) -> Question:
    return Question(text, text, None, "", "4", "A", evidence)


SCOPE = Scope(
    "talk",
    (
        Session("2", (turn("D2:1", "The kettle broke in Lisbon.", 20), turn("D2:2", "We bought a kettle.", None))),
        Session("1", (turn("D1:1", "A parrot lives here.", 10), turn("D1:2", " ", 11))),
    ),
    (ask("Where did the kettle break?", "D2:1"), ask("Who sang?")),
)


def remembered(arm: str, question: Question = SCOPE.questions[0], **limits: int) -> list[str]:
    recall = open_arm(arm, SCOPE, **{"top_k": 100, "token_budget": 8000, **limits})
    return [memory.id for memory in recall(question).memories]


def test_each_arm_remembers_what_it_says() -> None:
    assert remembered("no-memory") == []
    assert remembered("full-context") == ["D1:1", "D2:1", "D2:2"]
    assert remembered("bm25") == ["D2:1", "D2:2"]
    assert remembered("bm25", top_k=1) == ["D2:1"]
    assert remembered("oracle") == ["D2:1"]
    assert remembered("oracle", SCOPE.questions[1]) == []


def test_full_context_keeps_the_most_recent_turns_within_the_budget_and_counts_the_others() -> None:
    whole = open_arm("full-context", SCOPE, top_k=1, token_budget=8000)(SCOPE.questions[0])
    budget = int(context_tokens(whole.memories[1:]) / 0.9 / 0.95) + 2
    recalled = open_arm("full-context", SCOPE, top_k=1, token_budget=budget)(SCOPE.questions[0])
    assert [memory.id for memory in recalled.memories] == ["D2:1", "D2:2"]
    assert (whole.left_out, recalled.left_out) == (0, 1)
    assert open_arm("full-context", SCOPE, top_k=1, token_budget=1)(SCOPE.questions[0]).memories == ()


@pytest.fixture
def hearth() -> Release:
    bundle = next(b for b in register_own_suites(at=timezone.now()) if b.name == "hearth")
    return open_release(
        name="hearth-1", track="textual", bundles=[bundle], smoke_bundle=bundle, actor="organizer:ada",
        at=timezone.now(),
    )  # fmt: skip


def run(release: Release, arm: str, **fields: Any) -> ArmRun:
    return run_arm(release=release, arm=arm, actor="organizer:ada", **fields)


def test_arms_of_a_real_suite_stand_in_order_and_a_second_run_is_equal(
    hearth: Release, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    call_command("run_arms", "hearth-1")
    first = {facts.arm: facts for facts in arms_of(hearth)}
    assert tuple(first) == ARMS
    answerable = {arm: facts.answerable["score"] for arm, facts in first.items()}
    assert answerable["no-memory"] == 0 < answerable["bm25"] < answerable["oracle"]
    assert {facts.n for facts in first.values()} == {120}
    monkeypatch.setattr(running, "AT_ONCE", 7)
    call_command("run_arms", "hearth-1", arm=["oracle", "bm25"], again=True)
    assert capsys.readouterr().out.count("equal to the run before") == 2
    again = {facts.arm: facts for facts in arms_of(hearth)}
    assert again["bm25"].run != first["bm25"].run
    assert list(scores_of(again["bm25"].run)) == list(scores_of(first["bm25"].run))
    assert AuditEvent.objects.filter(action="arm.succeeded").count() == 6


def test_an_arm_that_was_cut_off_goes_on_where_it_stopped(hearth: Release) -> None:
    class Stopped(Exception):
        pass

    def stop(done: int, total: int) -> None:
        if done:
            raise Stopped

    whole = run(hearth, "bm25")
    with pytest.raises(Stopped):
        run(hearth, "bm25", again=True, watch=stop)
    kept = set(ArmItem.objects.filter(run__number=2).values_list("pk", flat=True))
    assert 0 < len(kept) < whole.n
    seen: list[int] = []
    resumed = run(hearth, "bm25", watch=lambda done, total: seen.append(done))
    assert (resumed.number, resumed.digest) == (2, whole.digest)
    assert seen[0] == len(kept)
    assert kept <= set(resumed.items.values_list("pk", flat=True))


def test_an_arm_that_is_done_is_left_as_it_is(hearth: Release) -> None:
    first = run(hearth, "no-memory")
    assert run(hearth, "no-memory") == first
    assert ArmRun.objects.count() == 1


def test_arms_run_under_the_very_release_or_not_at_all(hearth: Release) -> None:
    hearth.baseline["code"] = "0" * 64
    with pytest.raises(Refusal) as refused:
        run(hearth, "bm25")
    assert refused.value.code == "release_drifted"
    assert not ArmRun.objects.exists()


def test_a_dataset_that_changed_stops_an_arm_and_names_the_file(hearth: Release, tmp_path: Path) -> None:
    bundle = hearth.smoke_bundle
    text = (Path(bundle.folder) / "hearth.json").read_text()
    (tmp_path / "hearth.json").write_text(text.replace("Dunlin", "Dunlim", 1))
    bundle.folder = str(tmp_path)
    bundle.save()
    with pytest.raises(CommandError, match=r"hearth\.json: expected SHA-256"):
        call_command("run_arms", "hearth-1", arm=["bm25"])
    assert ArmRun.objects.get().failure_code == "dataset_changed"


def test_arms_ask_the_releases_models_and_go_on_when_a_model_is_back(tmp_path: Path, settings: Any) -> None:
    quick = ModelRetry(attempts=2, first_s=0.05, longest_s=0.1)
    with loopback_model() as server:
        settings.AML_ANSWER_BASE_URL, settings.AML_ANSWER_MODEL = server.base_url, MODEL_NAME
        settings.AML_JUDGE_BASE_URL, settings.AML_JUDGE_MODEL = server.base_url, MODEL_NAME
        release = builders.make_release(tmp_path / "talks")
        for mode, code in (("http_500", "model_status"), ("http_401", "model_status"), ("prose", "answer_malformed")):
            server.mode = mode
            with pytest.raises(PlatformFault, match=code):
                run(release, "bm25", retry=quick)
            assert (ArmRun.objects.get().state, ArmRun.objects.get().failure_code) == ("failed", code)
        server.mode = "ok"
        first = run(release, "bm25", retry=quick)
        asked = server.calls
        again = run(release, "bm25", again=True)
    assert (first.number, again.number, first.digest) == (1, 2, again.digest)
    assert server.calls - asked == 2 * first.n
    item = first.items.first()
    assert (item.model, item.memories > 0, item.context_tokens > 0) == (MODEL_NAME, True, True)


def test_arms_open_no_connection(hearth: Release, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object) -> None:
        raise AssertionError("an arm went out")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    assert [run(hearth, arm).n for arm in reversed(ARMS)] == [120] * 4


def test_a_run_that_another_process_works_on_is_left_to_it(hearth: Release) -> None:
    def meet(done: int, total: int) -> None:
        if done == 64:
            run(hearth, "bm25")

    with pytest.raises(Refusal) as refused:
        run(hearth, "bm25", watch=meet)
    assert refused.value.code == "arm_runs_already"
    done = ArmRun.objects.get()
    assert (done.state, done.items.count()) == ("succeeded", 120)


def test_of_a_context_that_is_too_long_the_answerer_cuts_nothing_itself(tmp_path: Path, settings: Any) -> None:
    with loopback_model() as server:
        settings.AML_ANSWER_BASE_URL, settings.AML_ANSWER_MODEL = server.base_url, MODEL_NAME
        release = builders.make_release(tmp_path / "talks")
        whole = run(release, "full-context").items.first()
        release.baseline["answer"]["token_budget"] = whole.context_tokens - 1
        short = run(release, "full-context", again=True)
    assert whole.left_out == 0
    assert {(item.memories, item.left_out) for item in short.items.all()} == {(whole.memories - 1, 1)}
    assert short.facts["shortened"] == short.n
