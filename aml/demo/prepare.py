"""What a fresh database needs before the demo's road: a cycle of its own, bundles, a release, an organizer."""

import secrets
from datetime import timedelta
from pathlib import Path

from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.utils import timezone

from benchmarks.models import Bundle
from benchmarks.services import register_bundle, register_own_suites
from evaluation.arms.running import run_arm
from evaluation.models import ArmRun, Release
from evaluation.releases import open_release
from submissions.models import Cycle, Prize, Track

ORGANIZER = "organizer"
ACTOR = f"organizer:{ORGANIZER}"


def prepare_database() -> None:
    """Tables, static files, the challenge's real cycles and the organizers' groups."""
    call_command("migrate", verbosity=0, interactive=False)
    call_command("collectstatic", verbosity=0, interactive=False)
    call_command("seed_cycles", verbosity=0)
    call_command("seed_groups", verbosity=0)


def make_organizer() -> str:
    """An administrator for the demo; returns the password, which is new each time."""
    password = secrets.token_urlsafe(12)
    get_user_model().objects.create_superuser(ORGANIZER, "organizer@example.org", password)
    return password


def open_cycle() -> Cycle:
    """A cycle that is open now: the real ones have closed, and deadlines bind by the clock."""
    now = timezone.now()
    cycle = Cycle.objects.create(
        number=1 + max(Cycle.objects.values_list("number", flat=True), default=0),
        slug="demo",
        name_en="Demo cycle",
        name_zh_hans="演示周期",
        state=Cycle.State.OPEN,
        opens_at=now - timedelta(days=1),
        materials_close_at=now + timedelta(days=30),
        evaluation_closes_at=now + timedelta(days=34),
        board_on=(now + timedelta(days=44)).date(),
        board_date_kind=Cycle.BoardDate.MIDDLE,
        tracks=[Track.TEXTUAL],
        contact_email="organizer@example.org",
        # Whoever tries a server of their own tries it often.
        smoke_interval_minutes=0,
        smoke_limit=1000,
        full_limit=100,
        full_gap_days=0,
    )
    Prize.objects.create(cycle=cycle, kind=Prize.Kind.FIRST, winners_per_track=1, amount_cny=20_000)
    return cycle


def open_demo_release(folder: Path | None, dataset: str) -> Release:
    """A release on the project's own suite, or on the dataset in `folder`; the smoke test always uses the own suite."""
    own = next(bundle for bundle in register_own_suites(actor=ACTOR, at=timezone.now()) if bundle.name == "hearth")
    full = own
    if folder is not None:
        full = register_bundle(
            folder=folder, dataset=dataset, origin=Bundle.Origin.IMPORTED, actor=ACTOR, at=timezone.now()
        )
    return open_release(
        name=f"demo-{full.name}",
        track=Track.TEXTUAL,
        bundles=[full],
        smoke_bundle=own,
        actor=ACTOR,
        at=timezone.now(),
    )


def run_reference_arms(release: Release) -> list[ArmRun]:
    """What no memory, full context, BM25 and the evidence come to under the release, as its boards show it."""
    return [run_arm(release=release, arm=arm, actor=ACTOR) for arm in ArmRun.Arm.values]
