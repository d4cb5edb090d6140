"""What the server does with much, with many at once, and with nonsense."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping

from contract.conformance.findings import Ended, Finding, found, passed, skipped
from contract.conformance.pictures import data_uri, picture
from contract.conformance.probe import Probe
from contract.messages import Content, ImagePart, ImageUrl, TextPart, Track

__all__ = ["deferred_add", "largest_body", "malformed_add", "malformed_search", "parallel_adds"]

KIB = 1024
LARGEST: Mapping[Track, int] = {"textual": 256 * KIB, "coding": 1024 * KIB, "multimodal": 4096 * KIB}
"""Bytes of the largest body that the check tries by itself; evaluations keep to the limits of the track."""
LARGEST_PICTURE = 9 * KIB * KIB
SMALLEST = 16 * KIB

MALFORMED: Mapping[str, Mapping[str, bytes]] = {
    "add": {
        "text": b"this is no JSON",
        "cut": b'{"request_id": "r", "messages": [',
        "array": b"[]",
        "no user_id": b'{"request_id":"r","messages":[{"role":"user","content":"x"}],"session_id":"s"}',
        "messages: text": b'{"request_id":"r","messages":"x","user_id":"check:malformed","session_id":"s"}',
        "not UTF-8": b'{"request_id":"r","messages":[{"role":"user","content":"\xff"}],"user_id":"u","session_id":"s"}',
    },
    "search": {
        "text": b"this is no JSON",
        "cut": b'{"query": "x',
        "array": b"[]",
        "no query": b'{"user_id":"check:malformed","top_k":3}',
        "no user_id": b'{"query":"x","top_k":3}',
        "top_k: text": b'{"query":"x","user_id":"check:malformed","top_k":"many"}',
    },
}


async def malformed_add(probe: Probe) -> Finding:
    """A malformed Add is refused as the caller's fault."""
    return await _malformed(probe, "add")


async def malformed_search(probe: Probe) -> Finding:
    """A malformed Search is refused as the caller's fault."""
    return await _malformed(probe, "search")


async def _malformed(probe: Probe, endpoint: str) -> Finding:
    statuses, worst = {}, passed()
    for name, body in MALFORMED[endpoint].items():
        called = await probe.raw(endpoint, body)
        status = called.receipt.http_status
        statuses[name] = status or called.code
        if status is None:
            worst = worst if worst.code else called.finding()
        elif not 400 <= status < 500:
            code = "malformed_5xx" if status >= 500 else "malformed_accepted"
            worst = worst if worst.code == "malformed_5xx" else found(code, called.sent)
    came = ", ".join(f"{name} → {status}" for name, status in statuses.items())
    return found(worst.code, worst.sent, came) if worst.code else passed(called.sent, came)


async def parallel_adds(probe: Probe) -> Finding:
    """Adds at the same time all succeed, and none is lost."""
    user, count = probe.user("parallel"), probe.limits.parallel
    tokens = [probe.token() for _ in range(count)]
    requests = [
        probe.request(user, f"The code of my locker in town number {n} is {token}.", session=f"s{n}")
        for n, token in enumerate(tokens)
    ]
    began, probe.measuring = time.monotonic(), False
    calls = await asyncio.gather(*(probe.add(request) for request in requests))
    probe.measuring = True
    seconds = round(time.monotonic() - began, 2)
    failed = [called for called in calls if not called.ok]
    if failed:
        raise Ended(found(failed[0].code, failed[0].sent, f"{failed[0].came} (× {len(failed)} / {count})"))
    lost = 0
    for n in range(0, count, max(1, count // 4)):
        called = (await probe.search(user, f"What is the code of my locker in town number {n}?")).needed()
        lost += not called.holds(tokens[n])
    if lost:
        return found("parallel_lost", called.sent, f"{lost} / {len(range(0, count, max(1, count // 4)))}", lost=lost)
    return passed(calls[0].sent, f"× {count}, {seconds} s", adds=count, seconds=seconds)


async def largest_body(probe: Probe) -> Finding:
    """Bodies are taken up to the size that evaluations send; the report says which sizes were tried."""
    user, most, came, accepted = probe.user("large"), probe.limits.max_body or LARGEST[probe.track], [], 0
    for at, size in enumerate(_sizes(most)):
        request = probe.request(user, _content(probe.track, size), session=f"s{at}")
        called = await probe.add(request)
        came.append(f"{called.receipt.bytes_sent} B → {called.receipt.http_status or called.code}")
        if not called.ok:
            code = "body_limit" if called.receipt.http_status in (400, 413, 422) else called.code
            return found(code, f"POST add, {size} B", ", ".join(came), accepted=accepted, refused=size)
        accepted = size
    return passed(f"POST add, {accepted} B", ", ".join(came), accepted=accepted)


def _sizes(most: int) -> list[int]:
    sizes = [size for size in (SMALLEST, 4 * SMALLEST, 16 * SMALLEST, 64 * SMALLEST, 256 * SMALLEST) if size < most]
    return [*sizes, most]


def _content(track: Track, size: int) -> Content:
    """Return a content of about `size` bytes in JSON: a long text, or pictures."""
    if track != "multimodal":
        return ("The road went on. " * (size // 18 + 1))[: size - 300]
    parts: list[TextPart | ImagePart] = [TextPart("Pictures of the road.")]
    left = size * 3 // 4 - KIB
    while left > 0:
        parts.append(ImagePart(ImageUrl(data_uri(picture(min(left, LARGEST_PICTURE))))))
        left -= LARGEST_PICTURE
    return tuple(parts)


async def deferred_add(probe: Probe) -> Finding:
    """An Add that is accepted with 202 is done in the end, and its Add-status URL says so."""
    called = (await probe.add(probe.request(probe.user("deferred"), "The parcel is on its way."))).needed()
    if not called.waited_s:
        return skipped("answered_at_once", called.sent, called.came)
    seconds = round(called.waited_s, 1)
    return passed(called.sent, f"202, {seconds} s: {called.came}", seconds=seconds)
