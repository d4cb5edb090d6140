"""A release is drafted, checked, and opens only when no check fails; one byte elsewhere makes it another release."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as project
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone, translation

from benchmarks.models import Bundle
from evaluation import gate, releasechecks
from evaluation.arms.running import run_arm
from evaluation.models import Job, Release
from evaluation.pipeline import baseline
from evaluation.releases import check_release, checklist_of, draft_release, open_draft, open_release
from submissions.models import AuditEvent
from submissions.refusals import Refusal
from tests.evaluation import builders
from tests.evaluation.builders import Entrant
from tests.loopback_model import MODEL_NAME, loopback_model

pytestmark = pytest.mark.django_db


@pytest.fixture
def bundle(db: None, tmp_path: Path) -> Bundle:
    return builders.make_bundle(tmp_path / "talks")


@pytest.fixture
def draft(bundle: Bundle) -> Release:
    return draft_release(
        name="next", track="textual", bundles=[bundle], smoke_bundle=bundle, actor="organizer:ada", at=timezone.now()
    )


def codes(release: Release) -> set[str]:
    return {check.code for check in check_release(release=release, at=timezone.now())}


def refusal_to_open(release: Release) -> list[str]:
    with pytest.raises(Refusal) as refused:
        open_draft(release=release, actor="organizer:ada", at=timezone.now())
    assert refused.value.code == "release_checks_failed"
    release.refresh_from_db()
    assert (release.state, release.digest) == ("draft", "")
    return list(refused.value.details["failed"])


def test_a_draft_that_passes_opens_and_keeps_its_checklist(draft: Release) -> None:
    opened = open_draft(release=draft, actor="organizer:ada", reason="Cycle 3 begins.", at=timezone.now())
    assert (opened.state, opened.baseline["limits"]["top_k"]) == ("open", 100)
    assert {check.code for check in checklist_of(opened)} == {
        *("files_ok", "counts_ok", "smoke_ok", "metrics_ok", "answer_offline", "judge_offline", "prompts_unused"),
        *("code_ok", "retention_ok", "retires_none", "arms_missing"),
    }
    assert AuditEvent.objects.get(action="release.opened").reason == "Cycle 3 begins."
    with pytest.raises(Refusal, match="release_not_draft"):
        open_draft(release=opened, actor="organizer:ada", at=timezone.now())


def test_each_check_says_in_both_languages_what_it_found_and_what_to_do(draft: Release) -> None:
    for check in check_release(release=draft, at=timezone.now()):
        with translation.override("en"):
            english = check.sentence
        with translation.override("zh-hans"):
            assert check.sentence
        assert "%(" not in english + check.advice
        assert check.outcome == "passed" or check.advice or check.code == "retires_idle"


def test_a_dataset_file_that_changed_keeps_the_release_closed(draft: Release, bundle: Bundle) -> None:
    path = Path(bundle.folder) / "talks.json"
    path.write_bytes(path.read_bytes() + b"\n")
    assert set(refusal_to_open(draft)) == {"files_changed", "counts_unread", "smoke_missing"}


def test_counts_that_differ_from_what_was_registered_are_named(draft: Release, bundle: Bundle) -> None:
    bundle.counts["questions"] += 1
    bundle.save()
    assert refusal_to_open(draft) == ["counts_differ"]


def test_a_smoke_test_that_asks_nothing_is_named(draft: Release, bundle: Bundle) -> None:
    Bundle.objects.filter(pk=bundle.pk).update(smoke_scopes=["talk-0", "nobody"])
    assert refusal_to_open(Release.objects.get(pk=draft.pk)) == ["smoke_missing"]


def test_a_metric_that_nobody_knows_is_named(draft: Release, bundle: Bundle) -> None:
    Bundle.objects.filter(pk=bundle.pk).update(metric="locomo.f1.v9")
    assert refusal_to_open(Release.objects.get(pk=draft.pk)) == ["metrics_unknown"]


def test_evidence_that_is_kept_for_no_day_is_named(draft: Release, settings: Any) -> None:
    settings.AML_EVIDENCE_DAYS = 0
    assert refusal_to_open(draft) == ["retention_unset"]


def test_models_are_asked_before_a_release_names_them(draft: Release, settings: Any) -> None:
    with loopback_model() as server:
        settings.AML_ANSWER_BASE_URL, settings.AML_ANSWER_MODEL = server.base_url, MODEL_NAME
        settings.AML_JUDGE_BASE_URL, settings.AML_JUDGE_MODEL = server.base_url, MODEL_NAME
        settings.AML_ANSWER_API_KEY = settings.AML_JUDGE_API_KEY = "canary-key"
        assert {"answer_ok", "judge_ok", "prompts_ok"} <= codes(draft)
        settings.AML_JUDGE_MODEL = "another"
        assert "judge_other" in codes(draft)
        server.mode = "http_401"
        assert {"answer_silent", "judge_silent"} <= codes(draft)
    assert "answer_silent" in refusal_to_open(draft)
    assert "canary-key" not in str(draft.checks)


def test_code_that_changed_under_the_running_process_is_named(draft: Release, monkeypatch: pytest.MonkeyPatch) -> None:
    then = dict(baseline._code_hashes())
    then["benchmarks/scoring/token_f1.py"] = "0" * 64
    monkeypatch.setattr(baseline, "_code_hashes", lambda: then)
    monkeypatch.setattr(releasechecks, "changed_code_files", baseline.changed_code_files)
    assert refusal_to_open(draft) == ["code_changed"]


def test_a_release_that_is_opened_at_once_leaves_no_draft_behind_when_a_check_fails(bundle: Bundle) -> None:
    Bundle.objects.filter(pk=bundle.pk).update(metric="locomo.f1.v9")
    bundle.refresh_from_db()
    with pytest.raises(Refusal):
        open_release(
            name="next", track="textual", bundles=[bundle], smoke_bundle=bundle, actor="organizer:ada",
            at=timezone.now(),
        )  # fmt: skip
    assert not Release.objects.exists()


def test_the_page_says_which_arms_have_a_result(release: Release, client: Client) -> None:
    client.force_login(User.objects.create_superuser("ada", password="x"))
    run_arm(release=release, arm="bm25", actor="organizer:ada")
    page = client.get(f"/en/admin/evaluation/release/{release.pk}/change/").content.decode()
    assert "Reference arms without a result: no-memory, full-context, oracle." in page
    assert f"manage.py run_arms {release.name}" in page
    assert "BM25" in page


def test_an_organizer_drafts_checks_opens_and_discards(bundle: Bundle, client: Client) -> None:
    client.force_login(User.objects.create_superuser("ada", password="x"))
    form = {"name": "next", "track": "textual", "bundles": [bundle.pk], "smoke_bundle": bundle.pk}
    form |= dict.fromkeys(("counts_checked", "models_checked", "retires_checked"), "on")
    answer = client.post("/en/admin/evaluation/release/open/", form)
    release = Release.objects.get()
    page = f"/en/admin/evaluation/release/{release.pk}"
    assert answer["Location"] == f"{page}/change/"
    assert "files_ok" in client.get(f"{page}/change/").content.decode()
    Bundle.objects.filter(pk=bundle.pk).update(metric="locomo.f1.v9")
    refused = client.post(f"{page}/decide/open/", {"reason": "Now."}, follow=True).content.decode()
    assert "which the platform does not know" in refused
    Bundle.objects.filter(pk=bundle.pk).update(metric="locomo.f1.v1")
    client.post(f"{page}/decide/check/")
    assert "metrics_ok" in client.get(f"{page}/change/").content.decode()
    client.post(f"{page}/decide/open/", {"reason": "Now."})
    assert builders.release_of() == release
    client.post("/en/admin/evaluation/release/open/", {**form, "name": "later"})
    later = Release.objects.get(name="later")
    gone = client.post(f"/en/admin/evaluation/release/{later.pk}/decide/discard/", {"reason": "A typing error."})
    assert gone["Location"] == "/en/admin/evaluation/release/"
    assert not Release.objects.filter(name="later").exists()


# One byte ------------------------------------------------------------------------------------------------------------


PRINT = (
    "import json, sys; from evaluation.pipeline.baseline import *;"
    "print(json.dumps([pipeline_code_hash(), answer_baseline(base_url='http://m/v1', model='m')]))"
)


def hashes_with_one_byte_more(place: str, copy: Path) -> Any:
    """What a release would freeze of code and prompts in a copy of the tree where the file `place` is a byte longer."""
    kept = shutil.ignore_patterns("__pycache__")
    for room in ("contract", "benchmarks", "evaluation"):
        shutil.copytree(project.BASE_DIR / room, copy / room, ignore=kept, dirs_exist_ok=True)
    if place:
        path = copy / place
        path.write_bytes(path.read_bytes() + b"\n")
    found = subprocess.run(
        [sys.executable, "-c", PRINT], cwd=copy, env={**os.environ, "PYTHONPATH": str(copy)}, capture_output=True,
        text=True, check=True, timeout=60,
    )  # fmt: skip
    return json.loads(found.stdout)


def failing(job: Job) -> list[str]:
    return [check.name for check in gate.check_publication(job) if not check.passed]


def digest_of(baseline_now: dict[str, Any]) -> str:
    return baseline.canonical_digest(baseline_now)


@pytest.mark.parametrize(
    "place", ["evaluation/pipeline/answering/prompts/system.txt", "benchmarks/scoring/token_f1.py"]
)
def test_a_byte_in_a_prompt_or_a_scoring_file_makes_another_release_and_the_gate_names_the_code(
    entrant: Entrant, tmp_path: Path, place: str
) -> None:
    builders.passed_smoke(entrant)
    job = builders.finished_full(entrant)
    assert failing(job) == []
    code, answer = hashes_with_one_byte_more("", tmp_path / "copy")
    other_code, other_answer = hashes_with_one_byte_more(place, tmp_path / "copy")
    assert code == job.release.baseline["code"] != other_code
    assert (answer["prompts"] != other_answer["prompts"]) == ("prompts" in place)
    assert digest_of({**job.release.baseline, "code": other_code}) != job.release.digest
    Job.objects.filter(pk=job.pk).update(code_sha256=other_code)
    job.refresh_from_db()
    assert failing(job) == ["code"]


def test_a_byte_in_a_dataset_file_makes_another_release_and_the_gate_names_the_bundles(entrant: Entrant) -> None:
    builders.passed_smoke(entrant)
    job = builders.finished_full(entrant)
    folder = Path(job.release.smoke_bundle.folder)
    (folder / "talks.json").write_bytes((folder / "talks.json").read_bytes() + b"\n")
    other = builders.register_bundle(folder=folder, actor="organizer:test", at=timezone.now())
    newer = open_release(
        name="textual-2", track="textual", bundles=[other], smoke_bundle=other, actor="organizer:ada",
        at=timezone.now(),
    )  # fmt: skip
    assert newer.digest != job.release.digest
    assert newer.baseline["code"] == job.release.baseline["code"]
    assert failing(job) == ["contract"]
    job.release.bundles.set([other])
    assert failing(job) == ["contract", "bundles"]
