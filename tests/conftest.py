"""Fixtures that every part of the suite may use."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.db import connections
from django.test import override_settings
from django.utils import translation

from tests.append_only import flush_empties_append_only_tables  # noqa: F401

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(autouse=True)
def _in_english() -> Iterator[None]:
    """A request in Chinese leaves its language behind in the thread; no test may depend on who ran before."""
    with translation.override("en"):
        yield


def shared_folder(variable: str, name: str) -> Path:
    """The folder that `variable` names, else `../shared/<name>` beside the repository; the test skips without it."""
    folder = Path(os.environ.get(variable, ROOT.parent / "shared" / name))
    if not folder.is_dir():
        pytest.skip(f"{variable} is not set and ../shared/{name} is not there")
    return folder


@pytest.fixture(scope="session", autouse=True)
def _evidence_of_its_own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Runs under test leave their evidence in a folder that goes with them."""
    from django.conf import settings

    evidence = {**settings.STORAGES["evidence"], "OPTIONS": {"location": tmp_path_factory.mktemp("evidence")}}
    with override_settings(STORAGES={**settings.STORAGES, "evidence": evidence}):
        yield


@pytest.fixture(autouse=True)
def _code_may_be_edited(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever edits the tree while its tests run is no deployment that forgot to start again."""
    monkeypatch.setattr("evaluation.releasechecks.changed_code_files", list)


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Public data sets, which the project does not ship."""
    return shared_folder("AML_DATA_DIR", "data")


@pytest.fixture(scope="session")
def cases_dir() -> Path:
    """Cases with their right answers, which the project does not ship."""
    return shared_folder("AML_CASES_DIR", "cases")


@pytest.fixture(scope="session")
def django_db_modify_db_settings(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> None:
    """SQLite under test is a file, as in use: workers read and write from threads and processes of their own."""
    database = connections["default"].settings_dict
    if database["ENGINE"] == "django.db.backends.sqlite3":
        database["TEST"]["NAME"] = str(tmp_path_factory.mktemp("database") / "test.sqlite3")
    else:
        request.getfixturevalue("django_db_modify_db_settings_parallel_suffix")
