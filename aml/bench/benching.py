# translates messages from data
"""`agentmem bench`: the portal's pipeline on one's own server, kept in a folder."""

from __future__ import annotations

import asyncio
import json
import re
import secrets
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

from aml.bench.failed import FailedRun, by_model, by_server, write_failure
from aml.bench.report import Report, read_report, write_reports
from aml.bench.screen import Screen
from aml.speech import gettext as _
from benchmarks.datasets.bundle import MANIFEST as BUNDLE_MANIFEST
from benchmarks.datasets.model import DatasetError
from benchmarks.datasets.registry import DATASETS
from contract.auth import AuthScheme
from contract.client import Client, Target
from contract.conformance import Addresses, home_policy
from contract.conformance.addresses import shown
from contract.messages import Track
from contract.verdicts import Verdict
from evaluation.pipeline.backends import ModelEndpoint, open_answerer, open_judges
from evaluation.pipeline.baseline import answer_baseline, judge_baseline, pipeline_code_hash
from evaluation.pipeline.control import Control, Halt
from evaluation.pipeline.door import ClientDoor
from evaluation.pipeline.files.folder import RESULT, FolderInUse, NotARun, OtherRun, locked, open_manifest, write_whole
from evaluation.pipeline.files.journal import Damaged
from evaluation.pipeline.files.ledger import FileLedger
from evaluation.pipeline.files.run import Ending, FileRun, Settings
from evaluation.pipeline.files.stages import Stages
from evaluation.pipeline.files.suite import FileSuite
from evaluation.pipeline.ports import PlanChanged

__all__ = ["DONE", "INTERRUPTED", "SERVER_FAILED", "Bench", "CannotStart", "run_bench"]

DONE, CANNOT, SERVER_FAILED, INTERRUPTED = 0, 1, 2, 130
SUITES = Path(__file__).resolve().parent.parent.parent / "benchmarks" / "suites"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """What the command line asks for. Of `suite` and `data` one is given; `folder` is None for the usual place."""

    addresses: Addresses
    suite: str
    data: Path | None
    dataset: str | None
    track: Track
    auth: AuthScheme
    key: str
    add_lanes: int
    search_lanes: int
    top_k: int
    folder: Path | None
    answer: ModelEndpoint
    judge: ModelEndpoint
    limit_scopes: int | None
    language: str


class CannotStart(Exception):
    """Nothing was sent, or nothing more can be; the message is for people, in their language."""


def run_bench(asked: Bench) -> int:
    """Run, or go on with a run, show it, write the reports, and return the exit code."""
    screen = Screen()
    try:
        with _told_to_people():
            suite = _open_suite(asked)
            folder = asked.folder or Path("agentmem-bench") / f"{suite.name}-{_file_name(asked.addresses.add)}"
            with locked(folder):
                return _run_in(folder, suite, asked, screen)
    except CannotStart as error:
        screen.say_cannot(str(error))
    return CANNOT


@contextmanager
def _told_to_people() -> Iterator[None]:
    """Turn what ends a run without anybody's fault into words."""
    try:
        yield
    except DatasetError as error:
        raise CannotStart(f"{error.place}: {_(error.message) % error.values}") from error
    except FolderInUse as error:
        message = _("Another process works in %(folder)s. Wait for it, or give another --out.")
        raise CannotStart(message % {"folder": error}) from error
    except NotARun as error:
        message = _("%(folder)s holds other things than a run. Give another --out.")
        raise CannotStart(message % {"folder": error}) from error
    except OtherRun as error:
        lines = [f"  {d.name}: {d.kept} ≠ {d.asked}" for d in error.differences]
        message = _("The folder holds another run. Ask for the same one, or give another --out. What differs:")
        raise CannotStart("\n".join([message, *lines])) from error
    except Damaged as error:
        message = _("The run's folder is damaged at %(place)s. Give another --out.")
        raise CannotStart(message % {"place": error.place}) from error
    except PlanChanged as error:
        message = _("The requests would be others now than those already sent. Give another --out.")
        raise CannotStart(message) from error
    except OSError as error:
        raise CannotStart(_("Cannot use a file: %(why)s") % {"why": error}) from error


def _run_in(folder: Path, suite: FileSuite, asked: Bench, screen: Screen) -> int:
    same = _asked(suite, asked)
    if (folder / RESULT).exists():  # what is done stays as it is under another version of the program
        del same["code"]
    manifest = open_manifest(
        folder,
        asked=same,
        own={
            "code": pipeline_code_hash(),
            "run": secrets.token_hex(16),
            "fence_key": secrets.token_hex(32),
            "begun_at": datetime.now(UTC).isoformat(timespec="seconds"),
        },
    )
    finished = read_report(folder, manifest)
    if finished is not None:
        screen.show_result(finished, again=True)
        write_reports(folder, finished, asked.language)
        screen.say_reports(folder)
        return DONE
    ledger = FileLedger(folder, Stages(adds=suite.adds, searches=suite.searches))
    try:
        return _work(folder, manifest, suite, ledger, asked, screen)
    finally:
        ledger.close()


def _work(
    folder: Path, manifest: dict[str, Any], suite: FileSuite, ledger: FileLedger, asked: Bench, screen: Screen
) -> int:
    control = Control(budget_s=float("inf"))
    run = _file_run(manifest, suite, ledger, asked, control)
    screen.say_begin(suite, shown(asked.addresses.add).removesuffix("/add"), folder, ledger.stages)
    ending = asyncio.run(_until_the_end(run, ledger, control, asked, screen))
    if ending is Ending.STOPPED:
        screen.say_stopped(folder)
        return INTERRUPTED
    if ending is Ending.FAILED and ledger.failure is not None:
        return _tell_failure(folder, manifest, by_server(ledger.failure), ledger, asked, screen, SERVER_FAILED)
    if ending is Ending.MODEL_FAILED:
        failed = by_model(list(run.model_faults.values()), run.model_refusal)
        return _tell_failure(folder, manifest, failed, ledger, asked, screen, CANNOT)
    report = _finish(folder, manifest, run, ledger)
    screen.show_result(report)
    write_reports(folder, report, asked.language)
    screen.say_reports(folder)
    return DONE


def _tell_failure(
    folder: Path,
    manifest: dict[str, Any],
    failed: FailedRun,
    ledger: FileLedger,
    asked: Bench,
    screen: Screen,
    code: int,
) -> int:
    screen.show_failure(failed)
    write_failure(folder, manifest, failed, ledger.stages, asked.language)
    screen.say_reports(folder)
    return code


async def _until_the_end(run: FileRun, ledger: FileLedger, control: Control, asked: Bench, screen: Screen) -> Ending:
    if run.needs_server():
        await _look_for_server(asked)
    with _stopped_by_signals(control), screen.watching(ledger.stages):
        return await run.run()


async def _look_for_server(asked: Bench) -> None:
    """Find out now whether anybody listens, instead of after an hour of patience."""
    outcome, receipt = await Client(home_policy(asked.addresses)).health(asked.addresses.health)
    if receipt.http_status is None and outcome.verdict is not Verdict.OK and outcome.reason is not None:
        from contract.reasons import reason_text

        raise CannotStart(
            _("No answer from %(url)s (%(code)s). %(advice)s")
            % {
                "url": shown(asked.addresses.health),
                "code": outcome.reason.code,
                "advice": _(reason_text(outcome.reason.code).advice),
            }
        )


@contextmanager
def _stopped_by_signals(control: Control) -> Iterator[None]:
    loop = asyncio.get_running_loop()
    signals = (signal.SIGINT, signal.SIGTERM)
    for number in signals:
        loop.add_signal_handler(number, control.halt, Halt.DRAINED)
    try:
        yield
    finally:
        for number in signals:
            loop.remove_signal_handler(number)


def _file_run(
    manifest: dict[str, Any], suite: FileSuite, ledger: FileLedger, asked: Bench, control: Control
) -> FileRun:
    fence_key = bytes.fromhex(manifest["fence_key"])
    metrics = {suite.name: manifest["suite"]["metric"]}
    return FileRun(
        suite=suite,
        ledger=ledger,
        settings=Settings(
            run=manifest["run"],
            top_k=asked.top_k,
            add_lanes=asked.add_lanes,
            search_lanes=asked.search_lanes,
            answers_by_model=bool(asked.answer.base_url),
            scores_by_model=bool(asked.judge.base_url),
        ),
        door=lambda: _door(asked),
        answerer=lambda: open_answerer(manifest["answer"], asked.answer, fence_key=fence_key),
        judges=lambda: open_judges(manifest["judge"], asked.judge, metrics=metrics, fence_key=fence_key),
        control=control,
        clock=lambda: datetime.now(UTC),
    )


def _door(asked: Bench) -> ClientDoor:
    def target(url: str) -> Target:
        return Target(url, asked.auth, (lambda: asked.key) if asked.key else None)

    addresses = asked.addresses
    return ClientDoor(
        Client(home_policy(addresses)),
        track=asked.track,
        add=target(addresses.add),
        search=target(addresses.search),
        status=target(addresses.status) if addresses.status else None,
    )


def _finish(folder: Path, manifest: dict[str, Any], run: FileRun, ledger: FileLedger) -> Report:
    facts, efficiency = run.result()
    result = {
        **asdict(facts),
        "efficiency": efficiency,
        "retries": {count.stage: count.retries for count in ledger.stages.all()},
        "ended_by_server_before": ledger.failures_before,
        "ended_at": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    write_whole(folder / RESULT, json.dumps(result, indent=1, ensure_ascii=False) + "\n")
    return Report(manifest, result)


def _open_suite(asked: Bench) -> FileSuite:
    if asked.data is not None:
        return FileSuite(asked.data, asked.dataset, limit=asked.limit_scopes)
    known = sorted(path.parent.name for path in SUITES.glob(f"*/{BUNDLE_MANIFEST}"))
    if asked.suite not in known:
        message = _("There is no suite %(name)s here. Known: %(known)s.")
        raise CannotStart(message % {"name": asked.suite, "known": ", ".join(known)})
    return FileSuite(SUITES / asked.suite, limit=asked.limit_scopes)


def _asked(suite: FileSuite, asked: Bench) -> dict[str, Any]:
    """What two starts of the same run have in common. No secret is in it: addresses are kept as a digest."""
    facts, addresses = suite.facts, asked.addresses
    metric = DATASETS[facts.manifest.dataset].scored_by(facts.manifest.metric, has_judge=bool(asked.judge.base_url))
    judge = judge_baseline(base_url=asked.judge.base_url, model=asked.judge.model, metrics={suite.dataset: metric})
    return {
        "format": 1,
        "suite": {
            "name": suite.name,
            "title": facts.manifest.title,
            "title_zh": facts.manifest.title_zh,
            "version": facts.manifest.version,
            "dataset": suite.dataset,
            "metric": metric,
            "digest": facts.sha256,
            "files": dict(facts.files),
            "limit_scopes": asked.limit_scopes,
            "scopes": suite.scope_count,
            "questions": suite.searches,
        },
        "server": {
            "add": shown(addresses.add),
            "search": shown(addresses.search),
            "addresses_sha256": _digest(addresses),
            "auth": str(asked.auth),
        },
        "settings": {
            "track": asked.track,
            "top_k": asked.top_k,
            "add_lanes": asked.add_lanes,
            "search_lanes": asked.search_lanes,
        },
        "answer": answer_baseline(
            base_url=asked.answer.base_url, model=asked.answer.model, tokenizer=asked.answer.tokenizer
        ),
        "judge": judge,
        "code": pipeline_code_hash(),
    }


def _digest(addresses: Addresses) -> str:
    text = json.dumps([addresses.add, addresses.search, addresses.status])
    return sha256(text.encode()).hexdigest()


def _file_name(url: str) -> str:
    """A server's address as a part of a file name."""
    return re.sub(r"[^A-Za-z0-9.]+", "-", shown(url).partition("://")[2].removesuffix("/add"))
