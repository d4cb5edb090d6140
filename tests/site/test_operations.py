"""Logs, metrics and the doctor."""

import io
import json
import logging
import os
import subprocess
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection
from django.db.utils import OperationalError
from django.test import Client
from django.utils import timezone

from aml.operations.doctor import Finding, examine
from aml.operations.logs import ContextFilter, JsonFormatter
from contract.redaction import RedactingFilter
from evaluation.logs import job_logs
from evaluation.models import Release
from evaluation.workers import note_worker
from tests.evaluation import builders

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def lines() -> Any:
    """What the console would show as JSON, with the handler's own filters."""
    out = io.StringIO()
    handler = logging.StreamHandler(out)
    handler.setFormatter(JsonFormatter())
    handler.addFilter(ContextFilter())
    handler.addFilter(RedactingFilter())
    logging.getLogger().addHandler(handler)
    yield lambda: [json.loads(line) for line in out.getvalue().splitlines()]
    logging.getLogger().removeHandler(handler)


def test_a_request_is_logged_by_its_route_and_id_without_path_or_query(client: Client, db: None, lines: Any) -> None:
    response = client.get("/en/request-access/status/a-secret-token/?q=private", headers={"X-Request-ID": "proxy-0001"})
    assert response.headers["X-Request-ID"] == "proxy-0001"
    (entry,) = [line for line in lines() if line["logger"] == "aml.access"]
    assert (entry["request_id"], entry["method"], entry["status"]) == ("proxy-0001", "GET", response.status_code)
    assert entry["route"].startswith("submissions:") or entry["route"] == "-"
    assert entry["milliseconds"] > 0
    assert not any(word in json.dumps(entry) for word in ("a-secret-token", "private"))


@pytest.mark.parametrize("given", ["", "short", "x" * 65, "with space in", "evil\u2028id", 'a"b<c>d;e'])
def test_an_unsound_request_id_is_replaced(client: Client, given: str, db: None) -> None:
    found = client.get("/en/status/", headers={"X-Request-ID": given} if given else {}).headers["X-Request-ID"]
    assert found != given
    assert len(found) == 32


def test_every_record_of_a_job_names_it_from_any_thread(lines: Any) -> None:
    from concurrent.futures import ThreadPoolExecutor

    log = logging.getLogger("evaluation.test")
    with job_logs("job-7"), ThreadPoolExecutor(1) as pool:
        log.warning("here")
        pool.submit(log.warning, "there").result()
    log.warning("after")
    assert [line.get("job_id") for line in lines()] == ["job-7", "job-7", None]


def test_json_lines_keep_tracebacks_and_no_secret(lines: Any) -> None:
    try:
        raise ValueError("with aml_live_abcdefgh12345678")
    except ValueError:
        logging.getLogger("evaluation.test").exception("it broke\nover two lines")
    (entry,) = lines()
    assert entry["message"] == "it broke\nover two lines"
    assert "ValueError" in entry["traceback"]
    assert "abcdefgh12345678" not in json.dumps(entry)


def test_an_unknown_log_format_stops_the_start(tmp_path: Path) -> None:
    environment = {**os.environ, "AML_LOG_FORMAT": "xml", "AML_VAR_DIR": str(tmp_path)}
    ran = subprocess.run(
        [sys.executable, "manage.py", "check"], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert ran.returncode != 0
    assert "Expected line or json" in ran.stderr


def test_metrics_are_off_until_a_token_is_set_and_need_it(client: Client, db: None, settings: Any) -> None:
    assert client.get("/metrics").status_code == 404
    settings.AML_METRICS = "a-token"
    assert client.get("/metrics").status_code == 401
    assert client.get("/metrics", headers={"Authorization": "Bearer a-tokem"}).status_code == 401
    assert client.get("/metrics", headers={"Authorization": "Bearer é"}).status_code == 401
    response = client.get("/metrics", headers={"Authorization": "Bearer a-token"})
    assert response.status_code == 200
    assert response.headers["Content-Type"].startswith("text/plain; version=0.0.4")


def test_metrics_count_what_is_there(client: Client, db: None, settings: Any, tmp_path: Path) -> None:
    settings.AML_METRICS = "a-token"
    builders.make_release(tmp_path / "talks")
    builders.start(builders.make_entrant())
    note_worker(name="host:1", processes=3, at=timezone.now())
    text = client.get("/metrics", headers={"Authorization": "Bearer a-token"}).content.decode()
    samples = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    assert samples['aml_jobs{state="queued",mode="smoke"}'] == "1"
    assert samples["aml_worker_processes"] == "3"
    assert samples["aml_worker_processes_busy"] == "0"
    assert all(float(value) >= 0 for value in samples.values())
    names = [line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")]
    assert len(names) == len(set(names))
    assert {sample.partition("{")[0] for sample in samples} <= set(names)


def found(name: str) -> list[Finding]:
    return [finding for finding in examine(timezone.now()) if finding.name == name]


def level(name: str) -> set[str]:
    return {finding.level for finding in found(name)}


@pytest.fixture
def healthy(db: None, tmp_path: Path) -> Release:
    note_worker(name="host:1", processes=2, at=timezone.now())
    return builders.make_release(tmp_path / "talks")


def run_doctor(*arguments: str) -> tuple[int, str]:
    out = io.StringIO()
    try:
        with redirect_stdout(out):
            call_command("doctor", *arguments, stdout=out)
    except SystemExit as end:
        return int(end.code or 0), out.getvalue()
    return 0, out.getvalue()


def test_a_healthy_portal_passes(healthy: Release) -> None:
    code, text = run_doctor()
    assert (code, "failure" in text) == (0, False)
    names = {row["name"] for row in json.loads(run_doctor("--json")[1])}
    expected = {"database", "migrations", "key ring", "storage", "releases", "workers", "mail", "private targets"}
    assert names == expected


def test_warnings_count_only_when_strict(db: None) -> None:
    assert level("workers") == level("releases") == {"warning"}
    assert run_doctor()[0] == 0
    assert run_doctor("--strict")[0] == 1


def test_work_without_a_worker_is_a_failure(healthy: Release) -> None:
    from evaluation.models import Worker

    builders.start(builders.make_entrant())
    assert level("workers") == {"ok"}
    Worker.objects.all().delete()
    assert level("workers") == {"failure"}
    assert run_doctor()[0] == 1


def test_a_release_that_drifted_is_a_failure(healthy: Release) -> None:
    healthy.baseline["code"] = "0" * 64
    healthy.save()
    (finding,) = found("releases")
    assert finding.level == "failure"
    assert "code" in finding.found


def test_a_key_that_left_the_ring_is_a_failure_and_an_older_one_a_warning(healthy: Release, settings: Any) -> None:
    builders.make_entrant()
    assert level("key ring") == {"ok"}
    ring = settings.AML_SECRETS_KEYS
    settings.AML_SECRETS_KEYS = "k9:" + "B" * 43 + "=," + ring
    assert level("key ring") == {"warning"}
    settings.AML_SECRETS_KEYS = "k9:" + "B" * 43 + "="
    assert level("key ring") == {"failure"}
    settings.AML_SECRETS_KEYS = "no key"
    (finding,) = found("key ring")
    assert finding.level == "failure"


def test_a_storage_that_cannot_be_written_is_a_failure(healthy: Release, settings: Any, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    broken = {**settings.STORAGES["evidence"], "OPTIONS": {"location": tmp_path / "file" / "evidence"}}
    settings.STORAGES = {**settings.STORAGES, "evidence": broken}
    assert level("storage") == {"failure"}


def test_a_mail_server_that_is_away_is_a_failure(healthy: Release, settings: Any) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", 9
    assert "failure" in level("mail")


def test_private_targets_of_a_public_board_are_named(healthy: Release, settings: Any) -> None:
    settings.AML_ALLOWED_PRIVATE_TARGETS = ["127.0.0.1:8801"]
    settings.DEBUG = False
    assert level("private targets") == {"warning"}


def test_without_a_database_the_doctor_says_so_and_stops(healthy: Release) -> None:
    def refuse(*args: Any, **kwargs: Any) -> None:
        raise OperationalError("password of somebody")

    with connection.execute_wrapper(refuse):
        code, text = run_doctor()
    assert code == 1
    assert "database" in text
    assert "migrations" not in text
    assert "somebody" not in text
