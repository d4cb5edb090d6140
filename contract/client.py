"""Calls a participant's server: one attempt, one outcome, one receipt. Retrying is the caller's affair.

Every call has a connection of its own. With keep-alive a second response written behind the first would become the
answer to the next question, silently, because a Search answer carries no echo.

The transport is h11 on a socket that the guard connected itself (`contract.exchange`), not a general client: there is
no redirect, cookie, proxy, decoding or pool to switch off, and the checked address needs no hook to be the dialled one.
Measured with `make bench` on 2 busy cores, 16 lanes, a new connection a call, an answer of 100 memories, processor time
a call: the whole of it (guard, credential, exchange, redaction, validation, receipt) 1.02 ms; the exchange alone with
httpx 1.67 ms, with httpcore 1.11 ms, with aiohttp 0.48 ms, which is not among the project's packages and would have to
be kept from decoding, pooling and cookies by its options. Idle cores take 0.6 of these times; the ratios hold. Reading
100 memories takes 2.4 times a bare msgspec decode, and 30 MiB of pictures twice their size in memory, body included.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TypeVar

from contract.answers import MAX_BODY_BYTES, AddOutcome, Outcome, SearchOutcome, read_add, read_add_status, read_search
from contract.auth import AuthScheme, auth_header, is_usable_secret
from contract.exchange import CallBudget, Fault, Meter, Response, exchange
from contract.guard import ConnectFailed, Connector, Endpoint, GuardPolicy, Refused, parse_endpoint
from contract.guard.connect import Dial, dial_tcp
from contract.guard.resolver import Resolver, system_resolver
from contract.messages import AddRequest, SearchRequest, Track
from contract.receipts import CallKind, Receipt
from contract.redaction import Redactor, live_secret
from contract.verdicts import Reason, Verdict

__all__ = ["AuthScheme", "CallBudget", "Client", "Target"]

USER_AGENT = "AgentMemoryLeaderboard/1"
LARGE_BODY = 1024 * 1024
"""Bytes from which a body is read in a thread, so that the loop goes on."""
MAX_LARGE_BODIES = 2

RETRIED_FAULTS = frozenset(
    {
        "dns_failure",
        "connect_refused",
        "connect_timeout",
        "unreachable",
        "reset",
        "truncated_body",
        "read_timeout",
        "tls_handshake",
    }
)
BROKEN_ANSWERS = frozenset({"invalid_http", "headers_too_large", "body_too_large", "chunks_too_small"})

Judged = TypeVar("Judged", bound=Outcome)


@dataclass(frozen=True, slots=True)
class Target:
    """Where to call and how to prove oneself. `credential` is asked at the moment of the call and its answer is
    never kept; when it raises, the call ends as `credential_unavailable` and nothing is sent."""

    url: str
    auth: AuthScheme = AuthScheme.NONE
    credential: Callable[[], str] | None = field(default=None, repr=False)


@dataclass(slots=True)
class _Call:
    """One call in the making: what it is, and what is known of it so far."""

    kind: CallKind
    attempt: int
    request_id: str = ""
    meter: Meter = field(default_factory=Meter)
    started_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    address: str = ""

    def receipt(self, outcome: Outcome) -> Receipt:
        meter = self.meter
        return Receipt(
            kind=self.kind,
            request_id=self.request_id,
            attempt=self.attempt,
            started_at=self.started_at,
            ended_at=datetime.now(UTC),
            latency_ms=meter.latency_ms,
            http_status=meter.status,
            bytes_sent=meter.sent,
            bytes_received=meter.received,
            verdict=outcome.verdict,
            reason_code=outcome.reason.code if outcome.reason else "",
            resolved_address=self.address,
            flags=outcome.flags,
        )


class Client:
    """The one door to participants' servers. Use one client in one event loop.

    Never raises for what a peer does: a refusal, a fault, a broken answer are outcomes. Cancelling a call closes
    its connection. `resolve`, `dial` and `tls` are for tests and for boards inside a company.
    """

    def __init__(
        self,
        policy: GuardPolicy,
        *,
        budget: CallBudget | None = None,
        resolve: Resolver = system_resolver,
        dial: Dial = dial_tcp,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._policy = policy
        self._budget = budget or CallBudget()
        self._connector = Connector(policy, resolve=resolve, dial=dial, tls=tls)
        self._large = asyncio.Semaphore(MAX_LARGE_BODIES)
        self._endpoints: dict[tuple[str, bool], Endpoint] = {}

    async def add(
        self,
        target: Target,
        body: bytes,
        request: AddRequest,
        *,
        track: Track,
        add_status_bound: bool = False,
        attempt: int = 1,
    ) -> tuple[AddOutcome, Receipt]:
        """Send one Add. `body` is `encode(request)`, the same bytes on each attempt."""
        call = _Call(CallKind.ADD, attempt, request.request_id)

        def judge(response: Response) -> AddOutcome:
            return read_add(
                response.status,
                response.headers,
                response.body,
                request=request,
                track=track,
                add_status_bound=add_status_bound,
            )

        return await self._post(call, target, body, track, judge, AddOutcome)

    async def search(
        self, target: Target, body: bytes, request: SearchRequest, *, track: Track, attempt: int = 1
    ) -> tuple[SearchOutcome, Receipt]:
        """Send one Search. `body` is `encode(request)`, the same bytes on each attempt."""
        call = _Call(CallKind.SEARCH, attempt)

        def judge(response: Response) -> SearchOutcome:
            return read_search(response.status, response.headers, response.body, request=request, track=track)

        return await self._post(call, target, body, track, judge, SearchOutcome)

    async def add_status(
        self, target: Target, task_id: str, request: AddRequest, *, track: Track, attempt: int = 1
    ) -> tuple[AddOutcome, Receipt]:
        """Ask how an accepted Add stands. `target.url` is the Add-status URL with its ``{task_id}``."""
        call = _Call(CallKind.ADD_STATUS, attempt, request.request_id)

        def judge(response: Response) -> AddOutcome:
            return read_add_status(response.status, response.headers, response.body, request=request, track=track)

        return await self._call(
            call, target, "GET", b"", judge, AddOutcome, max_body=MAX_BODY_BYTES[track], task_id=task_id
        )

    async def health(self, url: str) -> tuple[Outcome, Receipt]:
        """GET `url` without a credential; any 2xx is healthy, which is the verdict `ok`."""
        call = _Call(CallKind.HEALTH, 1)
        return await self._call(call, Target(url), "GET", b"", _judge_health, Outcome, max_body=LARGE_BODY)

    async def _post(
        self,
        call: _Call,
        target: Target,
        body: bytes,
        track: Track,
        judge: Callable[[Response], Judged],
        kind: type[Judged],
    ) -> tuple[Judged, Receipt]:
        return await self._call(call, target, "POST", body, judge, kind, max_body=MAX_BODY_BYTES[track])

    async def _call(
        self,
        call: _Call,
        target: Target,
        method: str,
        body: bytes,
        judge: Callable[[Response], Judged],
        kind: type[Judged],
        *,
        max_body: int,
        task_id: str = "",
    ) -> tuple[Judged, Receipt]:
        redactor = Redactor(None)
        try:
            endpoint = self._endpoint(target.url, task_id)
            secret = _read_secret(target)
            redactor = Redactor(secret)
            with live_secret(secret):
                headers = _headers(endpoint, target.auth, secret, body)
                response = await self._exchange(call, endpoint, method, headers, body, max_body)
                outcome = await self._judge(response, redactor, judge)
        except Fault as fault:
            outcome = kind(verdict=_fault_verdict(fault.code), reason=Reason(fault.code, fault.got), flags=fault.flags)
        outcome = _without_secret(outcome, redactor)
        return outcome, call.receipt(outcome)

    async def _exchange(
        self, call: _Call, endpoint: Endpoint, method: str, headers: list[tuple[str, str]], body: bytes, max_body: int
    ) -> Response:
        try:
            connection = await self._connector.open(endpoint, seconds=self._budget.connect_s)
        except Refused as refused:
            raise Fault("address_denied", refused.code) from None
        except ConnectFailed as failed:
            raise Fault(failed.code, failed.got) from None
        call.address = connection.address
        try:
            async with asyncio.timeout(self._budget.total_s):
                return await exchange(
                    connection,
                    method,
                    endpoint.target,
                    headers,
                    body,
                    budget=self._budget,
                    max_body=max_body,
                    meter=call.meter,
                )
        except TimeoutError:
            raise Fault("read_timeout") from None
        finally:
            connection.drop()

    async def _judge(self, response: Response, redactor: Redactor, judge: Callable[[Response], Judged]) -> Judged:
        """Clean the body of the credential, then judge it; a large one in a thread, two at a time."""

        def clean_and_judge() -> Judged:
            return judge(replace(response, body=redactor.data(response.body)))

        if len(response.body) < LARGE_BODY:
            return clean_and_judge()
        async with self._large:
            return await asyncio.to_thread(clean_and_judge)

    def _endpoint(self, url: str, task_id: str) -> Endpoint:
        key = (url, bool(task_id))
        if key not in self._endpoints:
            try:
                self._endpoints[key] = parse_endpoint(url, self._policy, placeholder=bool(task_id))
            except Refused as refused:
                raise Fault(refused.code, refused.detail) from None
        endpoint = self._endpoints[key]
        return endpoint.for_task(task_id) if task_id else endpoint


def _read_secret(target: Target) -> str:
    if target.auth is AuthScheme.NONE or target.credential is None:
        return ""
    try:
        secret = target.credential()
    except Exception:  # whatever the key store raises, its text may hold what must not be shown
        raise Fault("credential_unavailable") from None
    if not is_usable_secret(secret):
        raise Fault("credential_malformed")
    return secret


def _headers(endpoint: Endpoint, auth: AuthScheme, secret: str, body: bytes) -> list[tuple[str, str]]:
    headers = [
        ("Host", endpoint.host_header),
        ("User-Agent", USER_AGENT),
        ("Accept", "application/json"),
        ("Accept-Encoding", "identity"),
        ("Connection", "close"),
    ]
    if body:
        headers += [("Content-Type", "application/json"), ("Content-Length", str(len(body)))]
    proof = auth_header(auth, secret) if secret else None
    return [*headers, proof] if proof else headers


def _fault_verdict(code: str) -> Verdict:
    if code in RETRIED_FAULTS:
        return Verdict.RETRY
    return Verdict.CONTRACT_ERROR if code in BROKEN_ANSWERS else Verdict.FAIL


def _judge_health(response: Response) -> Outcome:
    if 200 <= response.status < 300:
        return Outcome(verdict=Verdict.OK, raw=response.body)
    reason = Reason(f"http_{response.status}", f"HTTP {response.status}")
    return Outcome(verdict=Verdict.FAIL, reason=reason, raw=response.body)


def _without_secret(outcome: Judged, redactor: Redactor) -> Judged:
    """Return `outcome` without the credential in its reason; the body was cleaned before it was read."""
    reason = outcome.reason
    if reason is None:
        return outcome
    clean = Reason(reason.code, redactor.text(reason.got), redactor.text(reason.where))
    return outcome if clean == reason else replace(outcome, reason=clean)
