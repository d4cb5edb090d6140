"""The record that every attempt leaves."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from contract.verdicts import Verdict

__all__ = ["CallKind", "Receipt"]


class CallKind(StrEnum):
    """What was asked of the participant's server."""

    ADD = "add"
    SEARCH = "search"
    ADD_STATUS = "add_status"
    HEALTH = "health"


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """Who was asked what, and what came of it; holds no content and no secret.

    `request_id` is empty for Search and Health, which have none on the wire. `attempt` counts from 1. The two
    times are UTC. `latency_ms` runs on the wire, from the first byte sent to the last byte received; it is 0
    when nothing was sent. `bytes_sent` and `bytes_received` count HTTP with its headers, before TLS.
    `resolved_address` is the address that was connected to, empty when none was.
    """

    kind: CallKind
    request_id: str
    attempt: int
    started_at: datetime
    ended_at: datetime
    latency_ms: float
    http_status: int | None
    bytes_sent: int
    bytes_received: int
    verdict: Verdict
    reason_code: str
    resolved_address: str
    flags: tuple[str, ...] = ()
