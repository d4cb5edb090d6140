"""A run in files: what is kept survives any cut, and nothing is kept twice."""

import asyncio
import json
import random
from collections.abc import Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
import zstandard

from benchmarks.judging.faults import ModelFault
from benchmarks.judging.rules import RuleJudge
from contract.client import Client, Target
from contract.guard import GuardPolicy
from contract.reference import MemoryStore, create_app
from evaluation.pipeline.answering.offline import OfflineAnswerer
from evaluation.pipeline.control import Control, Halt
from evaluation.pipeline.door import ClientDoor
from evaluation.pipeline.files.folder import FolderInUse, OtherRun, locked, open_manifest
from evaluation.pipeline.files.journal import Damaged, Frames, Journal
from evaluation.pipeline.files.ledger import FileLedger
from evaluation.pipeline.files.run import Ending, FileRun, Settings
from evaluation.pipeline.files.stages import StageCount, Stages
from evaluation.pipeline.files.suite import FileSuite
from evaluation.pipeline.items import ModelRetry
from tests.contract.peers import running
from tests.engine.conftest import Memory
from tests.engine.talks import write_bundle

ADDS, QUESTIONS = 9, 30
RUN = "0123456789abcdef"


class Line(msgspec.Struct):
    number: int
    text: str


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> FileSuite:
    return FileSuite(write_bundle(tmp_path_factory.mktemp("bundle") / "talks"))


@contextmanager
def open_memory() -> Iterator[Memory]:
    store = MemoryStore()
    memory = Memory(create_app(store))
    with running(memory) as url:
        memory.url = url
        yield memory
    store.close()


@pytest.fixture
def peer() -> Iterator[Memory]:
    with open_memory() as memory:
        yield memory


def door_to(url: str) -> ClientDoor:
    host, _, port = url.removeprefix("http://").partition(":")
    client = Client(GuardPolicy(frozenset({(host, int(port))})))
    return ClientDoor(client, track="textual", add=Target(f"{url}/add"), search=Target(f"{url}/search"), status=None)


class Begun:
    """A process's share of a run, as `agentmem bench` begins it."""

    def __init__(self, folder: Path, suite: FileSuite, url: str, *, lanes: int = 8, answerer: Any = None) -> None:
        folder.mkdir(exist_ok=True)
        self.ledger = FileLedger(folder, Stages(adds=suite.adds, searches=suite.searches))
        self.control = Control(budget_s=float("inf"))

        @asynccontextmanager
        async def answers() -> Any:
            yield answerer or OfflineAnswerer()

        @asynccontextmanager
        async def judges() -> Any:
            yield {suite.name: RuleJudge(suite.facts.manifest.metric)}

        self.run = FileRun(
            suite=suite,
            ledger=self.ledger,
            settings=Settings(run=RUN, top_k=100, add_lanes=lanes, search_lanes=lanes),
            door=lambda: door_to(url),
            answerer=answers,
            judges=judges,
            control=self.control,
            clock=lambda: datetime.now(UTC),
            retry=ModelRetry(attempts=2, first_s=0.01),
        )

    def to_end(self) -> Ending:
        try:
            return asyncio.run(self.run.run())
        finally:
            self.ledger.close()


def digest_of_fresh_run(folder: Path, suite: FileSuite) -> str:
    with open_memory() as memory:
        begun = Begun(folder, suite, memory.url)
        assert begun.to_end() is Ending.DONE
        return begun.run.result()[0].digest


def test_a_journal_gives_back_what_was_appended_and_each_record_at_its_place(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "lines.jsonl", Line)
    lines = [Line(n, "猫\n" * n) for n in range(5)]
    spans = journal.append(lines[:2]) + journal.append(lines[2:])
    assert [record for _, record in journal.read()] == lines
    assert [span for span, _ in journal.read()] == spans
    assert [journal.at(span) for span in spans] == lines


def test_a_line_cut_at_any_byte_is_dropped_and_the_next_one_stands_in_its_place(tmp_path: Path) -> None:
    path = tmp_path / "lines.jsonl"
    whole = b'{"number":1,"text":"one"}\n{"number":2,"text":"two"}\n'
    first = whole.index(b"\n") + 1
    for cut in range(first, len(whole)):
        path.write_bytes(whole[:cut])
        journal = Journal(path, Line)
        assert [record.number for _, record in journal.read()] == [1]
        journal.append([Line(3, "three")])
        assert [record.number for _, record in journal.read()] == [1, 3]
        journal.close()


@pytest.mark.parametrize("bad", [b"{}\n", b"\x00\x00\n", b'{"number":"1","text":""}\n'])
def test_a_line_that_is_off_before_the_last_one_is_named(tmp_path: Path, bad: bytes) -> None:
    path = tmp_path / "lines.jsonl"
    path.write_bytes(b'{"number":1,"text":"one"}\n' + bad + b'{"number":2,"text":"two"}\n')
    with pytest.raises(Damaged, match=r"lines\.jsonl, line 2"):
        list(Journal(path, Line).read())


def test_frames_are_read_alone_and_as_one_stream(tmp_path: Path) -> None:
    frames = Frames(tmp_path / "texts.zst")
    texts = [b"one\n", b"two\n" * 1000, "三\n".encode()]
    spans = frames.append(texts)
    assert [frames.at(span) for span in spans] == texts
    with (tmp_path / "texts.zst").open("rb") as file:
        stream = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True)
        assert stream.read() == b"".join(texts)
    frames.end_at(spans[1].end)
    assert (tmp_path / "texts.zst").stat().st_size == spans[1].end
    with pytest.raises(Damaged):
        frames.end_at(spans[2].end)


def test_a_run_keeps_a_line_for_each_attempt_answer_and_score(tmp_path: Path, suite: FileSuite, peer: Memory) -> None:
    begun = Begun(tmp_path / "run", suite, peer.url)
    assert begun.to_end() is Ending.DONE
    facts, efficiency = begun.run.result()
    assert (facts.n, facts.coverage, facts.states) == (QUESTIONS, 1.0, {"scored": QUESTIONS})
    assert facts.overall > 0
    assert efficiency["search_p95_ms"] > 0
    assert efficiency["memories_mean"] > 0
    lines = {path.name: path.read_bytes().count(b"\n") for path in (tmp_path / "run").glob("*.jsonl")}
    assert lines == {"receipts.jsonl": ADDS + QUESTIONS, "answers.jsonl": QUESTIONS, "judgements.jsonl": QUESTIONS}
    assert [(count.done, count.total) for count in begun.ledger.stages.all()] == [(ADDS, ADDS)] + [
        (QUESTIONS, QUESTIONS)
    ] * 3


def test_a_folder_cut_anywhere_goes_on_to_the_same_result(tmp_path: Path, suite: FileSuite) -> None:
    """Each file is cut at a random byte, as if the machine had stopped there; what is gone is asked again."""
    wanted = digest_of_fresh_run(tmp_path / "whole", suite)
    chance = random.Random(4)
    for turn in range(6):
        folder = tmp_path / f"cut-{turn}"
        folder.mkdir()
        for name in ("receipts.jsonl", "retrievals.jsonl.zst"):
            (folder / name).write_bytes((tmp_path / "whole" / name).read_bytes())
        receipts = (folder / "receipts.jsonl").read_bytes()
        kept = receipts[: chance.randrange(len(receipts))]
        (folder / "receipts.jsonl").write_bytes(kept)
        left = ADDS + QUESTIONS - kept.count(b"\n")
        with open_memory() as memory:
            feed(memory, suite)
            memory.heard.clear()
            begun = Begun(folder, suite, memory.url)
            assert begun.to_end() is Ending.DONE
            assert begun.run.result()[0].digest == wanted
            assert len(memory.heard) == left


def feed(memory: Memory, suite: FileSuite) -> None:
    """Let the server know what the first run has written into it."""

    async def add_all() -> None:
        door = door_to(memory.url)
        for scope in suite.scopes():
            for event in suite.plan(scope, run=RUN, top_k=100):
                if hasattr(event.request, "messages"):
                    await door.add(event, attempt=1, task_id="")

    asyncio.run(add_all())


def test_a_retrieval_file_that_is_shorter_than_its_receipts_say_is_named(
    tmp_path: Path, suite: FileSuite, peer: Memory
) -> None:
    folder = tmp_path / "run"
    assert Begun(folder, suite, peer.url).to_end() is Ending.DONE
    (folder / "retrievals.jsonl.zst").write_bytes(b"")
    with pytest.raises(Damaged, match="retrievals"):
        FileLedger(folder, Stages(adds=ADDS, searches=QUESTIONS))


def test_a_finished_run_asks_nobody_anything_again(tmp_path: Path, suite: FileSuite, peer: Memory) -> None:
    first = Begun(tmp_path / "run", suite, peer.url)
    assert first.to_end() is Ending.DONE
    peer.heard.clear()
    again = Begun(tmp_path / "run", suite, peer.url)
    assert not again.run.needs_server()
    assert again.to_end() is Ending.DONE
    assert again.run.result() == first.run.result()
    assert peer.heard == []


def test_a_halted_run_stops_and_goes_on_where_it_stood(tmp_path: Path, suite: FileSuite, peer: Memory) -> None:
    stopped = Begun(tmp_path / "run", suite, peer.url, lanes=2)

    async def halt_at_the_twelfth(path: str) -> None:
        if len(peer.heard) == 12:
            stopped.control.halt(Halt.DRAINED)
        await asyncio.sleep(0.03)

    peer.before = halt_at_the_twelfth
    assert stopped.to_end() is Ending.STOPPED
    assert 12 <= len(peer.heard) < ADDS + QUESTIONS
    peer.before = None
    assert Begun(tmp_path / "run", suite, peer.url).to_end() is Ending.DONE
    again = sum(times - 1 for times in peer.seen.values())
    assert again <= 2
    assert len(peer.seen) == ADDS + QUESTIONS


def test_an_event_that_has_failed_for_good_is_sent_again_by_the_next_process(
    tmp_path: Path, suite: FileSuite, peer: Memory
) -> None:
    peer.fault = lambda path, request, times: (400, b"{}") if path == "/search" else None
    failed = Begun(tmp_path / "run", suite, peer.url, lanes=1)
    assert failed.to_end() is Ending.FAILED
    assert failed.ledger.failure is not None
    assert failed.ledger.failure.code == "http_400"
    peer.fault = None
    mended = Begun(tmp_path / "run", suite, peer.url)
    assert mended.to_end() is Ending.DONE
    assert mended.ledger.failures_before == 1
    assert times_heard(peer, "/add") == {1}
    assert mended.run.result()[0].digest == digest_of_fresh_run(tmp_path / "fresh", suite)


def times_heard(peer: Memory, wanted: str) -> set[int]:
    return {times for (path, _), times in peer.seen.items() if path == wanted}


def test_retries_are_counted_and_cost_no_point(tmp_path: Path, suite: FileSuite, peer: Memory) -> None:
    peer.fault = lambda path, request, times: (503, b"busy") if times == 1 else None
    begun = Begun(tmp_path / "run", suite, peer.url)
    assert begun.to_end() is Ending.DONE
    assert [count.retries for count in begun.ledger.stages.all()] == [ADDS, QUESTIONS, 0, 0]
    assert begun.run.result()[0].digest == digest_of_fresh_run(tmp_path / "fresh", suite)
    reopened = FileLedger(tmp_path / "run", Stages(adds=ADDS, searches=QUESTIONS))
    assert reopened.stages["retrieval"].retries == QUESTIONS


class Moody(OfflineAnswerer):
    """Fails on every question the first `times`."""

    def __init__(self, times: int) -> None:
        self.left: dict[str, int] = {}
        self.times = times

    async def answer(self, question: Any, memories: Any) -> Any:
        if self.left.setdefault(question.key, self.times) > 0:
            self.left[question.key] -= 1
            raise ModelFault("model_timeout", "no answer")
        return await super().answer(question, memories)


def test_a_model_that_fails_once_is_asked_again_and_costs_no_point(
    tmp_path: Path, suite: FileSuite, peer: Memory
) -> None:
    begun = Begun(tmp_path / "run", suite, peer.url, answerer=Moody(1))
    assert begun.to_end() is Ending.DONE
    assert begun.ledger.stages["answering"].retries == QUESTIONS
    assert begun.run.result()[0].digest == digest_of_fresh_run(tmp_path / "fresh", suite)


class Refusing(OfflineAnswerer):
    async def answer(self, question: Any, memories: Any) -> Any:
        raise ModelFault("model_status", "the key is wrong", transient=False)


def test_a_model_that_refuses_for_good_ends_the_process_at_once(tmp_path: Path, suite: FileSuite, peer: Memory) -> None:
    begun = Begun(tmp_path / "run", suite, peer.url, answerer=Refusing())
    assert begun.to_end() is Ending.MODEL_FAILED
    assert str(begun.run.model_refusal) == "model_status: the key is wrong"


def test_lanes_that_a_busy_server_has_closed_stay_closed_in_the_next_process(
    tmp_path: Path, suite: FileSuite, peer: Memory
) -> None:
    peer.fault = lambda path, request, times: (429, b"busy") if path == "/search" and times == 1 else None
    begun = Begun(tmp_path / "run", suite, peer.url)
    assert begun.to_end() is Ending.DONE
    reopened = FileLedger(tmp_path / "run", Stages(adds=ADDS, searches=QUESTIONS))
    assert reopened.stages["retrieval"].lanes == begun.ledger.stages["retrieval"].lanes == 6
    assert reopened.stages["ingestion"].lanes is None


def test_a_model_that_stays_away_ends_the_process_and_the_next_one_asks_only_it(
    tmp_path: Path, suite: FileSuite, peer: Memory
) -> None:
    failed = Begun(tmp_path / "run", suite, peer.url, answerer=Moody(99))
    assert failed.to_end() is Ending.MODEL_FAILED
    assert {outcome.result.code for outcome in failed.run.model_faults.values()} == {"model_timeout"}
    peer.heard.clear()
    assert Begun(tmp_path / "run", suite, peer.url).to_end() is Ending.DONE
    assert peer.heard == []


def test_the_folder_is_one_process_s_at_a_time(tmp_path: Path) -> None:
    with locked(tmp_path / "run"), pytest.raises(FolderInUse), locked(tmp_path / "run"):
        pass
    with locked(tmp_path / "run"):
        pass


def test_a_manifest_is_kept_and_another_run_is_refused_by_what_differs(tmp_path: Path) -> None:
    asked = {"suite": {"digest": "a", "n": 1}, "code": "c"}
    first = open_manifest(tmp_path, asked={**asked, "code": "older"}, own={"run": "0"})
    assert first["run"] == "0"
    first = open_manifest(tmp_path, asked=asked, own={"run": "1"})
    (tmp_path / "receipts.jsonl").write_text("{}\n")
    assert open_manifest(tmp_path, asked=asked, own={"run": "2"}) == first == {**asked, "run": "1"}
    with pytest.raises(OtherRun) as caught:
        open_manifest(tmp_path, asked={"suite": {"digest": "b", "n": 1}, "code": "c"}, own={"run": "2"})
    assert [(d.name, d.kept, d.asked) for d in caught.value.differences] == [("suite.digest", "a", "b")]
    (tmp_path / "manifest.json").write_text("[]")
    with pytest.raises(Damaged):
        open_manifest(tmp_path, asked=asked, own={"run": "2"})


def test_a_stage_tells_its_rate_by_what_this_process_did() -> None:
    stages = Stages(adds=10, searches=100)
    stages.add("retrieval", done=40)
    stages.begin("retrieval", 1000.0)
    count: StageCount = stages["retrieval"]
    assert (count.rate(1010.0), count.left_s(1010.0)) == (None, None)
    stages.add("retrieval", done=20)
    assert (count.rate(1010.0), count.left_s(1010.0)) == (2.0, 20.0)


def test_only_the_first_conversations_are_taken_when_that_is_asked(tmp_path: Path) -> None:
    limited = FileSuite(write_bundle(tmp_path / "talks"), limit=1)
    assert (limited.scope_count, limited.adds, limited.searches) == (1, 3, 10)
    assert len(list(limited.items(run=RUN, top_k=10))) == 10


def test_no_memory_and_no_answer_is_kept_where_receipts_are(tmp_path: Path, suite: FileSuite, peer: Memory) -> None:
    assert Begun(tmp_path / "run", suite, peer.url).to_end() is Ending.DONE
    first = json.loads((tmp_path / "run" / "receipts.jsonl").read_text().splitlines()[-1])
    assert first["retrieval"].keys() == {"span", "count", "characters", "sha256"}
    assert "content" not in json.dumps(first)
