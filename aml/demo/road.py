"""The road of one memory system: access request, approval, key, smoke, full, review, board.

What a participant does goes through the REST API, what an organizer decides through the services that the admin calls.
"""

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import httpx
from django.utils import timezone

from aml.demo.prepare import ACTOR
from evaluation.admission import checklist_for
from evaluation.models import Job
from evaluation.reviews import approve_publication
from leaderboard.models import Board, Snapshot
from leaderboard.services import open_board, publish_board
from submissions.models import AccessRequest, Cycle, Division, Track, Version
from submissions.services import approve_access_request

Progress = Callable[[str, int, int], None]
"""Told the stage, what is done of it and its total."""


REFERENCE_SERVER = {
    "system": "Reference server",
    "version": "bm25-1",
    "division": Division.OPEN_SOURCE,
    "method_description": "BM25 over stored turns; of equal turns the newer one comes first.",
    "public_description": "BM25 over stored turns",
    "run_notes": "Started by the demo with `agentmem serve`.",
    "repository": "https://example.org/reference-memory-server",
    "commit": "0" * 39 + "1",
    "original_authors": "Robertson and Walker (BM25, 1994)",
    "technical_report": "https://example.org/reference-memory-server/report",
    "method_changes": "None",
    "models_used": "None",
}
OWN_SERVER = {
    "system": "Your server",
    "version": "as it runs now",
    "division": Division.COMMERCIAL,
    "method_description": "The server whose address was given to the demo.",
    "public_description": "The server whose address was given to the demo",
    "run_notes": "Started by you.",
}


class RoadBlocked(RuntimeError):
    """A step did not end as it should; the message holds the portal's own words."""


def explain(failure: dict[str, Any]) -> str:
    """Why a run failed, in the portal's own words."""
    lines = [
        ("code", failure["code"]),
        ("whose fault", failure["blame"]),
        ("request", f"{failure['kind']} {failure['request_id']}".strip()),
        ("HTTP status", failure["http_status"]),
        ("expected", failure["expected"]),
        ("came", failure["got"]),
        ("what to do", failure["advice"]),
    ]
    return "\n".join([failure["title"], *(f"  {name}: {text}" for name, text in lines if text)])


@dataclass
class Traveller:
    """A participant with a memory server. `server_url` and `server_key` are what it submits."""

    site: str
    server_url: str
    server_key: str
    cycle: Cycle
    is_reference: bool
    key: str = ""
    receipt: str = ""
    version: str = ""
    last_run: str = ""
    _http: httpx.Client = field(init=False)

    def __post_init__(self) -> None:
        self._http = httpx.Client(base_url=f"{self.site}/api/v1", trust_env=False, timeout=30)

    def request_access(self) -> AccessRequest:
        """Submit the materials; the receipt opens the private status page."""
        answer = self._call("POST", "/access-requests", json=self._materials())
        self.receipt = answer["receipt"]
        return AccessRequest.objects.get(pk=answer["id"])

    def claim(self, access_request: AccessRequest) -> None:
        """Fetch the Leaderboard Key, which is shown once, and note the version that it opens."""
        self.key = self._call("POST", f"/access-requests/{self.receipt}/claim")["key"]
        self._http.headers["Authorization"] = f"Bearer {self.key}"
        self.version = str(access_request.version_id)

    def run(self, mode: str, progress: Progress) -> Job:
        """Start a smoke test or a full evaluation, watch it to its end, and return it."""
        self.start(mode, label=f"demo-{mode}")
        return self.finish(progress)

    def start(self, mode: str, *, label: str) -> None:
        """Start a smoke test or a full evaluation; `label` names it among the key's runs."""
        body: dict[str, Any] = {"version": self.version, "track": Track.TEXTUAL, "run_label": label}
        if mode == Job.Mode.FULL:
            version = Version.objects.get(pk=self.version)
            body["checklist"] = dict.fromkeys(checklist_for(version), True)
        started = self._call("POST", "/smoke-tests" if mode == Job.Mode.SMOKE else "/eval-jobs", json=body)
        self.last_run = started["id"]

    def finish(self, progress: Progress) -> Job:
        """Watch the run that was started last to its end, and return it."""
        ended = self._watch(self.last_run, progress)
        if ended["state"] != Job.State.SUCCEEDED:
            why = explain(ended["failure"]) if ended["failure"] else ""
            raise RoadBlocked(f"The {ended['mode']} evaluation {ended['state']}. {why}")
        return Job.objects.get(pk=ended["id"])

    def result(self, job: Job) -> dict[str, Any]:
        """The private result."""
        return self._call("GET", f"/eval-jobs/{job.pk}/results")

    def board(self, board: Board) -> dict[str, Any]:
        """The public board as readers get it."""
        answer = self._call("GET", f"/boards/{board.cycle.slug}/{board.track}/{board.division}")
        return dict(answer["board"])

    def _watch(self, job_id: str, progress: Progress) -> dict[str, Any]:
        while True:
            job = self._call("GET", f"/eval-jobs/{job_id}")
            for stage in job["progress"]["stages"]:
                progress(stage["stage"], stage["done"], stage["total"])
            if job["state"] not in {Job.State.QUEUED, Job.State.RUNNING}:
                return job
            time.sleep(0.3)

    def _call(self, method: str, path: str, **arguments: Any) -> dict[str, Any]:
        response = self._http.request(method, path, **arguments)
        if response.is_error:
            raise RoadBlocked(f"{method} {path} answered {response.status_code}: {response.text[:600]}")
        answer: dict[str, Any] = response.json()
        return answer

    def _materials(self) -> dict[str, Any]:
        return {
            "cycle": self.cycle.slug,
            "contact_name": "Demo participant",
            "contact_email": "participant@example.org",
            "team": "Demo team",
            "tracks": [Track.TEXTUAL],
            "add_url": f"{self.server_url}/add",
            "search_url": f"{self.server_url}/search",
            "health_url": f"{self.server_url}/health",
            "auth_scheme": "bearer",
            "memory_system_key": self.server_key,
            "allow_plain_http": True,
            "add_concurrency": 16,
            "search_concurrency": 16,
            "stays_reachable": True,
            **(REFERENCE_SERVER if self.is_reference else OWN_SERVER),
        }


def check_counts(job: Job) -> None:
    """Every question of the bundles stands in the result once, in its category.

    Raises RoadBlocked with both counts when one is missing or double.
    """
    expected: Counter[str] = Counter()
    for bundle in job.release.baseline["bundles"].values():
        expected.update(bundle["counts"]["by_category"])
    found = Counter({code: part["n"] for code, part in job.result.categories.items()})
    if found != expected or job.result.n != expected.total():
        raise RoadBlocked(f"The result holds {dict(found)} questions by category, the bundles {dict(expected)}.")


def approve(access_request: AccessRequest) -> None:
    """The organizer's decision on the request."""
    approve_access_request(
        access_request=access_request, actor=ACTOR, reason="The demo's own server.", at=timezone.now()
    )


def publish(job: Job) -> tuple[Board, Snapshot]:
    """The organizer's review of the result, and the board's next snapshot."""
    now = timezone.now()
    approve_publication(review=job.review, actor=ACTOR, reason="All gate checks pass.", at=now)
    board = open_board(cycle=job.cycle, track=job.track, division=job.version.system.division, actor=ACTOR, at=now)
    return board, publish_board(board=board, actor=ACTOR, reason="First result of the demo.", at=now)
