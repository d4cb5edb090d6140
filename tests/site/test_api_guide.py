"""The API guide: its samples run, its tables are the code's own."""

import json
import os
import shutil
import subprocess
import sys

import msgspec
import pytest

from aml.pages import samples, wire
from contract.answers import read_add, read_search
from contract.auth import AuthScheme
from contract.messages import AddRequest, SearchRequest, encode
from contract.reasons import REASONS
from contract.reference import MemoryStore, create_app
from contract.verdicts import Verdict
from tests.contract.peers import running
from tests.site.markup import read_page

KEY = "sample-key-0123456789"


@pytest.fixture
def server():
    with running(create_app(MemoryStore(), auth=AuthScheme.BEARER, key=KEY)) as url:
        yield url


def run(program: list[str]) -> str:
    done = subprocess.run(
        program, capture_output=True, text=True, timeout=30, env={"MEMORY_SYSTEM_KEY": KEY, "PATH": os.environ["PATH"]}
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def sample(tabs: list[dict[str, str]], language: str, server: str) -> str:
    (text,) = [tab["text"] for tab in tabs if tab["language"] == language]
    assert samples.YOURS in text
    return text.replace(samples.YOURS, server)


def test_the_python_samples_write_a_memory_and_find_it_again(server):
    added = run([sys.executable, "-c", sample(samples.add_calls(), "python", server)])
    assert "'success': True" in added
    found = run([sys.executable, "-c", sample(samples.search_calls(), "python", server)])
    assert "We moved the picnic to Saturday." in found


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_the_curl_samples_get_answers_that_keep_the_contract(server):
    added = run(["bash", "-c", sample(samples.add_calls(), "curl", server)])
    outcome = read_add(200, {"content-type": "application/json"}, added.encode(), request=wire.ADD, track="textual")
    assert outcome.verdict is Verdict.OK
    found = run(["bash", "-c", sample(samples.search_calls(), "curl", server)])
    assert json.loads(found)["data"][0]["content"]


@pytest.mark.parametrize("request_", [wire.ADD, wire.SEARCH, wire.CHOICE_SEARCH, wire.IMAGE_ADD, wire.IMAGE_SEARCH])
def test_every_request_shown_is_one_that_the_platform_could_send(request_):
    kind = AddRequest if isinstance(request_, AddRequest) else SearchRequest
    shown = wire.pretty(request_)
    assert msgspec.json.decode(shown, type=kind, strict=True) == request_
    assert list(json.loads(shown)) == list(json.loads(encode(request_)))


def test_every_response_shown_is_one_that_the_platform_accepts():
    headers = {"content-type": "application/json"}
    added = wire.pretty(wire.ADD_RESPONSE).encode()
    assert read_add(200, headers, added, request=wire.ADD, track="textual").verdict is Verdict.OK
    found = wire.pretty(wire.SEARCH_RESPONSE).encode()
    assert read_search(200, headers, found, request=wire.SEARCH, track="textual").verdict is Verdict.OK


def test_the_retry_table_says_what_the_contract_says():
    table = {
        status: (row.add, row.search)
        for row in wire.retry_rows()
        if str(row.event).startswith("HTTP ")
        for status in str(row.event).removeprefix("HTTP ").split(", ")
    }
    for status in ("408", "425", "429", "500", "502", "503", "504"):
        assert table[status] == ("retry", "retry")
    assert table["524"] == table["409"] == ("retry", "fail")
    assert table["400"] == table["422"] == table["302"] == ("contract_error", "contract_error")
    assert table["401"] == table["403"] == table["404"] == table["501"] == ("fail", "fail")


def test_every_reason_code_is_explained_once(client, db):
    ids = read_page(client.get("/en/api-guide/")).ids()
    assert set(REASONS) <= set(ids)
    assert sum(len(group.reasons) for group in wire.reason_groups()) == len(REASONS) == wire.reason_count()


def test_samples_can_be_chosen_without_scripts(client, db):
    page = read_page(client.get("/en/api-guide/"))
    radios = page.all("input", type="radio")
    groups = {radio["name"] for radio in radios}
    assert len(groups) >= 5
    assert all(sum("checked" in radio for radio in radios if radio["name"] == group) == 1 for group in groups)
    for button in page.all("button"):
        assert button.get("data-copy", "") in {"", *page.ids()}
