"""`agentmem bench` as a participant runs it: the portal's figures on one's own machine, whatever interrupts it."""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
import zstandard

from contract.auth import AuthScheme
from contract.reasons import reason_text
from contract.reference import MemoryStore, create_app
from evaluation.models import Job, Result
from tests.contract.peers import running
from tests.engine.conftest import Memory
from tests.engine.suite import SECRET, make_job, make_version, open_test_release
from tests.engine.talks import write_bundle
from tests.engine.test_run import run_to_end
from tests.loopback_model import MODEL_NAME, loopback_model

ROOT = Path(__file__).resolve().parent.parent.parent
ADDS, QUESTIONS = 9, 30


@contextmanager
def served(*, auth: AuthScheme = AuthScheme.BEARER, deferred_s: float | None = None) -> Iterator[Memory]:
    store = MemoryStore()
    key = SECRET if auth is not AuthScheme.NONE else ""
    memory = Memory(create_app(store, auth=auth, key=key, deferred_s=deferred_s))
    with running(memory) as url:
        memory.url = url
        yield memory
    store.close()


@pytest.fixture
def server() -> Iterator[Memory]:
    with served() as memory:
        yield memory


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write_bundle(tmp_path / "talks")


def command(url: str, data: Path, out: Path, *more: str) -> list[str]:
    where = ["--data", str(data), "--out", str(out), "--auth", "bearer"]
    return [sys.executable, "-m", "aml.command", "bench", url, *where, *more]


def environment(**more: str) -> dict[str, str]:
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("AGENTMEM_", "DJANGO_", "AML_"))}
    return plain | {"LC_ALL": "C.UTF-8", "COLUMNS": "100", "AGENTMEM_BENCH_KEY": SECRET} | more


def bench(url: str, data: Path, out: Path, *more: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(url, data, out, *more), cwd=ROOT, env=environment(**env), capture_output=True, text=True, timeout=120
    )


@dataclass(frozen=True)
class Done:
    """A run that is done, for tests that only read."""

    server: Memory
    data: Path
    out: Path
    ran: subprocess.CompletedProcess[str]


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Done]:
    folder = tmp_path_factory.mktemp("done")
    data = write_bundle(folder / "talks")
    manifest = json.loads((data / "bundle.json").read_text())
    (data / "bundle.json").write_text(json.dumps({**manifest, "title": "<b>Talks & more</b>"}))
    with served() as server:
        ran = bench(server.url, data, folder / "run")
        assert ran.returncode == 0, ran.stderr
        yield Done(server, data, folder / "run", ran)


def result_in(out: Path) -> dict[str, Any]:
    return json.loads((out / "result.json").read_text(encoding="utf-8"))


def test_the_result_is_the_portal_s_for_the_same_server_and_suite(
    transactional_db: None, settings: Any, tmp_path: Path, data: Path
) -> None:
    with served() as memory:
        settings.AML_ALLOWED_PRIVATE_TARGETS = [memory.url.removeprefix("http://")]
        job: Job = run_to_end(make_job(open_test_release(data), make_version(memory.url)))
        portal = Result.objects.get(job=job)
    with served() as memory:
        ran = bench(memory.url, data, tmp_path / "run")
    assert ran.returncode == 0, ran.stderr
    ours = result_in(tmp_path / "run")
    for name in (
        "overall",
        "n",
        "coverage",
        "answerable",
        "categories",
        "capabilities",
        "datasets",
        "states",
        "digest",
    ):
        assert ours[name] == getattr(portal, name), name
    analysed = {
        "context_tokens_p50",
        "context_tokens_mean",
        "empty_share",
        "same_share",
    }  # the portal's analysis of a run
    assert ours["efficiency"].keys() == portal.efficiency.keys() - analysed
    for name in ("characters_p50", "characters_mean", "memories_mean"):
        assert ours["efficiency"][name] == portal.efficiency[name], name
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert manifest["code"] == job.release.baseline["code"]
    assert manifest["answer"] == job.release.baseline["answer"]
    assert manifest["suite"]["digest"] == job.release.smoke_bundle.digest


def test_a_run_ends_with_a_table_and_three_reports(done: Done) -> None:
    out, ran = done.out, done.ran
    result = result_in(out)
    overall = f"{result['overall'] * 100:.2f}"
    assert re.search(rf"Overall +{re.escape(overall)} +{QUESTIONS}\b", ran.stdout)
    for shown in ("Answerable questions", "Single-hop", "Explicit facts", "Search, 95th percentile", "Characters"):
        assert shown in ran.stdout
    assert f"✓ retrieval {QUESTIONS}/{QUESTIONS}" in ran.stdout
    assert f"| Overall | {overall} | {QUESTIONS} |" in (out / "report.md").read_text(encoding="utf-8")
    report = json.loads((out / "report.json").read_text(encoding="utf-8"))
    assert report["result"] == result
    assert report["titles"]["4"] == "Single-hop"
    assert "fence_key" not in report["run"]
    assert SECRET not in "".join(path.read_text("utf-8", "replace") for path in out.iterdir()) + ran.stdout + ran.stderr


class Page(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in {"meta", "rect", "br"}:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


def test_the_page_needs_nothing_else_and_shows_each_number_beside_its_bar(done: Done) -> None:
    out = done.out
    text = (out / "report.html").read_text(encoding="utf-8")
    page = Page(text)
    assert page.open == []
    assert "<b>" not in text
    assert "&lt;b&gt;Talks &amp; more" in text
    names = [tag for tag, _ in page.tags]
    assert not {"script", "link", "img", "iframe"} & set(names)
    assert not [attrs for _, attrs in page.tags if {"href", "src", "onload"} & attrs.keys()]
    assert "url(" not in text
    assert "color-scheme: light dark" in text
    marks = [attrs for tag, attrs in page.tags if tag == "rect" and attrs["class"] == "mark"]
    assert len(marks) == names.count("svg") > 5
    overall = result_in(out)["overall"]
    assert float(str(marks[0]["width"])) == pytest.approx(240 * overall, abs=0.1)
    assert f'<td class="number">{overall * 100:.2f}</td>' in text


def test_the_same_command_again_asks_nobody_and_shows_the_same(done: Done) -> None:
    kept = {path.name: path.read_bytes() for path in done.out.iterdir()}
    heard = len(done.server.heard)
    again = bench(done.server.url, done.data, done.out)
    assert again.returncode == 0
    assert len(done.server.heard) == heard
    assert "This run is done" in again.stdout
    assert {path.name: path.read_bytes() for path in done.out.iterdir()} == kept
    assert done.ran.stdout.partition("Overall")[2] == again.stdout.partition("Overall")[2]


def test_killed_at_any_moment_it_goes_on_and_asks_nothing_twice_that_was_answered(
    server: Memory, data: Path, tmp_path: Path
) -> None:
    out, lanes, chance, kills = tmp_path / "run", 4, random.Random(9), 0

    async def slow(path: str) -> None:
        await asyncio.sleep(0.05)

    server.before = slow
    for _ in range(6):
        heard = len(server.heard)
        process = subprocess.Popen(
            command(server.url, data, out, "--lanes", str(lanes)),
            cwd=ROOT, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        wanted = heard + chance.randint(1, 7)
        while len(server.heard) < wanted and process.poll() is None:
            time.sleep(0.005)
        time.sleep(chance.random() * 0.05)
        process.kill()
        kills += process.wait() == -signal.SIGKILL
    server.before = None
    ran = bench(server.url, data, out, "--lanes", str(lanes))
    assert ran.returncode == 0, ran.stderr
    assert kills >= 4
    sent = {request: times for request, times in server.seen.items() if request[0] != "/health"}
    assert len(sent) == ADDS + QUESTIONS, "each request has only ever had one body"
    assert sum(times - 1 for times in sent.values()) <= kills * lanes
    with served() as memory:
        assert bench(memory.url, data, tmp_path / "fresh").returncode == 0
    assert result_in(out)["digest"] == result_in(tmp_path / "fresh")["digest"]
    assert result_in(out)["n"] == QUESTIONS
    keys = [json.loads(line)["key"] for line in (out / "judgements.jsonl").read_text().splitlines()]
    assert len(keys) == len(set(keys)) == QUESTIONS


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_it_ends_with_130_and_goes_on(
    server: Memory, data: Path, tmp_path: Path, number: signal.Signals
) -> None:
    async def slow(path: str) -> None:
        await asyncio.sleep(0.1)

    server.before = slow
    process = subprocess.Popen(
        command(server.url, data, tmp_path / "run", "--lanes", "2"),
        cwd=ROOT, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    while len(server.heard) < 5 and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(number)
    _, said = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "The same command goes on" in said
    assert "Traceback" not in said
    server.before = None
    assert bench(server.url, data, tmp_path / "run", "--lanes", "2").returncode == 0
    assert sum(times - 1 for (path, _), times in server.seen.items() if path != "/health") <= 2


def test_a_server_that_breaks_the_contract_ends_it_with_2_and_the_reason(
    server: Memory, data: Path, tmp_path: Path
) -> None:
    server.fault = lambda path, request, times: (200, b'{"data": 3}') if path == "/search" else None
    ran = bench(server.url, data, tmp_path / "run")
    assert ran.returncode == 2
    reason = reason_text("data_type")
    for said in ("data_type", "search eval:", "HTTP 200", reason.expected, reason.advice):
        assert said in ran.stderr
    server.fault = None
    mended = bench(server.url, data, tmp_path / "run")
    assert mended.returncode == 0
    assert "Ended by the server before it went on" in mended.stdout
    assert {times for (path, _), times in server.seen.items() if path == "/add"} == {1}


def test_another_run_is_not_mixed_into_the_folder(done: Done, tmp_path: Path) -> None:
    url, data, heard = done.server.url, done.data, len(done.server.heard)
    other = write_bundle(tmp_path / "other" / "talks", questions=6)
    for more, where, what in (
        (["--top-k", "5", "--limit-scopes", "1"], data, "settings.top_k: 100 ≠ 5"),
        (["--search-url", f"{url}/v2/search"], data, "server.search"),
        ([], other, "suite.digest"),
    ):
        ran = bench(url, where, done.out, *more)
        assert (ran.returncode, what in ran.stderr) == (1, True), ran.stderr
    assert len(done.server.heard) == heard


def test_a_folder_with_other_things_in_it_is_left_alone(done: Done, tmp_path: Path) -> None:
    (tmp_path / "diary.txt").write_text("dear diary")
    assert bench(done.server.url, done.data, tmp_path).returncode == 1
    assert {path.name for path in tmp_path.iterdir()} == {"diary.txt", "lock"}


@pytest.mark.parametrize(
    "arguments",
    [
        ["http://127.0.0.1:1"],
        ["http://127.0.0.1:1", "--suite", "hearth", "--data", "."],
        ["http://127.0.0.1:1", "--suite", "nowhere"],
        ["http://127.0.0.1:1", "--suite", "hearth", "--auth", "bearer"],
        ["http://127.0.0.1:1", "--suite", "hearth", "--answer-model", "m"],
        ["http://127.0.0.1:1", "--suite", "hearth", "--lanes", "0"],
        ["http://127.0.0.1:1", "--suite", "hearth", "--no-such-option"],
        ["http://127.0.0.1:1", "--data", "no-such-folder", "--format", "locomo"],
        ["http://127.0.0.1:1", "--data", ".", "--format", "poetry"],
        ["http://127.0.0.1:1", "--suite", "hearth"],
        ["memory.example.com", "--suite", "hearth"],
        [],
    ],
    ids=lambda arguments: " ".join(arguments[1:]) or "-",
)
def test_a_command_that_cannot_start_ends_with_1_and_says_why(arguments: list[str], tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "aml.command", "bench", *arguments],
        cwd=tmp_path,
        env=environment(AGENTMEM_BENCH_KEY="", PYTHONPATH=str(ROOT)),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ran.returncode == 1, ran.stderr
    assert ran.stderr
    assert "Traceback" not in ran.stderr


def test_the_project_s_own_suite_needs_a_name_and_nothing_else(tmp_path: Path) -> None:
    with served(auth=AuthScheme.NONE) as memory:
        ran = subprocess.run(
            [sys.executable, "-m", "aml.command", "bench", memory.url, "--suite", "hearth", "--limit-scopes", "1"],
            cwd=tmp_path,
            env=environment(AGENTMEM_BENCH_KEY="", PYTHONPATH=str(ROOT)),
            capture_output=True,
            text=True,
            timeout=60,
        )
    assert ran.returncode == 0, ran.stderr
    (out,) = (tmp_path / "agentmem-bench").iterdir()
    assert out.name.startswith("hearth-127.0.0.1-")
    assert result_in(out)["n"] == 12


def test_a_run_that_could_not_start_leaves_the_folder_to_the_next(server: Memory, data: Path, tmp_path: Path) -> None:
    assert bench("http://127.0.0.1:1", data, tmp_path / "run").returncode == 1
    assert bench(server.url, data, tmp_path / "run", "--top-k", "7").returncode == 0
    assert {request["top_k"] for request in server.requests("/search")} == {7}


def test_models_answer_and_score_and_their_keys_are_kept_nowhere(server: Memory, data: Path, tmp_path: Path) -> None:
    keys = {"AGENTMEM_ANSWER_KEY": "sk-answer-0123456789abcdef", "AGENTMEM_JUDGE_KEY": "sk-judge-0123456789abcdef"}
    out = tmp_path / "run"
    with loopback_model() as model:
        models = ["--answer-base-url", model.base_url, "--answer-model", MODEL_NAME]
        models += ["--judge-base-url", model.base_url, "--judge-model", MODEL_NAME]
        ran = bench(server.url, data, out, "--limit-scopes", "1", *models, **keys)
    assert ran.returncode == 0, ran.stderr
    assert result_in(out)["n"] == 10
    answers = [json.loads(line) for line in (out / "answers.jsonl").read_text().splitlines()]
    assert {line["answer"]["model"] for line in answers} == {MODEL_NAME}
    judgements = [json.loads(line) for line in (out / "judgements.jsonl").read_text().splitlines()]
    assert {line["by"] for line in judgements} == {"yesno.judge.v1"}
    everything = "".join(path.read_text("utf-8", "replace") for path in out.iterdir()) + ran.stdout + ran.stderr
    assert not [key for key in keys.values() if key in everything]
    assert MODEL_NAME in ran.stdout


def test_a_model_that_is_not_there_ends_it_with_1_and_the_same_command_goes_on(
    server: Memory, data: Path, tmp_path: Path
) -> None:
    with loopback_model(mode="http_401") as model:
        models = ["--answer-base-url", model.base_url, "--answer-model", MODEL_NAME, "--limit-scopes", "1"]
        failed = bench(server.url, data, tmp_path / "run", *models)
        heard = len(server.heard)
        model.mode = "ok"
        again = bench(server.url, data, tmp_path / "run", *models)
    assert failed.returncode == 1
    assert "model_status" in failed.stderr
    assert "Traceback" not in failed.stderr
    assert again.returncode == 0, again.stderr
    assert len(server.heard) == heard


def test_an_add_that_is_accepted_first_is_asked_after(data: Path, tmp_path: Path) -> None:
    with served(deferred_s=0.1) as memory:
        ran = bench(memory.url, data, tmp_path / "run", "--status-url", f"{memory.url}/add-status/{{task_id}}")
    assert ran.returncode == 0, ran.stderr
    kinds = [
        json.loads(line)["receipt"]["kind"] for line in (tmp_path / "run" / "receipts.jsonl").read_text().splitlines()
    ]
    assert kinds.count("add") == ADDS
    assert kinds.count("add_status") >= ADDS


def test_retrievals_can_be_read_with_zstandard_alone(done: Done) -> None:
    with (done.out / "retrievals.jsonl.zst").open("rb") as file:
        text = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True).read()
    lines = [json.loads(line) for line in text.splitlines()]
    assert len(lines) == QUESTIONS
    assert all(memory["content"] for line in lines for memory in line)


def test_a_disk_that_is_full_ends_it_with_1_and_what_was_kept_is_not_asked_again(
    server: Memory, data: Path, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    full = subprocess.run(
        command(server.url, data, out, "--lanes", "2"),
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (16_000, 16_000)),
    )
    assert full.returncode == 1
    assert "Cannot use a file" in full.stderr
    assert "Traceback" not in full.stderr
    assert (out / "receipts.jsonl").stat().st_size == 16_000
    again = bench(server.url, data, out, "--lanes", "2")
    assert again.returncode == 0, again.stderr
    assert sum(times - 1 for (path, _), times in server.seen.items() if path != "/health") <= 4


def test_two_processes_do_not_work_in_one_folder(server: Memory, data: Path, tmp_path: Path) -> None:
    async def slow(path: str) -> None:
        await asyncio.sleep(0.2)

    server.before = slow
    first = subprocess.Popen(
        command(server.url, data, tmp_path / "run", "--lanes", "1"),
        cwd=ROOT, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    while not server.heard and first.poll() is None:
        time.sleep(0.01)
    second = bench(server.url, data, tmp_path / "run", "--lanes", "1")
    server.before = None
    assert (second.returncode, "Another process" in second.stderr) == (1, True)
    assert first.wait(60) == 0


def test_it_speaks_the_language_of_the_terminal(done: Done, tmp_path: Path) -> None:
    shutil.copytree(done.out, tmp_path / "run")
    ran = bench(done.server.url, done.data, tmp_path / "run", LC_ALL="zh_CN.UTF-8")
    assert ran.returncode == 0, ran.stderr
    assert "谈话" in (tmp_path / "run" / "report.md").read_text(encoding="utf-8")
    assert '<html lang="zh-Hans">' in (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
