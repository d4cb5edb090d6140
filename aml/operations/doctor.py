"""Looks at everything that the portal leans on, and says of each what it found and what to do."""

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal
from uuid import uuid4

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.files.base import ContentFile
from django.core.mail import get_connection
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor

from evaluation.evidence.sealing import evidence_storage
from evaluation.models import Job, Release
from evaluation.releases import compare_baseline
from evaluation.workers import read_crew
from submissions.keyring import key_ring
from submissions.models import MemorySystemKey, OutboxMail

__all__ = ["Finding", "examine"]

Level = Literal["ok", "warning", "failure"]
LOW_DISK: Final = 2 << 30
"""Bytes of free space below which a warning is due."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check found; `advice` is empty when all is well."""

    name: str
    level: Level
    found: str
    advice: str = ""


def examine(at: datetime) -> list[Finding]:
    """Run every check. A check that breaks is a failure of its own and stops no other."""
    findings: list[Finding] = []
    for name, check in _CHECKS:
        try:
            findings += check(at)
        except Exception as error:  # whatever breaks is what the doctor is asked about
            findings.append(Finding(name, "failure", f"the check broke: {type(error).__name__}", "See the log."))
        if name == "database" and findings[-1].level == "failure":
            break
    return findings


def _database(at: datetime) -> Iterator[Finding]:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
            if connection.vendor == "sqlite":
                cursor.execute("PRAGMA quick_check(1)")
                verdict = cursor.fetchone()[0]
                if verdict != "ok":
                    yield Finding("database", "failure", f"SQLite: {verdict}"[:200], "Restore the last backup.")
                    return
    except DatabaseError as error:
        yield Finding("database", "failure", type(error).__name__, "Check DATABASE_URL and that the server runs.")
        return
    yield Finding("database", "ok", connection.vendor)


def _migrations(at: datetime) -> Iterator[Finding]:
    executor = MigrationExecutor(connection)
    waiting = len(executor.migration_plan(executor.loader.graph.leaf_nodes()))
    if waiting:
        yield Finding("migrations", "failure", f"{waiting} are not applied", "Back up, then run manage.py migrate.")
    else:
        yield Finding("migrations", "ok", "all applied")


def _key_ring(at: datetime) -> Iterator[Finding]:
    try:
        ring = key_ring()
    except ImproperlyConfigured as error:
        yield Finding("key ring", "failure", str(error), "Set AML_SECRETS_KEYS.")
        return
    used = set(MemorySystemKey.objects.order_by().values_list("key_id", flat=True).distinct())
    if lost := sorted(used - ring.keys.keys()):
        yield Finding(
            "key ring",
            "failure",
            f"stored secrets need {', '.join(lost)}",
            "Put these keys back into AML_SECRETS_KEYS.",
        )
    elif used - {ring.primary}:
        yield Finding("key ring", "warning", "some secrets use an older key", "Run manage.py rotate_secrets.")
    else:
        yield Finding("key ring", "ok", f"{len(ring.keys)} keys, {ring.primary} encrypts")


def _storage(at: datetime) -> Iterator[Finding]:
    storage, probe = evidence_storage(), uuid4().hex
    try:
        name = storage.save(f"probe-{probe}", ContentFile(probe.encode()))
        try:
            with storage.open(name, "rb") as file:
                same = file.read() == probe.encode()
        finally:
            storage.delete(name)
    except OSError as error:
        advice = "Give the service's user write access to the evidence storage."
        yield Finding("storage", "failure", error.strerror or type(error).__name__, advice)
        return
    if not same:
        yield Finding("storage", "failure", "what was written came back changed", "Check the storage.")
        return
    free = shutil.disk_usage(settings.VAR_DIR).free
    if free < LOW_DISK:
        yield Finding("storage", "warning", f"{free >> 20} MiB are free", "Make room, or run manage.py purge.")
    else:
        yield Finding("storage", "ok", f"writable, {free >> 30} GiB free")


def _releases(at: datetime) -> Iterator[Finding]:
    releases = Release.objects.filter(state=Release.State.OPEN)
    if not releases:
        yield Finding("releases", "warning", "none is open", "Open one in the admin before runs are submitted.")
    for release in releases:
        names = [difference.name for difference in compare_baseline(release)]
        if names:
            found = f"{release.name}: {len(names)} differences ({', '.join(names[:4])})"
            advice = "Go back to what was frozen, or open a new release; runs would not pass the gate."
            yield Finding("releases", "failure", found, advice)
        else:
            yield Finding("releases", "ok", f"{release.name} is what was frozen")


def _workers(at: datetime) -> Iterator[Finding]:
    crew, waiting = read_crew(at), Job.objects.active().count()
    if crew.processes:
        yield Finding("workers", "ok", f"{crew.processes} processes under {crew.supervisors} supervisors")
    else:
        level: Level = "failure" if waiting else "warning"
        yield Finding("workers", level, f"none is alive, {waiting} runs wait", "Start manage.py runworker.")


def _mail(at: datetime) -> Iterator[Finding]:
    failed = OutboxMail.objects.filter(state=OutboxMail.State.FAILED).count()
    if failed:
        yield Finding("mail", "warning", f"{failed} letters could not be sent", "Send them again in the admin.")
    if not settings.EMAIL_BACKEND.endswith("smtp.EmailBackend"):
        level: Level = "ok" if settings.DEBUG else "warning"
        backend = settings.EMAIL_BACKEND.rsplit(".", 2)[-2]
        yield Finding("mail", level, f"letters go to {backend}", "" if settings.DEBUG else "Set EMAIL_URL.")
        return
    try:
        with get_connection(timeout=10):
            pass
    except OSError as error:  # smtplib's errors are of this kind too
        yield Finding("mail", "failure", f"the server can't be used: {type(error).__name__}", "Check EMAIL_URL.")
        return
    yield Finding("mail", "ok", "the server took the connection")


def _private_targets(at: datetime) -> Iterator[Finding]:
    targets = settings.AML_ALLOWED_PRIVATE_TARGETS
    if targets and not settings.DEBUG:
        advice = "Right for an internal board only; otherwise empty AML_ALLOWED_PRIVATE_TARGETS."
        yield Finding("private targets", "warning", ", ".join(targets), advice)
    else:
        yield Finding("private targets", "ok", ", ".join(targets) or "none")


_CHECKS: Final[tuple[tuple[str, Callable[[datetime], Iterator[Finding]]], ...]] = (
    ("database", _database),
    ("migrations", _migrations),
    ("key ring", _key_ring),
    ("storage", _storage),
    ("releases", _releases),
    ("workers", _workers),
    ("mail", _mail),
    ("private targets", _private_targets),
)
