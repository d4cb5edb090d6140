"""A backup that is restored somewhere else holds everything, on the database that the tests run on."""

import json
import os
import re
import shutil
import subprocess
import sys
import uuid
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import yaml
from django.conf import settings as site
from django.core.management import CommandError, call_command
from django.db import connection

from aml.operations import backup as backups
from aml.operations.backup import find_program
from evaluation.evidence.sealing import evidence_storage
from evaluation.models import Job, Segment
from tests.engine.conftest import job, memory, release  # noqa: F401
from tests.engine.test_run import run_to_end

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"


@pytest.fixture
def run(job: Job) -> Job:  # noqa: F811
    return run_to_end(job)


def make(folder: Path) -> Path:
    call_command("backup", str(folder))
    (made,) = folder.iterdir()
    return made


def restore(made: Path, var: Path) -> str:
    """What docs/operations.md says; returns the DATABASE_URL of the restored database."""
    shutil.copytree(made / "evidence", var / "evidence")
    if connection.vendor == "sqlite":
        shutil.copy(made / "database.sqlite3", var / "aml.sqlite3")
        return f"sqlite:///{var / 'aml.sqlite3'}"
    database, name = connection.settings_dict, f"restored_{uuid.uuid4().hex[:8]}"
    options = [f"--host={database['HOST']}", f"--port={database['PORT']}", f"--username={database['USER']}"]
    environment = {**os.environ, "PGPASSWORD": database["PASSWORD"]}
    for command in (
        [find_program("createdb"), *options, name],
        [
            find_program("pg_restore"),
            *options,
            "--no-owner",
            "--exit-on-error",
            f"--dbname={name}",
            made / "database.dump",
        ],
    ):
        subprocess.run(command, env=environment, check=True, capture_output=True)
    user = f"{quote(database['USER'])}:{quote(database['PASSWORD'])}"
    return f"postgres://{user}@{database['HOST']}:{database['PORT']}/{name}"


def manage(url: str, var: Path, *arguments: str) -> str:
    environment = {**os.environ, "DATABASE_URL": url, "AML_VAR_DIR": str(var)}
    ran = subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def test_a_restored_backup_has_every_run_audit_row_and_piece_of_evidence(run: Job, tmp_path: Path) -> None:
    made = make(tmp_path / "backups")
    facts = json.loads((made / "backup.json").read_text())
    assert (facts["evidence_files"], facts["missing"]) == (3, [])
    var = tmp_path / "elsewhere"
    url = restore(made, var)

    assert "Byte-equal." in manage(url, var, "replay", str(run.pk))
    manage(url, var, "verify_audit")
    findings = {row["name"]: row for row in json.loads(manage(url, var, "doctor", "--json"))}
    assert findings["database"]["level"] == findings["migrations"]["level"] == findings["key ring"]["level"] == "ok"


def test_a_backup_that_lacks_evidence_says_so(run: Job, tmp_path: Path) -> None:
    evidence_storage().delete(Segment.objects.filter(job=run)[0].file)
    with pytest.raises(CommandError, match="1 evidence files are missing"):
        call_command("backup", str(tmp_path / "backups"))


def test_a_backup_that_breaks_off_leaves_no_folder_that_looks_whole(db: None, tmp_path: Path, monkeypatch: Any) -> None:
    def full(folder: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(backups, "_copy_evidence", full)
    with pytest.raises(CommandError, match="No space left"):
        call_command("backup", str(tmp_path / "backups"))
    assert [path.suffix for path in (tmp_path / "backups").iterdir()] == [".partial"]


def test_the_units_name_programs_and_settings_that_exist() -> None:
    units = sorted(DEPLOY.glob("systemd/*"))
    assert {unit.suffix for unit in units} == {".service", ".timer"}
    commands = {path.stem for path in ROOT.glob("*/management/commands/*.py")} | {"migrate"}
    for unit in units:
        text = unit.read_text()
        assert set(re.findall(r"manage\.py (\w+)", text)) <= commands
        for name in re.findall(r"\bAML_[A-Z_]+", text):
            assert hasattr(site, name) or f'"{name}"' in (ROOT / "aml" / "settings.py").read_text()


def test_the_compose_file_is_sound_and_runs_commands_that_exist() -> None:
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    commands = {path.stem for path in ROOT.glob("*/management/commands/*.py")} | {"migrate"}
    own = {name: service for name, service in compose["services"].items() if name != "database"}
    assert own.keys() == {"migrate", "web", "workers"}
    for service in own.values():
        words = service["command"]
        assert words[0] == "manage.py"
        assert words[1] in commands
    assert set(compose["volumes"]) == {"database", "var"}


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="opt-in: systemd-analyze is not installed")
def test_systemd_finds_nothing_wrong_in_the_units(tmp_path: Path) -> None:
    for unit in DEPLOY.glob("systemd/*"):
        text = re.sub(r"ExecStart=\S+", f"ExecStart={sys.executable}", unit.read_text())
        (tmp_path / unit.name).write_text(text)
    units = sorted(str(path) for path in tmp_path.iterdir())
    ran = subprocess.run(["systemd-analyze", "verify", *units], capture_output=True, text=True, check=False)
    own = [line for line in ran.stderr.splitlines() if any(Path(unit).name in line for unit in units)]
    assert own == []
