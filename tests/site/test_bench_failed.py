"""`agentmem bench` that fails leaves a report of what failed and how to go on; a later success takes its place."""

import json
from pathlib import Path
from typing import Any

from tests.engine.conftest import Memory
from tests.loopback_model import MODEL_NAME, loopback_model
from tests.site.test_bench_command import bench, data, server  # noqa: F401


def reports(out: Path) -> tuple[str, str, dict[str, Any]]:
    return (
        (out / "report.html").read_text(),
        (out / "report.md").read_text(),
        json.loads((out / "report.json").read_text()),
    )


def test_a_server_that_breaks_the_contract_is_named_in_every_report(
    server: Memory,  # noqa: F811
    data: Path,  # noqa: F811
    tmp_path: Path,
) -> None:
    out = tmp_path / "run"
    server.fault = lambda path, request, times: (200, b'{"results": "<b>"}') if path == "/search" else None
    failed = bench(server.url, data, out)
    html, markdown, found = reports(out)

    assert failed.returncode == 2
    assert "report.html" in failed.stdout
    assert (found["failure"]["ended_by"], found["failure"]["codes"]) == ("server", ["data_missing"])
    assert found["stages"]["ingestion"]["done"] == found["stages"]["ingestion"]["total"]
    assert "fence_key" not in found["run"]
    for text in (html, markdown.replace("\\", ""), json.dumps(found)):
        assert "data_missing" in text
        assert "what to do" in text
        assert "the same command then goes on from here" in text
    assert "<b>" not in html
    assert "<script" not in html

    server.fault = None
    assert bench(server.url, data, out).returncode == 0
    html, markdown, found = reports(out)
    assert "failure" not in found
    assert "data_missing" not in html + markdown


def test_a_model_that_fails_leaves_its_report_too(server: Memory, data: Path, tmp_path: Path) -> None:  # noqa: F811
    with loopback_model(mode="http_401") as model:
        models = ["--answer-base-url", model.base_url, "--answer-model", MODEL_NAME, "--limit-scopes", "1"]
        failed = bench(server.url, data, tmp_path / "run", *models)
    html, _markdown, found = reports(tmp_path / "run")

    assert failed.returncode == 1
    assert (found["failure"]["ended_by"], found["failure"]["codes"]) == ("model", ["model_status"])
    assert "The same command tries them again." in html
