"""Releases: what they freeze, how one follows another, and how drift is found."""

import ast
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from aml.checks import tokenizer_is_there
from benchmarks.models import Bundle
from benchmarks.services import register_bundle
from evaluation.models import Release
from evaluation.pipeline.baseline import canonical_digest, code_files, pipeline_code_hash
from evaluation.releases import compare_baseline, current_release, describe_baseline, open_release
from submissions.models import AuditEvent
from submissions.refusals import Refusal
from tests.evaluation import builders
from tests.loopback_model import MODEL_NAME, loopback_model


def reopen(release: Release, name: str, **fields: Any) -> Release:
    bundle = release.smoke_bundle
    defaults = {"track": "textual", "bundles": [bundle], "smoke_bundle": bundle, "actor": "organizer:ada"}
    return open_release(name=name, at=timezone.now(), **{**defaults, **fields})


def test_a_release_freezes_what_decides_a_score(release: Release) -> None:
    baseline = release.baseline
    assert baseline["answer"]["backend"] == "offline"
    assert baseline["answer"]["model"] == "offline.extract.v1"
    assert baseline["judge"]["backend"] == "rules"
    assert baseline["metrics"] == {"talks": "locomo.f1.v1"}
    assert baseline["limits"] == {"top_k": 100}
    assert baseline["bundles"]["talks"]["digest"] == release.smoke_bundle.digest
    assert baseline["bundles"]["talks"]["counts"]["questions"] == 6
    assert baseline["smoke"]["scopes"] == ["talk-0"]
    assert baseline["smoke"]["counts"] == {"scopes": 1, "questions": 3}
    assert baseline["code"] == pipeline_code_hash()
    assert release.digest == canonical_digest(baseline)
    assert release.state == "open"


def test_a_release_with_models_names_them_their_host_and_their_prompts(release: Release, settings: Any) -> None:
    settings.AML_ANSWER_API_KEY = settings.AML_JUDGE_API_KEY = "canary-secret"
    with loopback_model() as model:
        settings.AML_ANSWER_BASE_URL, settings.AML_ANSWER_MODEL = model.base_url, MODEL_NAME
        settings.AML_JUDGE_BASE_URL, settings.AML_JUDGE_MODEL = model.base_url, MODEL_NAME
        baseline = reopen(release, "with-models").baseline
    assert (baseline["answer"]["model"], baseline["answer"]["base_url_host"]) == (MODEL_NAME, "127.0.0.1")
    assert (baseline["judge"]["model"], baseline["judge"]["base_url_host"]) == (MODEL_NAME, "127.0.0.1")
    assert baseline["answer"]["prompts"]
    assert baseline["judge"]["prompts"]
    assert baseline["metrics"] == baseline["judge"]["judges"] == {"talks": "yesno.judge.v1"}
    assert baseline["answer"]["counter"] == {"id": "bytes3.v1", "sha256": "", "margin_percent": 10}
    pairs = dict(describe_baseline(Release.objects.get(name="with-models")))
    assert pairs["Judges"] == "talks: yesno.judge.v1"
    assert pairs["Tokens counted by"] == "bytes3.v1"
    assert f"system.txt {baseline['answer']['prompts']['system.txt'][:12]}" in pairs["Answer prompts"]
    assert f"system_rubric.txt {baseline['judge']['prompts']['system_rubric.txt'][:12]}" in pairs["Judge prompts"]
    assert "canary-secret" not in str(baseline)


def test_a_new_release_retires_the_one_before_on_its_track_only(release: Release) -> None:
    coding = reopen(release, "coding-1", track="coding")
    newer = reopen(release, "textual-2")
    release.refresh_from_db()
    coding.refresh_from_db()
    assert (release.state, newer.state, coding.state) == ("retired", "open", "open")
    assert current_release("textual") == newer
    assert AuditEvent.objects.filter(action="release.retired").count() == 1


@pytest.mark.parametrize(
    ("fields", "code"),
    [({"bundles": []}, "release_without_bundles"), ({}, "release_name_taken")],
)
def test_a_release_that_makes_no_sense_is_refused(release: Release, fields: dict[str, Any], code: str) -> None:
    with pytest.raises(Refusal) as caught:
        reopen(release, release.name, **fields)
    assert caught.value.code == code
    release.refresh_from_db()
    assert release.state == "open"


def test_two_bundles_of_one_name_are_refused(release: Release, tmp_path: Path) -> None:
    other = builders.make_bundle(tmp_path / "other", conversations=3)
    with pytest.raises(Refusal) as caught:
        reopen(release, "twice", bundles=[release.smoke_bundle, other])
    assert caught.value.code == "release_bundle_twice"


def test_an_installation_that_is_what_it_was_has_no_difference(release: Release) -> None:
    assert compare_baseline(release) == []


def test_drift_is_named(release: Release, settings: Any) -> None:
    settings.AML_ANSWER_BASE_URL, settings.AML_ANSWER_MODEL = "https://models.acme-labs.com/v1", "answer-1"
    differences = {difference.name: difference for difference in compare_baseline(release)}
    assert differences["answer/model"].frozen == "offline.extract.v1"
    assert differences["answer/model"].now == "answer-1"
    assert "code" not in differences


def test_the_code_hash_covers_what_decides_a_score_and_leaves_the_example_server_out(settings: Any) -> None:
    names = {path.relative_to(settings.BASE_DIR).as_posix() for path in code_files()}
    assert "contract/answers.py" in names
    assert "benchmarks/scoring/registry.py" in names
    assert any(name.startswith("evaluation/pipeline/answering/prompts/") for name in names)
    assert not any(name.startswith("contract/reference/") for name in names)
    assert all(name.endswith((".py", ".txt")) for name in names)


def test_a_tokenizer_that_is_not_there_keeps_a_release_closed(release: Release, settings: Any) -> None:
    settings.AML_ANSWER_BASE_URL, settings.AML_ANSWER_MODEL = "http://127.0.0.1:9/v1", "m"
    settings.AML_ANSWER_TOKENIZER = str(settings.BASE_DIR / "no-such-tokenizer.json")
    with pytest.raises(Refusal) as caught:
        compare_baseline(release)
    assert caught.value.code == "tokenizer_missing"
    assert [message.id for message in tokenizer_is_there(None)] == ["aml.E003"]


def test_a_baseline_reads_as_pairs_for_people(release: Release) -> None:
    pairs = dict(describe_baseline(release))
    assert "offline.extract.v1" in pairs.values()
    assert "talks: 6" in pairs.values()


def test_the_settings_of_a_smoke_test_count_what_it_asks(release: Release) -> None:
    questions = release.baseline["smoke"]["counts"]["questions"]
    assert questions < 6
    assert f"talks: {questions}" in dict(describe_baseline(release, smoke=True)).values()


EXCUSED = {
    "contract/reference/index.py": "what a reference arm searches with, which hashes it with its own code",
    "contract/reference/tokens.py": "what a reference arm searches with, which hashes it with its own code",
    "evaluation/columns.py": "shows scores beside each other",
    "benchmarks/catalogue.py": "names for pages",
    "benchmarks/models.py": "rows",
    "evaluation/admission.py": "who may start a run",
    "evaluation/arms/selectors.py": "reads results of reference arms",
    "evaluation/database_thread.py": "where SQL runs",
    "evaluation/evidence/__init__.py": "empty",
    "evaluation/failures.py": "words",
    "evaluation/faults.py": "how a run says that the platform failed",
    "evaluation/gate.py": "looks at a finished run",
    "evaluation/lease.py": "who works on a run",
    "evaluation/logs.py": "words for operators",
    "evaluation/models": "rows",
    "evaluation/progress.py": "counts for pages",
    "evaluation/querysets.py": "which runs are due",
    "evaluation/quotas.py": "slots",
    "evaluation/releasechecks.py": "looks at a release before it opens",
    "evaluation/releases.py": "opens the release; what it froze is compared",
    "evaluation/services.py": "how a run starts and ends",
    "evaluation/tasks.py": "when a run is worked on",
    "evaluation/__init__.py": "empty",
    "submissions": "who takes part; the secret and the network guard's settings",
}


def imported_from(path: Path, project: Path) -> set[Path]:
    """The project's own files that `path` names in an import, wherever in the file that stands."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    found = {project / (name.replace(".", "/") + end) for name in names for end in (".py", "/__init__.py")}
    return {file for file in found if file.is_file()}


def test_every_module_that_a_slice_imports_is_in_the_code_hash_or_excused(settings: Any) -> None:
    project = Path(settings.BASE_DIR)
    waiting, seen = [project / "evaluation/slices.py"], set[Path]()
    while waiting:
        path = waiting.pop()
        if path not in seen:
            seen.add(path)
            waiting += imported_from(path, project)
    loose = {path.relative_to(project).as_posix() for path in seen - set(code_files())}
    assert {name for name in loose if not any(name == ok or name.startswith(f"{ok}/") for ok in EXCUSED)} == set()


def test_releases_that_are_opened_at_once_end_as_one_or_are_refused(
    transactional_db: None, release: Release, tmp_path: Path
) -> None:
    def open_one(number: int) -> str:
        try:
            reopen(release, f"textual-2{'b' * (number % 2)}")
        except Refusal as refusal:
            return refusal.code
        finally:
            connection.close()
        return "open"

    with ThreadPoolExecutor(4) as pool:
        outcomes = list(pool.map(open_one, range(8)))
    assert set(outcomes) <= {"open", "release_name_taken", "try_again"}
    assert "open" in outcomes
    assert Release.objects.filter(state="open").count() == 1


def test_a_bundle_that_is_registered_at_once_is_one_row(transactional_db: None, tmp_path: Path) -> None:
    folder = builders.write_locomo(tmp_path / "talks")

    def register(_number: int) -> int:
        try:
            return register_bundle(folder=folder, actor="organizer:ada", at=timezone.now()).pk
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        assert len(set(pool.map(register, range(8)))) == 1
    assert Bundle.objects.count() == 1
