"""`agentmem check` as a participant runs it: report, files, language and exit codes."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import pytest
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from typer.testing import CliRunner

from aml import speech
from aml.command import app
from contract.auth import AuthScheme
from contract.conformance import CAUSES, GROUPS, RULES
from contract.faulty import FAULTS, FaultyServer
from tests.contract.cases import ROOT

KEY = "s3cret-key-0001"
SCHEMA = json.loads((ROOT / "contract" / "conformance" / "report.schema.json").read_text(encoding="utf-8"))


@contextmanager
def served(*faults: str, **options: object) -> Iterator[FaultyServer]:
    """Serve in a thread with a loop of its own, as the command runs one too."""
    loop, server = asyncio.new_event_loop(), FaultyServer(*faults, **options)  # type: ignore[arg-type]
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        asyncio.run_coroutine_threadsafe(server.__aenter__(), loop).result(10)
        yield server
    finally:
        asyncio.run_coroutine_threadsafe(server.__aexit__(None, None, None), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()


def check(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    plain = {name: value for name, value in os.environ.items() if not name.startswith("AGENTMEM_")}
    return subprocess.run(
        [sys.executable, "-m", "aml.command", "check", *arguments],
        cwd=ROOT,
        env=plain | {"LC_ALL": "C.UTF-8", "COLUMNS": "100"} | environment,
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_a_server_that_keeps_the_contract_ends_with_0_and_a_line_for_each_rule() -> None:
    with served(auth=AuthScheme.TOKEN, key=KEY) as server:
        ran = check(server.url, "--auth", "token", "--track", "multimodal", AGENTMEM_CHECK_KEY=KEY)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert all(rule.title in ran.stdout for rule in RULES)
    assert all(group in ran.stdout for group in GROUPS.values())
    assert "All well" in ran.stdout
    assert KEY not in ran.stdout + ran.stderr


def test_findings_end_with_1_and_say_code_sent_came_and_what_to_do() -> None:
    with served("leaks_users") as server:
        ran = check(server.url)
    assert ran.returncode == 1
    lines = ran.stdout.splitlines()
    at = next(n for n, line in enumerate(lines) if line.endswith("leak_twin"))
    names = [line.strip().partition(": ")[0] for line in lines[at + 1 : at + 5]]
    assert names == ["what was sent", "what came", "what was expected", "what to do"]
    assert "POST search" in lines[at + 1]
    assert CAUSES["leak_twin"].advice in lines[at + 4]


def test_a_server_that_is_not_there_ends_with_2() -> None:
    with served("connect_refused") as server:
        ran = check(server.url)
    assert ran.returncode == 2
    assert "connect_refused" in ran.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ["--auth", "bearer"],
        ["--key", KEY],
        ["--auth", "bearer", "--key", "two words"],
        ["--json", "-", "--junit", "-"],
        ["--track", "poetry"],
        ["--lang", "fr"],
        ["--ca", "/nowhere/authority.pem"],
    ],
)
def test_a_command_that_makes_no_sense_ends_with_2_and_calls_nobody(arguments: list[str]) -> None:
    with served() as server:
        ran = check(server.url, *arguments)
        assert (ran.returncode, server.connections) == (2, 0)
    assert "Traceback" not in ran.stderr
    assert ran.stderr


def test_json_goes_to_the_standard_output_alone_and_junit_to_a_file(tmp_path: Path) -> None:
    junit = tmp_path / "check.xml"
    with served("malformed_500") as server:
        ran = check(server.url, "--json", "-", "--junit", str(junit))
    data = json.loads(ran.stdout)
    jsonschema.Draft202012Validator(SCHEMA).validate(data)
    assert (ran.returncode, data["exit_code"], data["language"]) == (1, 1, "en")
    assert "malformed_5xx" in ran.stderr
    failed = [case.get("name") for case in ElementTree.parse(junit).getroot() if case.find("failure") is not None]
    assert failed == ["malformed_add", "malformed_search"]


def test_a_report_that_cannot_be_written_ends_with_2(tmp_path: Path) -> None:
    with served() as server:
        ran = check(server.url, "--json", str(tmp_path / "no" / "such" / "folder.json"))
    assert ran.returncode == 2
    assert "Traceback" not in ran.stderr


def test_endpoints_may_stand_anywhere_and_an_authority_may_be_named() -> None:
    with served("tls", "accepted:0") as server:
        elsewhere = server.url + "/elsewhere"
        addresses = ["--add-url", f"{server.url}/v1/add", "--search-url", f"{server.url}/v2/search"]
        addresses += ["--health-url", f"{server.url}/health", "--status-url", f"{server.url}/v1/add-status/{{task_id}}"]
        ran = check(elsewhere, *addresses, "--ca", str(server.authority), "--json", "-")
    data = json.loads(ran.stdout)
    assert ran.returncode == 0, ran.stderr
    assert data["addresses"]["status"] == f"{server.url}/v1/add-status/{{task_id}}"
    outcomes = {line["rule"]: line["outcome"] for line in data["findings"]}
    assert (outcomes["tls"], outcomes["deferred_add"]) == ("pass", "pass")


@pytest.fixture
def chinese(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The committed catalogue, compiled as the installation compiles it."""
    source = ROOT / "locale" / "zh_Hans" / "LC_MESSAGES" / "django.po"
    compiled = tmp_path / "zh_Hans" / "LC_MESSAGES" / "django.mo"
    compiled.parent.mkdir(parents=True)
    with source.open("rb") as text, compiled.open("wb") as binary:
        write_mo(binary, read_po(text, locale="zh_Hans"))
    monkeypatch.setattr(speech, "LOCALE", tmp_path)
    yield tmp_path
    monkeypatch.undo()
    speech.speak(speech.terminal_language())


def test_the_report_is_chinese_when_chinese_is_asked_for(chinese: Path) -> None:
    with served("forgets") as server:
        ran = CliRunner().invoke(app, ["check", server.url, "--lang", "zh", "--json", "-"])
    data = json.loads(ran.stdout)
    assert (ran.exit_code, data["language"]) == (1, "zh")
    for line in data["findings"]:
        for field in ("title", "expected", "advice"):
            assert not line[field] or any("一" <= c <= "鿿" for c in line[field]), (line["rule"], field)
    assert "not_visible" in ran.stderr
    assert any("一" <= c <= "鿿" for c in ran.stderr)


def test_every_sentence_of_the_check_and_of_the_faults_has_a_chinese_one(chinese: Path) -> None:
    speech.speak("zh_Hans")
    sentences = [rule.title for rule in RULES] + list(GROUPS.values()) + [fault.sentence for fault in FAULTS.values()]
    sentences += [text for cause in CAUSES.values() for text in (cause.expected, cause.advice)]
    assert [sentence for sentence in sentences if speech.gettext(sentence) == sentence] == []
