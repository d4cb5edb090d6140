"""Talks to the server under check as an evaluation would: same client, same retry rules, shorter waits."""

from __future__ import annotations

import asyncio
import random
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Generic, TypeVar

from contract.answers import AddOutcome, Outcome, SearchOutcome
from contract.auth import AuthScheme
from contract.client import Client, Target
from contract.conformance.addresses import Addresses, shown
from contract.conformance.findings import Ended, Finding, found
from contract.messages import AddRequest, Content, Message, SearchRequest, Track, content_text, encode
from contract.receipts import CallKind, Receipt
from contract.redaction import MASK
from contract.retry import RetryLimits, TryAgain, decide, is_full_timeout
from contract.verdicts import MAX_GOT, Verdict

__all__ = ["Called", "CheckLimits", "Probe"]

RETRIES = RetryLimits(
    attempts=4,
    wall_s=120,
    full_timeouts=1,
    first_wait_s=2,
    longest_wait_s=20,
    longest_retry_after_s=10,
    first_poll_s=0.3,
    longest_poll_s=5,
    accepted_wait_s=60,
)
"""The platform's rules with the waits of somebody who sits before the screen."""

JITTER = 0.1
"""A fixed share of each wait: one caller needs no scatter, and a check should repeat itself."""

SESSION_MS = 1_714_557_600_000
"""2024-05-01 10:00 UTC, when the sessions of the check took place."""

Judged = TypeVar("Judged", bound=Outcome)


@dataclass(frozen=True, slots=True)
class CheckLimits:
    """How far a check goes: Adds at once, bytes of the largest body tried (None: what the track calls for), seconds
    to wait for a memory that is not visible at once, and the bounds of a retry."""

    parallel: int = 64
    max_body: int | None = None
    visible_wait_s: float = 5.0
    retry: RetryLimits = RETRIES


@dataclass(frozen=True, slots=True)
class Called(Generic[Judged]):
    """One logical call: what was sent, and what it came to in the end. `waited_s` is how long a 202 took."""

    sent: str
    outcome: Judged
    receipt: Receipt
    waited_s: float = 0.0

    @property
    def ok(self) -> bool:
        return self.outcome.verdict is Verdict.OK

    @property
    def code(self) -> str:
        """The reason code, empty when all is well."""
        if self.outcome.verdict is Verdict.PENDING:
            return "never_done"
        return self.outcome.reason.code if self.outcome.reason else ""

    @property
    def came(self) -> str:
        """What came, in a few words that need no translation."""
        status = f"HTTP {self.receipt.http_status}" if self.receipt.http_status else ""
        reason = self.outcome.reason
        if reason is None:
            memories = getattr(self.outcome, "memories", None)
            return status if memories is None else f"{status}, data: {len(memories)}"
        where = f"{reason.where}: " if reason.where else ""
        detail = f"{where}{reason.got}" if reason.got and reason.got != status else where.removesuffix(": ")
        return ", ".join(part for part in (status, detail) if part) or reason.code

    @property
    def texts(self) -> list[str]:
        """The texts of the memories that came."""
        return [content_text(memory.content) for memory in getattr(self.outcome, "memories", ())]

    def finding(self) -> Finding:
        """Return the finding that a failed call is."""
        return found(self.code, self.sent, self.came)

    def needed(self) -> Called[Judged]:
        """Return the call when it went well, else end the rule. Raises `Ended`."""
        if not self.ok:
            raise Ended(self.finding())
        return self

    def holds(self, token: str) -> bool:
        """Tell whether one of the memories names `token`, in whatever case."""
        return any(token.casefold() in text.casefold() for text in self.texts)


@dataclass(slots=True)
class Probe:
    """A server under check, and what has been seen of it so far.

    `state` holds what has been proven: reach, add, search, recall. `retried` counts the answers that had to be asked
    for again, `flags` remarks on good ones with a call that shows them, `echoes` answers with the credential in them.
    Latencies are taken while `measuring`, which calls at the same time are not.
    """

    client: Client
    addresses: Addresses
    track: Track
    auth: AuthScheme
    credential: Callable[[], str] | None = field(repr=False)
    limits: CheckLimits
    nonce: str
    state: set[str] = field(default_factory=set)
    retried: Counter[str] = field(default_factory=Counter)
    flags: dict[str, Called[Outcome]] = field(default_factory=dict)
    echoes: list[str] = field(default_factory=list)
    knocked: Called[Outcome] | None = None
    scored: int = 0
    measuring: bool = True
    latencies_ms: defaultdict[CallKind, list[float]] = field(default_factory=lambda: defaultdict(list))
    _tokens: int = 0

    def user(self, name: str) -> str:
        """Return a user_id that no other run of the check has."""
        return f"check:{self.nonce}:{name}"

    def token(self) -> str:
        """Return a word that stands in no text but the one it is put into."""
        self._tokens += 1
        return f"QX{random.Random(f'{self.nonce}:{self._tokens}').randrange(10**7, 10**8)}"  # noqa: S311

    def target(self, url: str) -> Target:
        """Return `url` with the credential of the check."""
        return Target(url, self.auth, self.credential)

    def request(
        self, user: str, *messages: Message | Content, session: str = "s1", name: str = "chunk-0"
    ) -> AddRequest:
        """Return an Add; a bare content is said by the user at the time of the session."""
        said = tuple(
            message if isinstance(message, Message) else Message("user", message, SESSION_MS + 1000 * at)
            for at, message in enumerate(messages)
        )
        session_id = f"{user}:{session}"
        return AddRequest(f"{session_id}:{name}", said, user, session_id)

    async def add(self, request: AddRequest) -> Called[AddOutcome]:
        """Add, with retries, and with polls when it is accepted."""
        body, bound = encode(request), bool(self.addresses.status)
        task_id = ""

        async def once(kind: CallKind, attempt: int) -> tuple[AddOutcome, Receipt]:
            nonlocal task_id
            if kind is CallKind.ADD_STATUS:
                target = self.target(self.addresses.status)
                return await self.client.add_status(target, task_id, request, track=self.track, attempt=attempt)
            outcome, receipt = await self.client.add(
                self.target(self.addresses.add),
                body,
                request,
                track=self.track,
                add_status_bound=bound,
                attempt=attempt,
            )
            task_id = outcome.task_id or task_id
            return outcome, receipt

        return await self._settle(CallKind.ADD, _quoted("add", body), once)

    async def search(
        self, user: str, query: Content, *, top_k: int = 100, options: tuple[str, ...] | None = None
    ) -> Called[SearchOutcome]:
        """Search, with retries."""
        request = SearchRequest(query=query, options=options, user_id=user, top_k=top_k)
        body = encode(request)

        async def once(kind: CallKind, attempt: int) -> tuple[SearchOutcome, Receipt]:
            target = self.target(self.addresses.search)
            return await self.client.search(target, body, request, track=self.track, attempt=attempt)

        called = await self._settle(CallKind.SEARCH, _quoted("search", body), once)
        self.scored += len([memory for memory in called.outcome.memories if memory.score is not None]) > 1
        return called

    async def raw(self, endpoint: str, body: bytes, *, target: Target | None = None) -> Called[Outcome]:
        """Send `body`, whatever it is, once."""
        request = self.request(self.user("raw"), "raw")
        sent = _quoted(endpoint, body)
        outcome: Outcome
        if endpoint == "add":
            where = target or self.target(self.addresses.add)
            outcome, receipt = await self.client.add(where, body, request, track=self.track)
        else:
            where = target or self.target(self.addresses.search)
            asked = SearchRequest(query="raw", user_id=request.user_id, top_k=1)
            outcome, receipt = await self.client.search(where, body, asked, track=self.track)
        called: Called[Outcome] = Called(sent, outcome, receipt)
        self._watch(called)
        return called

    async def get(self, url: str) -> Called[Outcome]:
        """GET `url` without a credential."""
        outcome, receipt = await self.client.health(url)
        return Called(f"GET {shown(url)}", outcome, receipt)

    async def knock(self) -> Called[Outcome]:
        """GET the Add URL, once in a check: any server answers it with some status."""
        if self.knocked is None:
            self.knocked = await self.get(self.addresses.add)
        return self.knocked

    async def _settle(
        self, kind: CallKind, sent: str, once: Callable[[CallKind, int], Awaitable[tuple[Judged, Receipt]]]
    ) -> Called[Judged]:
        """Call until it is done, given up or out of time, as the retry rules say."""
        attempts: Counter[CallKind] = Counter()
        first, accepted_at, timeouts = datetime.now(UTC), None, 0
        while True:
            attempts[kind] += 1
            started = datetime.now(UTC)
            outcome, receipt = await once(kind, attempts[kind])
            timeouts += is_full_timeout(outcome)
            if outcome.verdict is Verdict.PENDING and kind is CallKind.ADD:
                accepted_at, attempts[CallKind.ADD_STATUS] = started, 0
            decision = decide(
                kind=kind,
                attempt=attempts[kind],
                first_started_at=first,
                full_timeouts=timeouts,
                outcome=outcome,
                now=datetime.now(UTC),
                jitter=JITTER,
                accepted_at=accepted_at,
                limits=self.limits.retry,
            )
            waited = (datetime.now(UTC) - accepted_at).total_seconds() if accepted_at else 0.0
            called = Called(sent, outcome, receipt, waited)
            self._watch(called)
            if not isinstance(decision, TryAgain):
                return called
            if outcome.verdict is Verdict.RETRY and outcome.reason:
                self.retried[outcome.reason.code] += 1
            kind = decision.kind
            await asyncio.sleep(max(0.0, (decision.at - datetime.now(UTC)).total_seconds()))

    def _watch(self, called: Called[Judged]) -> None:
        """Remember what the last rules ask about."""
        outcome, receipt = called.outcome, called.receipt
        plain: Called[Outcome] = Called(called.sent, outcome, receipt)
        for flag in outcome.flags:
            self.flags.setdefault(flag, plain)
        if self.auth is not AuthScheme.NONE and MASK.encode() in outcome.raw:
            self.echoes.append(called.sent)
        if outcome.verdict is Verdict.OK and self.measuring:
            self.latencies_ms[receipt.kind].append(receipt.latency_ms)

    def without_key(self, url: str) -> Target:
        """Return `url` for a caller who sends no key."""
        return replace(self.target(url), auth=AuthScheme.NONE, credential=None)


def _quoted(endpoint: str, body: bytes) -> str:
    text = body[: 2 * MAX_GOT].decode("utf-8", "backslashreplace")
    line = f"POST {endpoint} " + "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in text)
    return line if len(line) <= MAX_GOT else line[: MAX_GOT - 1] + "…"
