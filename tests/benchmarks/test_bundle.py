"""Bundles: folders of dataset files with and without a manifest."""

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from benchmarks.datasets.bundle import inspect_bundle, load_bundle, read_manifest
from benchmarks.datasets.model import DatasetError
from tests.benchmarks.locomo_files import sample, write


def manifest(**changes: Any) -> dict[str, Any]:
    value = {
        "name": "small", "title": "Small", "title_zh": "小集", "dataset": "locomo", "metric": "words.f1.v1",
        "files": ["a.json"], "licence": "CC-BY-4.0", "source": "written for a test", "version": "1",
    }  # fmt: skip
    value.update(changes)
    return {name: item for name, item in value.items() if item is not None}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path / "a.json", [sample("chat-1"), sample("chat-2")])
    return tmp_path


@pytest.mark.data
def test_the_real_folder_without_a_manifest_is_inspected(data_dir: Path) -> None:
    facts = inspect_bundle(data_dir / "locomo", "locomo")
    assert facts.files == {"locomo10.json": "79fa87e90f04081343b8c8debecb80a9a6842b76a7aa537dc9fdf651ea698ff4"}
    assert (facts.scopes, facts.sessions, facts.turns, facts.questions) == (10, 272, 5882, 1986)
    assert facts.by_category == {"1": 282, "2": 321, "3": 96, "4": 841, "5": 446}
    assert facts.answerable == 1540
    assert facts.manifest.metric == "locomo.f1.v1"


def test_a_manifest_is_read_and_its_files_counted(folder: Path) -> None:
    digest = sha256((folder / "a.json").read_bytes()).hexdigest()
    write(folder / "bundle.json", manifest(sha256={"a.json": digest}, smoke_scopes=["chat-2"]))
    facts = inspect_bundle(folder)
    assert facts.files == {"a.json": digest}
    assert facts.manifest.title_zh == "小集"
    assert (facts.scopes, facts.questions, facts.answerable) == (2, 10, 6)
    assert [scope.key for scope in load_bundle(folder, smoke=True)] == ["chat-2"]
    assert [scope.key for scope in load_bundle(folder)] == ["chat-1", "chat-2"]


def test_one_file_may_be_named_alone_with_its_hash(folder: Path) -> None:
    digest = sha256((folder / "a.json").read_bytes()).hexdigest()
    write(folder / "bundle.json", manifest(files=None, file="a.json", sha256=digest))
    assert inspect_bundle(folder).files == {"a.json": digest}


def test_smoke_takes_the_first_scope_where_none_is_named(folder: Path) -> None:
    assert [scope.key for scope in load_bundle(folder, "locomo", smoke=True)] == ["chat-1"]


def test_the_hash_of_a_bundle_changes_with_a_byte_and_with_a_name(folder: Path) -> None:
    first = inspect_bundle(folder, "locomo").sha256
    (folder / "a.json").rename(folder / "b.json")
    second = inspect_bundle(folder, "locomo").sha256
    write(folder / "b.json", [sample("chat-1"), sample("chat-3")])
    assert len({first, second, inspect_bundle(folder, "locomo").sha256}) == 3


def test_a_manifest_without_a_metric_takes_that_of_its_dataset(folder: Path) -> None:
    write(folder / "bundle.json", manifest(metric=None))
    assert read_manifest(folder).metric == "locomo.f1.v1"


@pytest.mark.parametrize(
    ("change", "code", "place"),
    [
        ({"colour": "red"}, "bundle_field_unknown", "bundle.json, colour"),
        ({"licence": None}, "dataset_field_missing", "bundle.json, licence"),
        ({"version": 1}, "dataset_field_type", "bundle.json, version"),
        ({"name": "Small Set"}, "bundle_name", "bundle.json, name"),
        ({"dataset": "novels"}, "bundle_dataset", "bundle.json, dataset"),
        ({"metric": "guess.v1"}, "bundle_metric", "bundle.json, metric"),
        ({"file": "a.json"}, "bundle_file", "bundle.json, files"),
        ({"files": None}, "bundle_file", "bundle.json, files"),
        ({"files": []}, "bundle_file", "bundle.json, files"),
        ({"files": ["a.json", "a.json"]}, "bundle_file", "bundle.json, files"),
        ({"files": ["../a.json"]}, "bundle_file", "bundle.json, files"),
        ({"files": ["b.json"]}, "bundle_file", "bundle.json, files"),
        ({"files": [3]}, "dataset_field_type", "bundle.json, files"),
        ({"sha256": {"a.json": "abc"}}, "bundle_sha256", "bundle.json, sha256.a.json"),
        ({"sha256": {"b.json": "0" * 64}}, "bundle_sha256", "bundle.json, sha256.b.json"),
        ({"sha256": {"a.json": "0" * 64}}, "bundle_sha256", "a.json"),
        ({"smoke_scopes": ["chat-9"]}, "bundle_smoke_scope", "bundle.json, smoke_scopes"),
    ],
)
def test_a_manifest_that_is_off_is_refused_with_the_place(
    change: dict[str, Any], code: str, place: str, folder: Path
) -> None:
    write(folder / "bundle.json", manifest(**change))
    with pytest.raises(DatasetError) as caught:
        inspect_bundle(folder)
    assert (caught.value.code, caught.value.place) == (code, place)


def test_a_bundle_of_another_dataset_than_asked_for_is_refused(folder: Path) -> None:
    write(folder / "bundle.json", manifest())
    with pytest.raises(DatasetError, match='expected "beam", got "locomo"'):
        inspect_bundle(folder, "beam")


def test_a_scope_in_two_files_is_refused(folder: Path) -> None:
    write(folder / "b.json", [sample("chat-2")])
    with pytest.raises(DatasetError, match=r"b\.json, chat-2: another file of the bundle"):
        inspect_bundle(folder, "locomo")


def test_a_folder_needs_a_manifest_or_a_dataset_and_files(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="no manifest, so name its dataset, one of: locomo"):
        inspect_bundle(tmp_path)
    with pytest.raises(DatasetError, match=r"no file that looks like \*\.json"):
        inspect_bundle(tmp_path, "locomo")
    with pytest.raises(DatasetError, match="expected a folder"):
        inspect_bundle(tmp_path / "none", "locomo")


def test_a_manifest_that_is_no_object_is_refused(folder: Path) -> None:
    (folder / "bundle.json").write_text(json.dumps([]))
    with pytest.raises(DatasetError, match=r"bundle\.json: expected object, got list"):
        inspect_bundle(folder)
