"""Starting a run: each rule that may say no, and what a start leaves behind."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from django_q.models import OrmQ

from evaluation.models import Job, QuotaEntry, Release
from submissions.models import AuditEvent, MemorySystemKey, Version
from submissions.refusals import Refusal
from tests.evaluation import builders
from tests.evaluation.builders import Entrant


def refusal_of(entrant: Entrant, mode: str = "smoke", **fields: Any) -> Refusal:
    with pytest.raises(Refusal) as caught:
        builders.start(entrant, mode, **fields)
    assert not Job.objects.filter(run_label=fields.get("run_label", "")).exists()
    return caught.value


def test_a_smoke_test_goes_into_the_queue_with_all_its_books(entrant: Entrant) -> None:
    job = builders.start(entrant, "smoke", run_label="  first  ")
    release = builders.release_of()
    assert (job.state, job.run_label, job.lineage) == ("queued", "first", entrant.key.lineage)
    assert (job.release, job.baseline_digest) == (release, release.digest)
    assert list(job.progress.order_by("pk").values_list("stage", flat=True)) == Job.Stage.values
    assert QuotaEntry.objects.filter(job=job, kind="charge").count() == 1
    assert AuditEvent.objects.get(action="job.submitted").actor == f"key:{entrant.key.public_id}"
    assert OrmQ.objects.count() == 1


def test_a_full_evaluation_starts_after_a_smoke_test_that_passed(entrant: Entrant) -> None:
    builders.passed_smoke(entrant)
    job = builders.start(entrant, "full")
    assert set(job.checklist) == set(builders.CHECKED)
    assert all(job.checklist.values())


@pytest.mark.parametrize("mode", ["smoke", "full"])
def test_a_key_without_the_scope_is_refused(entrant: Entrant, mode: str) -> None:
    entrant.key.scopes = ["read"]
    assert refusal_of(entrant, mode).code == "scope_missing"


def test_a_version_of_another_key_is_not_found(entrant: Entrant) -> None:
    other = builders.make_entrant(entrant.cycle, name="Beta")
    refusal = refusal_of(entrant, version=other.version)
    assert (refusal.code, refusal.status) == ("version_not_found", 404)


@pytest.mark.parametrize("state", ["proposed", "suspended", "disqualified", "withdrawn"])
def test_only_an_approved_version_runs(entrant: Entrant, state: str) -> None:
    Version.objects.filter(pk=entrant.version.pk).update(state=state)
    entrant.version.refresh_from_db()
    assert refusal_of(entrant).code == "version_not_approved"


def test_the_track_must_be_one_that_the_version_is_entered_for(entrant: Entrant) -> None:
    assert refusal_of(entrant, track="coding").code == "track_not_entered"


def test_without_an_open_release_nothing_starts(entrant: Entrant) -> None:
    Release.objects.update(state="retired")
    assert refusal_of(entrant).code == "no_open_release"


@pytest.mark.parametrize("label", ["", "   ", "a\nb", "x" * 81])
def test_a_run_label_is_short_and_printable(entrant: Entrant, label: str) -> None:
    assert refusal_of(entrant, run_label=label).code == "run_label_invalid"


def test_a_run_label_is_used_once_by_a_key_and_its_rotations(entrant: Entrant) -> None:
    builders.finish(builders.start(entrant, run_label="one"))
    with pytest.raises(Refusal) as caught:
        builders.start(entrant, run_label="one", at=timezone.now() + timedelta(hours=2))
    assert caught.value.code == "run_label_taken"


def test_one_run_is_active_at_a_time(entrant: Entrant) -> None:
    first = builders.start(entrant)
    refusal = refusal_of(entrant, "full")
    assert (refusal.code, refusal.status) == ("job_active", 409)
    assert refusal.details == {"job": str(first.pk)}


@pytest.mark.parametrize("fields", [{"add_concurrency": 17}, {"add_concurrency": 0}, {"search_concurrency": 33}])
def test_concurrency_stays_within_what_was_declared(entrant: Entrant, fields: dict[str, int]) -> None:
    refusal = refusal_of(entrant, **fields)
    assert (refusal.code, refusal.status) == ("concurrency_out_of_range", 422)
    assert refusal.details == {"add": 16, "search": 32}


@pytest.mark.parametrize("missing", sorted(builders.CHECKED))
def test_a_full_evaluation_needs_every_tick(entrant: Entrant, missing: str) -> None:
    builders.passed_smoke(entrant)
    ticks = {**builders.CHECKED, missing: False}
    refusal = refusal_of(entrant, "full", checklist=ticks)
    assert (refusal.code, refusal.details) == ("checklist_incomplete", {"missing": [missing]})


def test_a_commercial_product_declares_no_models(release: Release) -> None:
    entrant = builders.make_entrant(division="commercial")
    builders.passed_smoke(entrant)
    assert builders.start(entrant, "full", checklist={**builders.CHECKED, "declared_models": False}).mode == "full"


@pytest.mark.parametrize("state", ["failed", "cancelled"])
def test_a_full_evaluation_needs_a_smoke_test_that_passed(entrant: Entrant, state: str) -> None:
    builders.finish(builders.start(entrant), state=state)
    assert refusal_of(entrant, "full").code == "smoke_not_passed"


def test_a_smoke_test_from_before_the_last_change_does_not_count(entrant: Entrant) -> None:
    builders.passed_smoke(entrant)
    Version.objects.filter(pk=entrant.version.pk).update(endpoint_changed_at=timezone.now())
    entrant.version.refresh_from_db()
    assert refusal_of(entrant, "full").code == "smoke_not_passed"


def test_an_api_without_authentication_runs_smoke_tests_only(release: Release) -> None:
    entrant = builders.make_entrant(auth_scheme="none")
    builders.passed_smoke(entrant)
    assert refusal_of(entrant, "full").code == "auth_required"


def test_a_missing_memory_system_key_is_named(entrant: Entrant) -> None:
    MemorySystemKey.objects.all().delete()
    assert refusal_of(entrant).code == "memory_system_key_missing"


PLAIN = {"add_url": "http://memory.acme-labs.com/add", "search_url": "https://memory.acme-labs.com/search"}


def test_a_credential_over_plain_http_needs_the_teams_tick_for_smoke(release: Release) -> None:
    assert refusal_of(builders.make_entrant(**PLAIN)).code == "plain_http_not_confirmed"
    ticked = builders.make_entrant(name="Beta", allow_plain_http=True, **PLAIN)
    assert builders.start(ticked).mode == "smoke"


def test_a_credential_over_plain_http_needs_the_organizers_word_for_full(release: Release) -> None:
    entrant = builders.make_entrant(allow_plain_http=True, **PLAIN)
    builders.passed_smoke(entrant)
    assert refusal_of(entrant, "full").code == "https_required"
    Version.objects.filter(pk=entrant.version.pk).update(plain_http_override="A laboratory's own network.")
    entrant.version.refresh_from_db()
    assert builders.start(entrant, "full").mode == "full"


def test_a_private_target_that_the_operator_named_is_exempt(release: Release, settings: Any) -> None:
    settings.AML_ALLOWED_PRIVATE_TARGETS = ["127.0.0.1:8801"]
    local = {"add_url": "http://127.0.0.1:8801/add", "search_url": "http://127.0.0.1:8801/search"}
    entrant = builders.make_entrant(**local)
    builders.passed_smoke(entrant)
    assert builders.start(entrant, "full").mode == "full"


def test_no_full_evaluation_starts_on_a_release_that_we_no_longer_match(entrant: Entrant) -> None:
    builders.passed_smoke(entrant)
    release = builders.release_of()
    release.baseline["code"] = "0" * 64
    release.save()
    refusal = refusal_of(entrant, "full")
    assert (refusal.code, refusal.details) == ("release_drifted", {"differs": ["code"]})


def test_deadlines_bind_by_the_clock(entrant: Entrant) -> None:
    late = entrant.cycle.evaluation_closes_at + timedelta(seconds=1)
    assert refusal_of(entrant, at=late).code == "cycle_closed"
    assert builders.start(entrant, at=entrant.cycle.evaluation_closes_at).state == "queued"


def test_a_refused_start_leaves_nothing(entrant: Entrant) -> None:
    refusal_of(entrant, "full")
    assert not Job.objects.exists()
    assert not QuotaEntry.objects.exists()
    assert not OrmQ.objects.exists()
