"""Keeps what is said to a participant: every attempt whole or not at all, behind the lease's fence."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from operator import attrgetter
from typing import Any

import msgspec
import zstandard
from django.db import transaction

from contract.answers import SearchOutcome
from contract.memories import Memory
from contract.messages import content_text
from contract.retry import GiveUp
from contract.verdicts import MAX_GOT, Reason, Verdict
from evaluation.database_thread import DatabaseThread
from evaluation.evidence.sealing import pack_body
from evaluation.lease import Lease, fence
from evaluation.models import Event, Item, Job, Receipt, ResponseBody, Retrieval, Scope
from evaluation.pipeline.plan import Planned, PlannedAdd, PlannedSearch
from evaluation.pipeline.ports import Attempt, EventState, LeaseLost, ScopeState
from evaluation.progress import Progress
from evaluation.rows import RowWriter
from evaluation.services import end_job

__all__ = ["DatabaseLedger", "pack_memories", "unpack_memories"]

PLATFORM_CODES = frozenset({"credential_unavailable", "credential_malformed"})
"""Reasons for which a call was never made, and which the participant can't do anything about."""

_DECODER = msgspec.json.Decoder(tuple[Memory, ...])


def pack_memories(memories: Sequence[Memory]) -> tuple[bytes, str]:
    """Return memories as zstandard-compressed JSON, and the SHA-256 of that JSON in hexadecimal."""
    text = msgspec.json.encode(memories)
    return zstandard.compress(text, 3), sha256(text).hexdigest()


def unpack_memories(packed: bytes) -> tuple[Memory, ...]:
    """Return the memories that `pack_memories` was given."""
    return _DECODER.decode(zstandard.decompress(packed))


@dataclass(slots=True)
class _OpenScope:
    """Primary keys of a scope that is being sent, so that keeping an attempt needs no look-up."""

    pk: int
    events: int
    event_pks: dict[int, int]
    item_pks: dict[int, int]


class DatabaseLedger:
    """The pipeline's Ledger over the database, for one slice. Its SQL runs on the slice's database thread."""

    def __init__(self, lease: Lease, progress: Progress, thread: DatabaseThread) -> None:
        self._lease = lease
        self._progress = progress
        self._thread = thread
        self._open: dict[int, _OpenScope] = {}

    async def open_scope(self, scope: int) -> ScopeState:
        return await self._thread.run(self._load, scope)

    async def record_attempts(self, attempts: Sequence[Attempt]) -> None:
        await self._thread.run(self._keep, attempts)

    def _load(self, ordinal: int) -> ScopeState:
        scope = Scope.objects.get(job_id=self._lease.job_id, ordinal=ordinal)
        rows = list(Event.objects.filter(scope=scope, ordinal__gte=scope.next_event))
        items = Item.objects.filter(scope=scope, ordinal__gte=scope.next_event)
        self._open[ordinal] = _OpenScope(
            pk=scope.pk,
            events=scope.events,
            event_pks={row.ordinal: row.pk for row in rows},
            item_pks=dict(items.values_list("ordinal", "pk")),
        )
        return ScopeState(scope.next_event, {row.ordinal: _state(row) for row in rows})

    def _keep(self, attempts: Sequence[Attempt]) -> None:
        failed = next((attempt for attempt in attempts if isinstance(attempt.decision, GiveUp)), None)
        with transaction.atomic():
            fence(self._lease, stage=self._progress.count(attempts))
            self._keep_events(attempts)
            self._keep_receipts(attempts)
            _RETRIEVALS.insert([self._retrieval(attempt) for attempt in attempts if _is_retrieval(attempt)])
            self._keep_scopes(attempts)
            self._progress.save()
            if failed is not None:
                self._fail(failed)

    def _keep_events(self, attempts: Sequence[Attempt]) -> None:
        known = [attempt for attempt in attempts if self._event_pk(attempt) is not None]
        Event.objects.bulk_update([self._event(attempt) for attempt in known], _CHANGING)
        new = [attempt for attempt in attempts if self._event_pk(attempt) is None]
        scopes = {self._open[attempt.scope].pk: self._open[attempt.scope] for attempt in new}
        rows = [
            (
                self._open[attempt.scope].pk,
                attempt.event.ordinal,
                Event.Kind.ADD if isinstance(attempt.event, PlannedAdd) else Event.Kind.SEARCH,
                _request_id(attempt.event),
                _event_state(attempt),
                *_shared(attempt.state),
            )
            for attempt in new
        ]
        for pk, scope_pk, ordinal in _EVENTS.insert(rows, returning=("scope_id", "ordinal")):
            scopes[scope_pk].event_pks[ordinal] = pk

    def _event_pk(self, attempt: Attempt) -> int | None:
        return self._open[attempt.scope].event_pks.get(attempt.event.ordinal)

    def _event(self, attempt: Attempt) -> Event:
        return Event(
            pk=self._event_pk(attempt),
            state=_event_state(attempt),
            **{name: getattr(attempt.state, name) for name in _SHARED},
        )

    def _keep_receipts(self, attempts: Sequence[Attempt]) -> None:
        kept = _RECEIPTS.insert([self._receipt(attempt) for attempt in attempts], returning=("event_id",))
        _keep_bodies(attempts, {event_pk: pk for pk, event_pk in kept}, self._event_pk)

    def _receipt(self, attempt: Attempt) -> tuple[Any, ...]:
        receipt, reason = attempt.receipt, attempt.outcome.reason
        return (
            self._lease.job_id,
            self._event_pk(attempt),
            receipt.kind,
            attempt.state.attempts,
            receipt.started_at,
            receipt.ended_at,
            receipt.latency_ms,
            receipt.http_status,
            receipt.bytes_sent,
            receipt.bytes_received,
            receipt.verdict,
            receipt.reason_code,
            _placed(reason) if reason else "",
            receipt.resolved_address,
            list(receipt.flags),
        )

    def _retrieval(self, attempt: Attempt) -> tuple[Any, ...]:
        assert isinstance(attempt.outcome, SearchOutcome)
        memories = attempt.outcome.memories
        packed, digest = pack_memories(memories)
        return (
            self._open[attempt.scope].item_pks[attempt.event.ordinal],
            len(memories),
            sum(len(content_text(memory.content)) for memory in memories),
            attempt.receipt.latency_ms,
            list(attempt.outcome.flags),
            packed,
            digest,
        )

    def _keep_scopes(self, attempts: Sequence[Attempt]) -> None:
        """The next event of each scope; one statement for each place, as most often a batch is of few scopes."""
        for ordinal, next_event in {attempt.scope: attempt.next_event for attempt in attempts}.items():
            scope = self._open[ordinal]
            state = Scope.State.DONE if next_event == scope.events else Scope.State.PENDING
            Scope.objects.filter(pk=scope.pk).update(next_event=next_event, state=state)

    def _fail(self, attempt: Attempt) -> None:
        """End the job for an event that no attempt can mend, in the transaction that keeps the attempt."""
        assert isinstance(attempt.decision, GiveUp)
        reason = attempt.decision.reason
        ours = reason.code in PLATFORM_CODES
        scope = self._open[attempt.scope]
        if not ours:
            Scope.objects.filter(pk=scope.pk).update(state=Scope.State.FAILED)
            if isinstance(attempt.event, PlannedSearch):
                Item.objects.filter(pk=scope.item_pks[attempt.event.ordinal]).update(
                    state=Item.State.PARTICIPANT_ERROR, score=0.0, error_code=reason.code
                )
        ended = end_job(
            job_id=self._lease.job_id,
            token=self._lease.token,
            state=Job.State.FAILED,
            blame=Job.Blame.PLATFORM if ours else Job.Blame.PARTICIPANT,
            code="secret_unavailable" if ours else reason.code,
            detail=_detail(attempt, attempt.decision),
            at=attempt.receipt.ended_at,
        )
        if not ended:
            raise LeaseLost("the job ended meanwhile")


_SHARED = (
    "body_sha256",
    "attempts",
    "sends",
    "polls",
    "full_timeouts",
    "first_started_at",
    "next_attempt_at",
    "accepted_at",
    "task_id",
)
_shared = attrgetter(*_SHARED)
_EVENTS = RowWriter(Event, ("scope_id", "ordinal", "kind", "request_id", "state", *_SHARED))
_RECEIPTS = RowWriter(
    Receipt,
    (
        "job_id", "event_id", "kind", "attempt", "started_at", "ended_at", "latency_ms", "http_status", "bytes_sent",
        "bytes_received", "verdict", "reason_code", "reason_got", "resolved_address", "flags",
    ),
)  # fmt: skip
_RETRIEVALS = RowWriter(Retrieval, ("item_id", "count", "characters", "latency_ms", "flags", "memories", "sha256"))
_CHANGING = ["state", *(name for name in _SHARED if name not in {"body_sha256", "first_started_at"})]


def _state(row: Event) -> EventState:
    return EventState(done=row.state == Event.State.DONE, **{name: getattr(row, name) for name in _SHARED})


def _event_state(attempt: Attempt) -> Event.State:
    if attempt.state.done:
        return Event.State.DONE
    return Event.State.FAILED if isinstance(attempt.decision, GiveUp) else Event.State.WAITING


def _request_id(event: Planned) -> str:
    """The id on the wire; a Search has none."""
    return event.request.request_id if isinstance(event, PlannedAdd) else ""


def _keep_bodies(
    attempts: Sequence[Attempt], receipts: Mapping[int, int], event_pk: Callable[[Attempt], int | None]
) -> None:
    """Keep what came where it was not what should have come; of a good Search the memories are kept."""
    bodies = []
    for attempt in attempts:
        raw = attempt.outcome.raw
        if raw and attempt.outcome.verdict not in {Verdict.OK, Verdict.PENDING}:
            data, digest = pack_body(raw)
            receipt = receipts[event_pk(attempt) or 0]
            bodies.append(ResponseBody(receipt_id=receipt, size=len(raw), sha256=digest, data=data))
    if bodies:
        ResponseBody.objects.bulk_create(bodies)


def _placed(reason: Reason) -> str:
    """What came, with the place in the answer before it."""
    return ": ".join(part for part in (reason.where, reason.got) if part)[:MAX_GOT]


def _is_retrieval(attempt: Attempt) -> bool:
    return attempt.state.done and isinstance(attempt.event, PlannedSearch)


def _detail(attempt: Attempt, decision: GiveUp) -> dict[str, Any]:
    """What a person needs to see of the call that ended the job; `advice` is the key of its text."""
    reason, receipt = decision.reason, attempt.receipt
    return {
        "kind": str(receipt.kind),
        "request_id": _request_id(attempt.event),
        "user_id": attempt.event.request.user_id,
        "question": f"{attempt.scope}.{attempt.event.ordinal}" if isinstance(attempt.event, PlannedSearch) else "",
        "code": reason.code,
        "got": reason.got,
        "where": reason.where,
        "http_status": receipt.http_status,
        "attempts": attempt.state.attempts,
        "advice": reason.code,
    }
