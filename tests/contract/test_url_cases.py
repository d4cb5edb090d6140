"""Every URL of the case file is called or refused, for its exact reason, and a refused one opens no socket."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence
from typing import Any

import pytest

from contract.guard import ConnectFailed, Connector, GuardPolicy, Refused, parse_endpoint
from tests.contract.cases import CASES_DIR, MISSING, load

CASES = load("ssrf_cases.json")


class DialledError(Exception):
    """The recording dialler stops here instead of sending packets."""


class Recorder:
    def __init__(self) -> None:
        self.dialled: list[str] = []

    async def __call__(self, address: str, port: int) -> socket.socket:
        self.dialled.append(address)
        raise DialledError


class Answers:
    """A resolver with prepared answers; the last one repeats."""

    def __init__(self, *answers: Sequence[str]) -> None:
        self.answers = list(answers)
        self.asked = 0

    async def __call__(self, host: str, port: int, *, public: bool = True) -> Sequence[str]:
        self.asked += 1
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


def policy_of(case: dict[str, Any]) -> GuardPolicy:
    policy = case.get("policy") or {}
    return GuardPolicy(
        allow_ipv6=policy.get("allow_ipv6", False),
        own_hosts=frozenset(policy.get("self_hosts", ())),
        max_addresses=policy.get("max_addresses", 16),
    )


def call(case: dict[str, Any], resolve: Answers, recorder: Recorder) -> str:
    """Return the code that the guard refuses the URL for, "" when it went on to dial."""
    policy = policy_of(case)

    async def go() -> None:
        endpoint = parse_endpoint(case["url"], policy, placeholder=bool(case.get("placeholder")))
        await Connector(policy, resolve=resolve, dial=recorder).open(endpoint, seconds=5)

    try:
        asyncio.run(go())
    except (Refused, ConnectFailed) as refused:
        return refused.code
    except DialledError:
        return ""
    raise AssertionError("neither refused nor dialled")


@pytest.mark.skipif(not CASES, reason=MISSING)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_a_url_is_called_or_refused(case: dict[str, Any]) -> None:
    resolve, recorder = Answers(case["resolves_to"] or []), Recorder()
    if "then_resolves_to" in case:
        # a name that changes its answer: the check at submission passes, the one at connection decides
        assert call(case, resolve, recorder) == ""
        resolve, recorder = Answers(case["then_resolves_to"]), Recorder()
    assert call(case, resolve, recorder) == case["reason"], case["why"]
    assert bool(recorder.dialled) is case["allow"]
    assert resolve.asked <= 1


def test_the_case_file_is_read_where_the_folder_exists() -> None:
    assert bool(CASES) == (CASES_DIR / "ssrf_cases.json").is_file()
