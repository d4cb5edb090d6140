"""Starts the portal's programs, walks the road with progress on the terminal, and shows the board at its end."""

import json
import signal
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx

from aml.demo import prepare
from aml.demo.memory import PeakMemory
from aml.demo.road import RoadBlocked, Traveller, approve, check_counts, publish
from aml.demo.screen import Screen
from aml.processes import Fleet, Program, StartFailed, python, web_server
from evaluation.models import Job
from submissions.models import Cycle
from submissions.refusals import Refusal


@dataclass(frozen=True, slots=True)
class Plan:
    """What the command line asked for."""

    folder: Path
    web_port: int
    server: str
    server_key: str
    starts_server: bool
    bundle: Path | None
    dataset: str
    figures: bool
    walks: bool
    stays: bool
    facts_file: Path | None

    @property
    def site(self) -> str:
        return f"http://127.0.0.1:{self.web_port}"


@dataclass(slots=True)
class Facts:
    """Addresses and logins of the running demo; paths follow the language prefix."""

    site: str
    server: str
    server_key: str
    organizer: str
    organizer_password: str
    cycle: str
    leaderboard_key: str = ""
    receipt: str = ""
    job: str = ""
    board: str = ""
    entry: str = ""


def run(plan: Plan) -> int:
    """Walk the whole demo; the exit code is 0 when it came to its end."""
    screen = Screen()
    with Fleet() as fleet:
        try:
            facts, cycle = _prepare(plan, screen)
            worker = start_programs(plan, fleet, screen)
            came_through = not plan.walks or _try_the_road(plan, facts, cycle, worker, screen)
            _say_where(facts, screen)
            if plan.facts_file is not None and came_through:
                _write(plan.facts_file, facts)
            if plan.stays:
                screen.console.print("Everything stays up until Ctrl-C.")
                signal.pause()
        except KeyboardInterrupt:
            screen.console.print("Stopping.")
        except StartFailed as error:
            screen.stopped(str(error))
            return 1
    return 0 if came_through else 1


def _try_the_road(plan: Plan, facts: Facts, cycle: Cycle, worker: Program, screen: Screen) -> bool:
    try:
        _walk(plan, facts, cycle, worker, screen)
    except RoadBlocked as error:
        screen.stopped(str(error))
    except Refusal as error:
        screen.stopped(f"{error.message} ({error.code})")
    else:
        return True
    return False


def _prepare(plan: Plan, screen: Screen) -> tuple[Facts, Cycle]:
    with screen.step("Prepare the database"):
        prepare.prepare_database()
        password = prepare.make_organizer()
        cycle = prepare.open_cycle()
    with screen.step("Register the bundles and open a release"):
        release = prepare.open_demo_release(plan.bundle, plan.dataset)
        screen.note(f"{release.name}, {release.digest[:12]}")
    facts = Facts(
        site=plan.site,
        server=plan.server,
        server_key=plan.server_key,
        organizer=prepare.ORGANIZER,
        organizer_password=password,
        cycle=cycle.slug,
    )
    return facts, cycle


def start_programs(plan: Plan, fleet: Fleet, screen: Screen) -> Program:
    """Start what the demo needs, and return the worker."""
    logs = plan.folder / "logs"
    with screen.step("Start memory server, worker and web server"):
        if plan.starts_server:
            _start_memory_server(plan, fleet)
        else:
            _ask_health(plan.server)
        worker = fleet.start("worker", python("manage.py", "runworker"), log=logs / "worker.log")
        command = web_server(host="127.0.0.1", port=plan.web_port, workers=1)
        web = fleet.start("web server", command, log=logs / "web.log")
        fleet.wait_until_answers(web, f"{plan.site}/healthz")
    return worker


def _start_memory_server(plan: Plan, fleet: Fleet) -> None:
    port = str(urlsplit(plan.server).port)
    database = str(plan.folder / "memories.sqlite3")
    server = fleet.start(
        "memory server",
        python("-m", "aml.command", "serve", "--port", port, "--auth", "bearer", "--database", database),
        # In the environment, so that the key does not stand in the list of processes.
        environment={"AGENTMEM_SERVE_KEY": plan.server_key},
        log=plan.folder / "logs" / "server.log",
    )
    fleet.wait_until_answers(server, f"{plan.server}/health")


def _ask_health(server: str) -> None:
    """A server that is not there is better named now than by two hours of retries. Any answer will do."""
    try:
        httpx.get(f"{server}/health", trust_env=False, timeout=10)
    except httpx.HTTPError as error:
        raise StartFailed(
            f"Nothing answers at {server}/health ({type(error).__name__}). Start your memory server there first, "
            "or correct the address after SERVER=."
        ) from error


def _walk(plan: Plan, facts: Facts, cycle: Cycle, worker: Program, screen: Screen) -> None:
    traveller = Traveller(plan.site, plan.server, facts.server_key, cycle, is_reference=plan.starts_server)
    with screen.step("Request access"):
        access_request = traveller.request_access()
        facts.receipt = f"/request-access/status/{traveller.receipt}/"
    with screen.step("Approve the request and claim the Leaderboard Key"):
        approve(access_request)
        traveller.claim(access_request)
        facts.leaderboard_key = traveller.key
    _evaluate(Job.Mode.SMOKE, traveller, facts, screen)
    started = time.monotonic()
    with PeakMemory(worker.process.pid) as memory:
        job = _evaluate(Job.Mode.FULL, traveller, facts, screen)
    wall_s = time.monotonic() - started
    check_counts(job)
    with screen.step("Run the reference arms"):
        arms = prepare.run_reference_arms(job.release)
        screen.note(", ".join(f"{arm.arm} {100 * (arm.overall or 0):.2f}" for arm in arms))
    with screen.step("Review the result and publish the board"):
        board, snapshot = publish(job)
        screen.note(f"snapshot {snapshot.number}, {snapshot.digest[:12]}")
        facts.board = f"/leaderboard/{board.cycle.slug}/{board.track}/{board.division}/"
        facts.entry = f"/leaderboard/entries/{board.entries.get(job=job).pk}/"
    _show_results(traveller, job, traveller.board(board), screen)
    if plan.figures:
        screen.console.print(
            f"Full evaluation: wall time {wall_s:.1f} s; "
            f"peak memory of one worker process {memory.largest_mib:.0f} MiB, "
            f"of supervisor and all workers together {memory.together_mib:.0f} MiB"
        )


def _evaluate(mode: str, traveller: Traveller, facts: Facts, screen: Screen) -> Job:
    with screen.bars() as bars:
        tasks = {stage: bars.add_task(f"{mode} {stage}", total=None) for stage in Job.Stage.values}

        def progress(stage: str, done: int, total: int) -> None:
            bars.update(tasks[stage], completed=done, total=total or None)

        started = time.monotonic()
        try:
            job = traveller.run(mode, progress)
        finally:
            facts.job = f"/evaluation/runs/{traveller.last_run}/" if traveller.last_run else ""
    seconds = time.monotonic() - started
    screen.console.print(
        f"[green]done[/]  {mode.capitalize()} evaluation: {job.result.n:,} questions [dim]({seconds:.1f} s)[/]"
    )
    return job


def _show_results(traveller: Traveller, job: Job, board: dict[str, Any], screen: Screen) -> None:
    result = traveller.result(job)
    screen.parts("Parts of the result", [*result["datasets"], *result["categories"], *result["capabilities"]])
    screen.board(f"Board {job.cycle.name} · {job.track} · {job.version.system.division}", board["entries"])


def _say_where(facts: Facts, screen: Screen) -> None:
    lines = [
        ("Board", f"{facts.site}/en{facts.board}" if facts.board else ""),
        ("榜单", f"{facts.site}/zh-hans{facts.board}" if facts.board else ""),
        ("Portal", f"{facts.site}/"),
        ("Run", f"{facts.site}/en{facts.job}" if facts.job else ""),
        ("Key", facts.leaderboard_key),
        ("Organizer", f"{facts.site}/en/admin/  login {facts.organizer}  password {facts.organizer_password}"),
    ]
    for name, text in lines:
        if text:
            screen.console.print(f"{name:<10}{text}", soft_wrap=True)


def _write(path: Path, facts: Facts) -> None:
    """Appear at once and whole: somebody waits for this file."""
    unfinished = path.with_suffix(".part")
    unfinished.write_text(json.dumps(asdict(facts)))
    unfinished.chmod(0o600)
    unfinished.rename(path)
