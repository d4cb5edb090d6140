"""The API guide: what it shows is taken off the page and run, its tables are the code's own."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator

import httpx
import msgspec
import pytest
from django.conf import settings
from django.urls import reverse
from django.utils import translation
from jsonschema import Draft202012Validator

from aml.command import app as command
from aml.pages import rules, samples, wire
from contract.answers import read_add, read_search
from contract.auth import AuthScheme
from contract.guard import GuardPolicy, Refused, parse_endpoint
from contract.guard.urls import BAD_PORTS, SPECIAL_LAST_LABELS
from contract.messages import AddRequest, SearchRequest, encode
from contract.reasons import FLAGS, REASONS
from contract.reference import MemoryStore, create_app
from contract.verdicts import Verdict
from tests.contract.peers import running
from tests.site.markup import read_page

KEY = "sample-key-0123456789"
AUTH = {"authorization": f"Bearer {KEY}"}
needs_curl = pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")


@pytest.fixture
def server() -> Iterator[str]:
    with running(create_app(MemoryStore(), auth=AuthScheme.BEARER, key=KEY)) as url:
        yield url


@pytest.fixture
def slow_server() -> Iterator[str]:
    """A server that accepts writes and stores them a second later."""
    with running(create_app(MemoryStore(), auth=AuthScheme.BEARER, key=KEY, deferred_s=1)) as url:
        yield url


@pytest.fixture
def shown(client, db):
    """What stands in the page's samples, by their ids, as a reader would copy it."""
    page = read_page(client.get("/en/api-guide/"))
    return {attrs["id"]: "".join(text) for tag, attrs, text in page.elements if tag == "code" and "id" in attrs}


def run(program: list[str], **settings: str) -> str:
    environment = {"MEMORY_SYSTEM_KEY": KEY, "PATH": os.environ["PATH"], **settings}
    done = subprocess.run(program, capture_output=True, text=True, timeout=30, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


def at(server: str, text: str) -> str:
    assert samples.YOURS in text
    return text.replace(samples.YOURS, server)


def test_the_python_samples_write_a_memory_and_find_it_again(server, shown):
    added = run([sys.executable, "-c", at(server, shown["add-call-python"])])
    assert "'success': True" in added
    found = run([sys.executable, "-c", at(server, shown["search-call-python"])])
    assert "We moved the picnic to Saturday." in found


@needs_curl
def test_the_curl_samples_get_answers_that_keep_the_contract(server, shown):
    added = run(["bash", "-c", at(server, shown["add-call-curl"])])
    outcome = read_add(200, {"content-type": "application/json"}, added.encode(), request=wire.ADD, track="textual")
    assert outcome.verdict is Verdict.OK
    found = run(["bash", "-c", at(server, shown["search-call-curl"])])
    assert json.loads(found)["data"][0]["content"]


def test_the_samples_of_a_202_wait_until_the_write_is_stored(slow_server, shown):
    accepted = httpx.post(f"{slow_server}/add", content=encode(wire.ADD), headers=AUTH)
    assert accepted.status_code == 202
    task_id = accepted.json()["task_id"]
    if shutil.which("curl"):
        assert json.loads(run(["bash", "-c", at(slow_server, shown["status-call-curl"])], TASK_ID=task_id))
    stored = run([sys.executable, "-c", at(slow_server, shown["status-call-python"])], TASK_ID=task_id)
    assert "'success': True" in stored
    assert wire.ADD.request_id in stored


@pytest.mark.parametrize("track", ["textual", "multimodal"])
def test_the_messages_shown_are_taken_by_a_server_whose_answers_are_accepted(server, shown, track):
    add = msgspec.json.decode(shown[f"add-request-{track}"], type=AddRequest)
    answer = httpx.post(f"{server}/add", content=shown[f"add-request-{track}"], headers=AUTH)
    outcome = read_add(answer.status_code, answer.headers, answer.content, request=add, track=track)
    assert outcome.verdict is Verdict.OK, outcome.reason
    search = msgspec.json.decode(shown[f"search-request-{track}"], type=SearchRequest)
    answer = httpx.post(f"{server}/search", content=shown[f"search-request-{track}"], headers=AUTH)
    found = read_search(answer.status_code, answer.headers, answer.content, request=search, track=track)
    assert found.verdict is Verdict.OK, found.reason
    assert found.memories


@pytest.mark.parametrize("track", ["textual", "multimodal"])
@pytest.mark.parametrize(
    ("schema", "sample"),
    [
        ("add-schema", "add-request-{track}"),
        ("search-schema", "search-request-{track}"),
        ("add-response-schema", "add-response-sample"),
        ("add-accepted-schema", "add-accepted-sample"),
        ("search-response-schema", "search-response-sample-{track}"),
    ],
)
def test_the_schemas_shown_hold_for_the_samples_shown(shown, schema, sample, track):
    document = json.loads(shown[f"{schema}-{track}"])
    Draft202012Validator(document).validate(json.loads(shown[sample.format(track=track)]))


def test_the_commands_shown_exist(shown):
    from typer.testing import CliRunner

    for name in ("serve", "check"):
        program, subcommand, *arguments = shown[f"home-call-{name}"].split()
        assert program == "agentmem"
        options = CliRunner().invoke(command, [subcommand, "--help"], env={"COLUMNS": "200"})
        assert options.exit_code == 0, options.output
        assert all(argument in options.output for argument in arguments if argument.startswith("--"))


def test_the_url_rules_shown_are_those_of_the_guard():
    text = " ".join(str(rule.text) for rule in rules.url_rules())
    assert all(f"{port}" in text for port in BAD_PORTS)
    assert all(f".{label}" in text for label in SPECIAL_LAST_LABELS)
    for port in BAD_PORTS:
        with pytest.raises(Refused, match="port_not_allowed"):
            parse_endpoint(f"https://memory.example.org:{port}/add", GuardPolicy())
    assert parse_endpoint("https://memory.example.org:1024/add", GuardPolicy()).port == 1024


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_the_page_is_whole_in_each_language(client, db, language):
    with translation.override(language):
        page = read_page(client.get(reverse("site:api_guide")))
    assert page.unbalanced == []
    assert {f"flag-{flag}" for flag in FLAGS} <= set(page.ids())
    shown_text = page.text()
    assert "2,000" in shown_text
    assert "{" not in " ".join(str(rule.text) for rule in rules.sending_rules())


def test_the_contract_as_data_says_the_same_in_every_language(client, db):
    document = client.get("/api/v1/contract").json()
    languages = {code for code, _name in settings.LANGUAGES}
    assert {reason["code"] for reason in document["reasons"]} == set(REASONS)
    for reason in document["reasons"]:
        assert set(reason["expected"]) == set(reason["advice"]) == languages
        assert reason["expected"]["en"] == REASONS[reason["code"]].expected
        assert reason["expected"]["zh-hans"] != reason["expected"]["en"]
    assert {flag["flag"]: flag["meaning"]["en"] for flag in document["flags"]} == dict(FLAGS)
    assert set(document["urls"]["ports"]["except"]) == BAD_PORTS
    assert {rule["rule"] for rule in document["chunking"]["rules"]} >= {"textual", "multimodal", "coding", "streaming"}
    chinese = client.get("/api/v1/contract", headers={"accept-language": "zh-hans"}).json()
    assert chinese == document


def test_the_contract_as_data_holds_a_schema_of_every_message_of_every_track(client, db):
    messages = client.get("/api/v1/contract").json()["messages"]
    assert set(messages) == {"textual", "multimodal", "coding"}
    for of_track in messages.values():
        Draft202012Validator(of_track["add_request"]).validate(json.loads(encode(wire.ADD)))
        Draft202012Validator(of_track["search_response"]).validate(wire.SEARCH_RESPONSE)
    multimodal = Draft202012Validator(messages["multimodal"]["add_request"])
    assert multimodal.is_valid(json.loads(encode(wire.IMAGE_ADD)))
    assert not Draft202012Validator(messages["textual"]["add_request"]).is_valid(json.loads(encode(wire.IMAGE_ADD)))


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
    pictures = wire.pretty(wire.IMAGE_SEARCH_RESPONSE).encode()
    outcome = read_search(200, headers, pictures, request=wire.IMAGE_SEARCH, track="multimodal")
    assert (outcome.verdict, outcome.flags) == (Verdict.OK, ())
    accepted = wire.pretty(wire.ADD_ACCEPTED).encode()
    outcome = read_add(202, headers, accepted, request=wire.ADD, track="textual", add_status_bound=True)
    assert (outcome.verdict, outcome.task_id) == (Verdict.PENDING, wire.ADD_ACCEPTED["task_id"])


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
