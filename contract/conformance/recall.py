"""Is what was added found: at once, once, by its own user, and in the asked-for number."""

from __future__ import annotations

import asyncio
import time

from contract.answers import SearchOutcome
from contract.conformance.findings import Ended, Finding, found, passed
from contract.conformance.probe import Called, Probe
from contract.messages import Message

__all__ = [
    "chinese",
    "empty_user",
    "long_message",
    "no_timestamp",
    "options",
    "replay",
    "top_k_one",
    "twenty_messages",
    "unknown_user",
    "visible_at_once",
]

QUESTION = "What is the code of my locker?"
FILLER = "The train went on past fields and quiet stations while rain ran down the windows."
WORDS = 2_000
PAUSE_S = 0.3


def _locker(token: str) -> str:
    return f"The code of my locker is {token}."


async def _recalled(probe: Probe, user: str, query: str, token: str, code: str) -> Called[SearchOutcome]:
    """Return the Search when it finds `token`. Raises `Ended`."""
    called = (await probe.search(user, query)).needed()
    if not called.holds(token):
        raise Ended(found(code, called.sent, f"{called.came}, {token}: 0"))
    return called


async def visible_at_once(probe: Probe) -> Finding:
    """A Search right after Add's answer finds what was added."""
    user, token = probe.user("visible"), probe.token()
    (await probe.add(probe.request(user, _locker(token)))).needed()
    answered = time.monotonic()
    called = (await probe.search(user, QUESTION)).needed()
    if called.holds(token):
        return passed(called.sent, called.came)
    first = called
    while time.monotonic() - answered < probe.limits.visible_wait_s:
        await asyncio.sleep(PAUSE_S)
        called = (await probe.search(user, QUESTION)).needed()
        if called.holds(token):
            seconds = round(time.monotonic() - answered, 1)
            return found("visible_late", called.sent, f"{first.came}; {seconds} s: {called.came}", seconds=seconds)
    return found("not_visible", called.sent, f"{called.came}, {token}: 0")


async def replay(probe: Probe) -> Finding:
    """The same Add again succeeds and changes nothing."""
    user, token = probe.user("replay"), probe.token()
    request = probe.request(user, _locker(token))
    (await probe.add(request)).needed()
    before = await _count(probe, user, token)
    again = await probe.add(request)
    if again.receipt.http_status == 409:
        return found("replay_refused", again.sent, again.came)
    again.needed()
    after = await _count(probe, user, token)
    if after > before:
        return found("replay_duplicated", again.sent, f"{token}: {before} → {after}", before=before, after=after)
    return passed(again.sent, again.came)


async def _count(probe: Probe, user: str, token: str) -> int:
    called = (await probe.search(user, QUESTION)).needed()
    return sum(token.casefold() in text.casefold() for text in called.texts)


async def empty_user(probe: Probe) -> Finding:
    """A user that nothing was added for has no memories, however well others are known."""
    return await _nothing(probe, probe.user("empty"))


async def unknown_user(probe: Probe) -> Finding:
    """A Search may come before any Add, for a user_id of any letters; the Add afterwards is found."""
    user, token = probe.user("never heard of ÿ/?&=%20"), probe.token()
    finding = await _nothing(probe, user)
    if not finding.code:
        (await probe.add(probe.request(user, _locker(token)))).needed()
        await _recalled(probe, user, QUESTION, token, "not_visible")
    return finding


async def _nothing(probe: Probe, user: str) -> Finding:
    called = (await probe.search(user, QUESTION)).needed()
    if called.outcome.memories:
        return found("empty_user_not_empty", called.sent, called.came, memories=len(called.outcome.memories))
    return passed(called.sent, called.came)


async def top_k_one(probe: Probe) -> Finding:
    """A Search with top_k 1 brings one memory at most."""
    user = probe.user("top")
    lockers = (f"The code of my locker number {n} is {probe.token()}." for n in range(3))
    (await probe.add(probe.request(user, *lockers))).needed()
    called = (await probe.search(user, QUESTION, top_k=1)).needed()
    return passed(called.sent, called.came)


async def long_message(probe: Probe) -> Finding:
    """A message of 2,000 words is taken whole, to its end."""
    user, token = probe.user("long"), probe.token()
    end = f"The code of my locker is {token}."
    words = (FILLER.split() * WORDS)[: WORDS - len(end.split())]
    added = (await probe.add(probe.request(user, f"{' '.join(words)} {end}"))).needed()
    await _recalled(probe, user, QUESTION, token, "long_message_lost")
    return passed(added.sent, added.came)


async def twenty_messages(probe: Probe) -> Finding:
    """All of 20 messages of both roles are kept."""
    user, tokens = probe.user("twenty"), [probe.token() for _ in range(20)]
    said = (f"The code of my locker in town number {n} is {token}." for n, token in enumerate(tokens))
    messages = [Message("assistant" if n % 2 else "user", text, None) for n, text in enumerate(said)]
    added = (await probe.add(probe.request(user, *messages))).needed()
    for n in (0, 9, 19):
        await _recalled(probe, user, f"What is the code of my locker in town number {n}?", tokens[n], "message_lost")
    return passed(added.sent, added.came)


async def no_timestamp(probe: Probe) -> Finding:
    """Messages with and without a timestamp may stand in one Add."""
    user, token = probe.user("untimed"), probe.token()
    added = await probe.add(probe.request(user, "I have two lockers.", Message("user", _locker(token))))
    added.needed()
    await _recalled(probe, user, QUESTION, token, "message_lost")
    return passed(added.sent, added.came)


async def options(probe: Probe) -> Finding:
    """A Search may carry the options of a choice question."""
    user, token = probe.user("options"), probe.token()
    (await probe.add(probe.request(user, _locker(token)))).needed()
    called = (await probe.search(user, QUESTION, options=(token, "QX000", "QX111", "QX222"))).needed()
    return passed(called.sent, called.came)


async def chinese(probe: Probe) -> Finding:
    """A Chinese message is found by a Chinese question."""
    user, token = probe.user("chinese"), probe.token()
    (await probe.add(probe.request(user, f"我在健身房的储物柜密码是 {token}，别忘了。"))).needed()
    called = (await probe.search(user, "我的储物柜密码是多少？")).needed()
    found_again = any("储物柜" in text and token.casefold() in text.casefold() for text in called.texts)
    if not found_again:
        return found("chinese_lost", called.sent, f"{called.came}, 储物柜: 0")
    return passed(called.sent, called.came)
