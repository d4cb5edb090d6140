"""Moves a scope's memories from the rows into its segment, when everything of the scope has been said."""

import logging
import os
import tempfile
from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import IO, Any

import msgspec
import zstandard
from django.core.files import File
from django.core.files.storage import Storage, storages
from django.db import transaction
from django.utils import timezone

from benchmarks.datasets.model import Question
from evaluation.evidence.segments import BodyLine, Facts, Header, QuestionLine, hash_file, link, write_segment
from evaluation.lease import Lease, fence
from evaluation.models import Item, Receipt, ResponseBody, Retrieval, Scope, Segment
from evaluation.pipeline.items import by_asking
from evaluation.suites import JobSuite

__all__ = ["KEPT_BODY_BYTES", "evidence_storage", "pack_body", "seal_scopes"]

log = logging.getLogger(__name__)

KEPT_BODY_BYTES = 64 * 1024
"""So much of a response body is kept where the answer was not what it should be."""
_IN_MEMORY = 8 << 20


def evidence_storage() -> Storage:
    """Where segments lie: the storage `evidence` of the settings."""
    return storages["evidence"]


def pack_body(body: bytes) -> tuple[bytes, str]:
    """Return the part of a response body that is kept, compressed, and the SHA-256 of the whole."""
    return zstandard.compress(body[:KEPT_BODY_BYTES], 3), sha256(body).hexdigest()


def seal_scopes(lease: Lease, suite: JobSuite) -> int:
    """Seal every scope of the job that is done and not sealed yet; returns how many.

    Raises LeaseLost, and OSError when the storage fails; then the memories stay in the rows, to be sealed later.
    """
    waiting = Scope.objects.filter(job_id=lease.job_id, state=Scope.State.DONE, segment=None)
    rows = {scope.ordinal: scope for scope in waiting.order_by("ordinal")}
    if not rows:
        return 0
    for scope in suite.scopes():
        if scope.ordinal in rows:
            _seal(lease, rows[scope.ordinal], scope.scope.questions)
    return len(rows)


def _seal(lease: Lease, scope: Scope, questions: Sequence[Question]) -> None:
    header = Header(lease.job_id.hex, scope.ordinal, scope.bundle, scope.key, scope.user_id)
    asked = by_asking(scope.bundle, questions)
    with tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY) as file:
        facts = write_segment(file, header, _lines(scope, asked))
        file.seek(0)
        name = _store(file, f"{lease.job_id.hex}/{scope.ordinal:06d}-{facts.sha256[:16]}.jsonl.zst", facts)
    with transaction.atomic():
        fence(lease)
        _keep(scope, name, facts)


def _keep(scope: Scope, name: str, facts: Facts) -> None:
    """Write the segment's row and take out of the rows what the file holds."""
    last = Segment.objects.filter(job_id=scope.job_id).order_by("-number").first()
    number, previous = (last.number + 1, last.digest) if last else (1, "")
    Segment.objects.create(
        job_id=scope.job_id,
        scope=scope,
        number=number,
        file=name,
        size=facts.size,
        sha256=facts.sha256,
        questions=facts.questions,
        index=facts.index,
        previous_digest=previous,
        digest=link(previous, number=number, scope=scope.ordinal, size=facts.size, file_sha256=facts.sha256),
        created_at=timezone.now(),
    )
    Retrieval.objects.filter(item__scope=scope).update(memories=b"")
    ResponseBody.objects.filter(receipt__event__scope=scope).delete()


def _lines(scope: Scope, questions: dict[tuple[str, int], Question]) -> Iterator[BodyLine | QuestionLine]:
    """The scope's lines by ordinal, an event's bodies before its question."""
    bodies = list(_bodies(scope))
    for row in Item.objects.filter(scope=scope).select_related("retrieval").order_by("ordinal").iterator(200):
        while bodies and bodies[0].ordinal <= row.ordinal:
            yield bodies.pop(0)
        yield _question_line(row, questions[row.question_key, row.step])
    yield from bodies


def _bodies(scope: Scope) -> Iterator[BodyLine]:
    kept = Receipt.objects.filter(event__scope=scope, body__isnull=False).select_related("event", "body")
    for receipt in kept.order_by("event__ordinal", "attempt").iterator(50):
        body: Any = receipt.body
        data = zstandard.decompress(bytes(body.data))
        yield BodyLine(receipt.event.ordinal, receipt.attempt, body.size, body.sha256, data)


def _question_line(item: Item, question: Question) -> QuestionLine:
    text = zstandard.decompress(bytes(item.retrieval.memories))
    if sha256(text).hexdigest() != item.retrieval.sha256:
        raise OSError(f"the memories of item {item.pk} are not what was kept: expected {item.retrieval.sha256}")
    return QuestionLine(item.ordinal, item.question_key, item.step, question, item.retrieval.sha256, msgspec.Raw(text))


def _store(file: IO[bytes], name: str, facts: Facts) -> str:
    """Write the file and read it back, because the rows give up what it holds; returns the name that it got."""
    storage = evidence_storage()
    if not (storage.exists(name) and _is(storage, name, facts.sha256)):  # an earlier try may have come this far
        name = storage.save(name, File(file))
        _flush(storage, name)
        if not _is(storage, name, facts.sha256):
            raise OSError(f"the storage did not keep {name} as it was written")
    return name


def _is(storage: Storage, name: str, expected: str) -> bool:
    with storage.open(name, "rb") as file:
        return hash_file(file) == expected


def _flush(storage: Storage, name: str) -> None:
    """Have a local file survive a power cut; a remote storage has its own ways."""
    try:
        path = storage.path(name)
    except NotImplementedError:
        return
    for place, flags in ((path, os.O_RDONLY), (os.path.dirname(path), os.O_RDONLY | os.O_DIRECTORY)):
        descriptor = os.open(place, flags)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
