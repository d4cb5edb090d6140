"""Bundles: registered with hashes and counts, read only while they are what was registered, shown by track."""

import json
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from benchmarks.catalogue import CATALOGUE
from benchmarks.models import Bundle
from benchmarks.selectors import BundleError, scopes_of
from benchmarks.services import register_bundle, register_own_suites
from submissions.models import AuditEvent, Track
from submissions.refusals import Refusal
from tests.evaluation.builders import make_bundle, write_locomo

pytestmark = pytest.mark.django_db


def test_a_folder_is_registered_with_its_hashes_and_counts(tmp_path: Path) -> None:
    bundle = make_bundle(tmp_path)
    assert (bundle.name, bundle.dataset, bundle.metric) == ("talks", "locomo", "locomo.f1.v1")
    assert (bundle.title_en, bundle.title_zh_hans, bundle.licence) == ("Talks", "闲谈", "CC-BY-4.0")
    assert list(bundle.files) == ["talks.json"]
    assert bundle.counts == {
        "scopes": 2,
        "sessions": 2,
        "turns": 4,
        "questions": 6,
        "answerable": 6,
        "by_category": {"4": 6},
    }
    assert AuditEvent.objects.get(action="bundle.registered").after["digest"] == bundle.digest


def test_registering_the_same_files_again_gives_the_same_row(tmp_path: Path) -> None:
    first = make_bundle(tmp_path / "one")
    again = make_bundle(tmp_path / "two")
    assert again.pk == first.pk
    assert again.folder == str(tmp_path / "two")
    assert AuditEvent.objects.filter(action="bundle.registered").count() == 1


def test_other_files_under_the_same_name_are_another_version(tmp_path: Path) -> None:
    first = make_bundle(tmp_path / "one")
    other = make_bundle(tmp_path / "two", conversations=3)
    assert (other.name, other.digest != first.digest) == (first.name, True)


def test_scopes_come_in_order_and_by_key(tmp_path: Path) -> None:
    bundle = make_bundle(tmp_path, conversations=3)
    assert [scope.key for scope in scopes_of(bundle)] == ["talk-0", "talk-1", "talk-2"]
    assert [scope.key for scope in scopes_of(bundle, only=["talk-2", "talk-0"])] == ["talk-0", "talk-2"]


@pytest.mark.parametrize("damage", ["changed", "gone"])
def test_a_file_that_is_not_what_was_registered_is_not_read(tmp_path: Path, damage: str) -> None:
    bundle = make_bundle(tmp_path)
    path = tmp_path / "talks.json"
    if damage == "gone":
        path.unlink()
    else:
        path.write_text(path.read_text().replace("green", "blue"))
    with pytest.raises(BundleError) as caught:
        next(scopes_of(bundle))
    assert (caught.value.code, caught.value.file) == ("dataset_changed", "talks.json")


def test_what_is_off_in_a_file_is_told_with_its_place(tmp_path: Path) -> None:
    write_locomo(tmp_path)
    samples = json.loads((tmp_path / "talks.json").read_text())
    samples[1]["qa"][2]["category"] = 9
    (tmp_path / "talks.json").write_text(json.dumps(samples))
    with pytest.raises(Refusal) as caught:
        register_bundle(folder=tmp_path, actor="organizer:test", at=timezone.now())
    assert caught.value.status == 422
    assert str(caught.value.message).startswith("talks.json, talk-1, qa[2].category: expected a category from 1 to 5")
    assert not Bundle.objects.exists()


def test_a_name_that_no_address_takes_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refusal) as caught:
        register_bundle(folder=write_locomo(tmp_path), name="no good", actor="organizer:test", at=timezone.now())
    assert caught.value.code == "bundle_name"


def test_the_command_prints_counts_and_digest(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_locomo(tmp_path)
    call_command("import_bundle", str(tmp_path), name="mine", licence="CC0", source="a drawer")
    printed = capsys.readouterr().out
    bundle = Bundle.objects.get(name="mine")
    assert bundle.digest in printed
    assert "questions          6" in printed
    assert (bundle.licence, bundle.source) == ("CC0", "a drawer")


def test_the_command_says_what_is_wrong_in_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="bundle_no_manifest"):
        call_command("import_bundle", str(tmp_path))


@pytest.mark.data
def test_the_public_locomo_file_is_imported_without_a_manifest(data_dir: Path) -> None:
    call_command("import_bundle", str(data_dir / "locomo"), dataset="locomo")
    bundle = Bundle.objects.get(name="locomo")
    assert bundle.counts["questions"] == 1986
    assert bundle.counts["by_category"] == {"1": 282, "2": 321, "3": 96, "4": 841, "5": 446}
    assert bundle.files == {"locomo10.json": "79fa87e90f04081343b8c8debecb80a9a6842b76a7aa537dc9fdf651ea698ff4"}


def test_the_projects_own_suites_register_once() -> None:
    first = register_own_suites(at=timezone.now())
    assert first
    assert [bundle.pk for bundle in register_own_suites(at=timezone.now())] == [bundle.pk for bundle in first]
    assert {bundle.origin for bundle in first} == {"own"}
    assert all(bundle.smoke_scopes for bundle in first)


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_the_benchmarks_page_has_a_card_for_each_dataset(client: Client, tmp_path: Path, language: str) -> None:
    bundle = make_bundle(tmp_path)
    page = client.get(f"/{language}/benchmarks/").content.decode()
    for card in CATALOGUE:
        assert f'id="{card.slug}"' in page
    assert bundle.digest[:12] in page
    assert bundle.title_zh_hans in page if language == "zh-hans" else bundle.title_en in page


def test_the_catalogue_holds_each_track_of_the_challenge_and_one_reference() -> None:
    assert {card.track for card in CATALOGUE} == {Track.TEXTUAL, Track.MULTIMODAL, Track.CODING}
    assert [card.name for card in CATALOGUE if not card.scored] == ["SWEContextBench"]


def test_organizers_see_bundles_and_edit_none(client: Client, tmp_path: Path) -> None:
    bundle = make_bundle(tmp_path)
    client.force_login(User.objects.create_superuser("ada", password="x"))
    assert bundle.digest[:12] in client.get("/en/admin/benchmarks/bundle/").content.decode()
    assert client.get(f"/zh-hans/admin/benchmarks/bundle/{bundle.pk}/change/").status_code == 200
    assert client.post(f"/en/admin/benchmarks/bundle/{bundle.pk}/change/", {"name": "other"}).status_code == 403
    assert client.get("/en/admin/benchmarks/bundle/add/").status_code == 403
