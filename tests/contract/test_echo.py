"""An answer that returns another id says which one, and what was sent beside what came."""

from __future__ import annotations

import json

import pytest

from contract.answers import read_add
from contract.messages import AddRequest, Message
from contract.verdicts import MAX_GOT, Reason

IDS = {"request_id": "r-1", "user_id": "u-1", "session_id": "s-1"}


def reason_of(echo: dict[str, str], sent: dict[str, str] | None = None) -> Reason:
    request = AddRequest(messages=(Message(role="user", content="Hello"),), **(sent or IDS))
    body = json.dumps({"success": True, **echo}).encode()
    reason = read_add(200, {"content-type": "application/json"}, body, request=request, track="textual").reason
    assert reason is not None
    return reason


@pytest.mark.parametrize("field", sorted(IDS))
def test_the_id_that_differs_is_named_with_what_was_sent_and_what_came(field: str) -> None:
    reason = reason_of({**IDS, field: "another "})
    assert (reason.code, reason.where) == ("echo_mismatch", field)
    assert reason.got == f'sent "{IDS[field]}", came "another "'


def test_long_ids_are_both_quoted_within_the_length_of_a_reason() -> None:
    sent = {**IDS, "user_id": "u" * 300}
    reason = reason_of({**sent, "user_id": "v" * 5000}, sent)
    assert len(reason.got) <= MAX_GOT
    assert reason.got.count("u") > 100
    assert reason.got.count("v") > 100
    assert reason.got.count("…") == 2
