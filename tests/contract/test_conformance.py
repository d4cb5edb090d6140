"""The check of a memory server: it passes what keeps the contract, and finds each fault with its own code."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pytest

from contract.auth import AuthScheme
from contract.client import CallBudget, Client
from contract.conformance import (
    CAUSES,
    GROUPS,
    RULES,
    Addresses,
    CheckLimits,
    Finding,
    Report,
    RuleOutcome,
    addresses_below,
    as_data,
    as_json,
    as_junit,
    cause_text,
    check,
    home_policy,
)
from contract.conformance.addresses import is_home, shown
from contract.conformance.conclusions import percentile
from contract.conformance.pictures import data_uri, picture
from contract.conformance.probe import RETRIES
from contract.faulty import FAULTS, FaultyServer
from contract.guard import GuardPolicy
from contract.media import read_image
from contract.messages import Track
from contract.reasons import REASONS
from contract.reference import MemoryStore, create_app
from tests.contract.cases import ROOT
from tests.contract.peers import running

KEY = "s3cret-key-0001"
SCHEMA = json.loads((ROOT / "contract" / "conformance" / "report.schema.json").read_text(encoding="utf-8"))
BUDGET = CallBudget(connect_s=1, write_s=5, headers_s=0.8, body_s=1.2, total_s=8)
PATIENT = CallBudget(connect_s=20, write_s=20, headers_s=20, body_s=20, total_s=60)  # for a server without a fault
LIMITS = CheckLimits(
    parallel=16,
    max_body=128 * 1024,
    visible_wait_s=1.5,
    retry=replace(RETRIES, attempts=3, first_wait_s=0.1, longest_wait_s=0.3, first_poll_s=0.05, accepted_wait_s=1.6),
)


async def checked(
    addresses: Addresses, *, tls: ssl.SSLContext | None = None, budget: CallBudget = BUDGET, **options: Any
) -> Report:
    policy = home_policy(addresses)
    options.setdefault("limits", LIMITS)
    if options.get("auth", AuthScheme.NONE) is not AuthScheme.NONE:
        options.setdefault("credential", lambda: KEY)
    return await check(addresses, policy=policy, client=Client(policy, budget=budget, tls=tls), **options)


def broken(report: Report) -> set[tuple[str, str]]:
    return {(line.rule, line.code) for line in report.findings if line.outcome is RuleOutcome.FINDING}


def line_of(report: Report, rule: str) -> Finding:
    return next(finding for finding in report.findings if finding.rule == rule)


def facing(*faults: str, bound: bool = False, trusting: bool = False, **options: Any) -> Report:
    """Check a server with these faults; by default with a key."""
    auth = options.setdefault("auth", AuthScheme.BEARER)

    async def go() -> Report:
        async with FaultyServer(*faults, auth=auth, key=KEY) as server:
            status = f"{server.url}/add-status/{{task_id}}" if bound else ""
            tls = ssl.create_default_context(cafile=server.authority) if trusting else None
            return await checked(addresses_below(server.url, status=status), tls=tls, **options)

    return asyncio.run(go())


@pytest.fixture
def reference(request: pytest.FixtureRequest) -> Iterator[str]:
    store = MemoryStore()
    with running(create_app(store, auth=AuthScheme.X_API_KEY, key=KEY)) as url:
        yield url
    store.close()


@pytest.mark.parametrize("track", ["textual", "multimodal", "coding"])
def test_the_reference_server_passes_on_every_track(reference: str, track: Track) -> None:
    addresses = addresses_below(reference)
    report = asyncio.run(
        checked(addresses, track=track, auth=AuthScheme.X_API_KEY, limits=replace(LIMITS, parallel=64), budget=PATIENT)
    )
    assert broken(report) == set()
    assert report.outcome is RuleOutcome.PASS
    assert report.exit_code == 0
    assert [finding.rule for finding in report.findings] == [rule.name for rule in RULES]
    unsaid = {finding.rule for finding in report.findings if finding.outcome is not RuleOutcome.PASS}
    at_home = {"url_form", "tls", "resolved_address", "deferred_add"}
    images = {"parts", "image_only_message", "image_only_query", "image_headers", "returned_parts"}
    assert unsaid - {"returned_parts"} == at_home | (set() if track == "multimodal" else images - {"returned_parts"})


def test_the_misbehaving_server_keeps_the_contract_when_it_has_no_fault() -> None:
    report = facing(track="multimodal")
    assert (broken(report), report.exit_code) == (set(), 0)


def test_all_64_parallel_adds_are_sent_and_counted(reference: str) -> None:
    report = asyncio.run(
        checked(addresses_below(reference), auth=AuthScheme.X_API_KEY, limits=CheckLimits(), budget=PATIENT)
    )
    assert line_of(report, "parallel_adds").facts["adds"] == 64
    latency = line_of(report, "latency").facts
    assert 20 < latency["add_count"] < 64
    assert 0 < latency["search_p50_ms"] <= latency["search_p95_ms"] <= latency["search_max_ms"]


FAULTS_FOUND: dict[str, tuple[str, str]] = {
    "status:400": ("add", "http_400"),
    "status:501": ("add", "http_501"),
    "status:503": ("add", "http_503"),
    "status:503,503,200": ("steady", "http_503"),
    "status:reset_before_response,ok": ("steady", "reset"),
    "retry_after@search:0": ("steady", "http_429"),
    "redirect:308": ("add", "redirect_not_followed"),
    "accepts_any_key": ("wrong_key", "wrong_key_accepted"),
    "accepts_any_key:none": ("no_key", "no_key_accepted"),
    "refuses_right_key": ("right_key", "auth_failed"),
    "credential_echo:body": ("credential_kept", "credential_echoed"),
    "credential_echo:error": ("credential_kept", "credential_echoed"),
    "health_needs_key": ("health", "health_needs_key"),
    "health_down": ("health", "http_503"),
    "malformed_500": ("malformed_add", "malformed_5xx"),
    "malformed_500@search": ("malformed_search", "malformed_5xx"),
    "malformed_accepted": ("malformed_search", "malformed_accepted"),
    "body_limit:60000": ("largest_body", "body_limit"),
    "wants_timestamp": ("no_timestamp", "http_422"),
    "refuses_options": ("options", "http_422"),
    "refuses_images": ("parts", "http_422"),
    "refuses_image_only": ("image_only_message", "http_422"),
    "refuses_image_query": ("image_only_query", "http_422"),
    "leaks_users": ("twins", "leak_twin"),
    "leaks_neighbours:number": ("neighbours", "leak_neighbour"),
    "leaks_neighbours:case": ("neighbours", "leak_neighbour"),
    "leaks_neighbours:space": ("neighbours", "leak_neighbour"),
    "forgets": ("visible_at_once", "not_visible"),
    "visible_late:0.6": ("visible_at_once", "visible_late"),
    "stores_twice": ("replay", "replay_duplicated"),
    "refuses_replay": ("replay", "replay_refused"),
    "loses_parallel": ("parallel_adds", "parallel_lost"),
    "refuses_parallel:4": ("steady", "http_503"),
    "ignores_top_k": ("top_k_one", "too_many_items"),
    "invents": ("empty_user", "empty_user_not_empty"),
    "unknown_user_404": ("empty_user", "not_found"),
    "ascii_only": ("chinese", "chinese_lost"),
    "cuts_long": ("long_message", "long_message_lost"),
    "first_message_only": ("twenty_messages", "message_lost"),
    "accepted": ("add", "status_202_unbound"),
    "success_in_quotes": ("add", "success_not_true"),
    "success_false": ("add", "success_not_true"),
    "echo_missing": ("add", "echo_missing"),
    "echo_number": ("add", "echo_type"),
    "echo_swapped": ("add", "echo_mismatch"),
    "echo_lowercase": ("echo_case", "echo_mismatch"),
    "echo_squeezed": ("echo_spaces", "echo_mismatch"),
    "echo_ascii": ("echo_non_ascii", "echo_mismatch"),
    "echo_normalised": ("echo_non_ascii", "echo_mismatch"),
    "echo_without_emoji": ("echo_emoji", "echo_mismatch"),
    "data_missing": ("search", "data_missing"),
    "data_object": ("search", "data_type"),
    "list_at_top": ("search", "not_object"),
    "over_long_list": ("search", "too_many_items"),
    "items_of_text": ("search", "item_type"),
    "duplicate_ids": ("unique_ids", "duplicate_id"),
    "rising_scores": ("order", "score_not_descending"),
    "id_missing": ("search", "id_missing"),
    "id_number": ("search", "id_type"),
    "id_blank": ("search", "id_empty"),
    "id_long": ("search", "id_too_long"),
    "content_missing": ("search", "content_missing"),
    "content_blank": ("search", "content_empty"),
    "content_object": ("search", "content_shape"),
    "score_text": ("search", "score_type"),
    "score_infinite": ("search", "non_finite_number"),
    "created_at_object": ("search", "created_at_type"),
    "remote_images": ("search", "image_remote"),
    "mislabelled_images": ("search", "image_magic"),
    "broken_images": ("search", "image_not_base64"),
    "web_page": ("add", "content_type"),
    "plain_text": ("media_type", "content_type"),
    "utf_16": ("add", "charset"),
    "latin_1": ("add", "not_utf8"),
    "bom": ("add", "bom"),
    "empty_body": ("add", "empty_body"),
    "trailing_text": ("add", "invalid_json"),
    "duplicate_key": ("add", "duplicate_key"),
    "not_a_number": ("add", "non_finite_number"),
    "nul_character": ("add", "nul_character"),
    "lone_surrogate": ("add", "lone_surrogate"),
    "deep_json": ("add", "json_too_deep"),
    "reset_before_response": ("add", "reset"),
    "reset_in_body": ("add", "truncated_body"),
    "closed_before_response": ("add", "reset"),
    "short_body": ("add", "truncated_body"),
    "chunks_cut_short": ("add", "truncated_body"),
    "no_response": ("add", "read_timeout"),
    "delay:5": ("add", "read_timeout"),
    "delay_body:5": ("add", "read_timeout"),
    "drip": ("add", "read_timeout"),
    "slow_body": ("add", "read_timeout"),
    "infinite_chunked": ("add", "body_too_large"),
    "tiny_chunks": ("add", "chunks_too_small"),
    "endless_1xx": ("add", "read_timeout"),
    "endless_header": ("add", "headers_too_large"),
    "many_headers": ("add", "headers_too_large"),
    "huge_body": ("add", "body_too_large"),
    "garbage_status_line": ("add", "invalid_http"),
    "bad_chunk": ("add", "invalid_http"),
    "length_too_small": ("add", "invalid_json"),
    "two_lengths": ("add", "invalid_http"),
    "unexpected_101": ("add", "invalid_http"),
    "gzip": ("add", "content_encoding"),
    "gzip_bomb": ("add", "content_encoding"),
    "tls": ("tls", "tls_certificate"),
    "tls_self_signed": ("tls", "tls_certificate"),
}
TRUSTED = {"tls_name_mismatch": ("tls", "tls_certificate"), "tls_expired": ("tls", "tls_certificate")}
BOUND = {
    "accepted_never_done": ("add", "never_done"),
    "accepted_and_lost": ("add", "not_found"),
    "accepted_for_another": ("add", "echo_mismatch"),
    "accepted_without_task": ("add", "task_id_missing"),
    "accepted_number": ("add", "task_id_type"),
    "accepted_path": ("add", "task_id_charset"),
}
HARMLESS = (
    "early_hints",
    "extra_pipelined_response",
    "length_and_chunks",
    "delay:0",
    "drip:0",
    "credential_echo:header",
)
UNREACHABLE = {"connect_refused": "connect_refused", "connect_timeout": "connect_timeout"}


@pytest.mark.parametrize("fault", FAULTS_FOUND)
def test_a_fault_is_found_with_its_own_code(fault: str) -> None:
    report = facing(fault, track="multimodal")
    assert FAULTS_FOUND[fault] in broken(report)
    assert report.exit_code == 1
    rule, code = FAULTS_FOUND[fault]
    finding = line_of(report, rule)
    assert cause_text(code).advice
    assert KEY not in repr(report.findings)
    assert finding.sent or rule == "steady"


@pytest.mark.parametrize("fault", TRUSTED)
def test_a_wrong_certificate_of_a_trusted_authority_is_found(fault: str) -> None:
    report = facing(fault, trusting=True)
    assert broken(report) == {TRUSTED[fault]}
    assert line_of(report, "add").code == "needs_reach"
    assert report.exit_code == 1


def test_a_right_certificate_of_a_trusted_authority_passes() -> None:
    report = facing("tls", trusting=True)
    assert (broken(report), line_of(report, "tls").outcome) == (set(), RuleOutcome.PASS)


@pytest.mark.parametrize("fault", BOUND)
def test_a_fault_of_an_accepted_add_is_found(fault: str) -> None:
    report = facing(fault, bound=True)
    assert BOUND[fault] in broken(report)
    assert line_of(report, "deferred_add").code == BOUND[fault][1]


def test_an_accepted_add_is_followed_to_its_end() -> None:
    report = facing("accepted:0", bound=True)
    assert broken(report) == set()
    finding = line_of(report, "deferred_add")
    assert finding.outcome is RuleOutcome.PASS
    assert finding.facts["seconds"] > 0


@pytest.mark.parametrize("fault", HARMLESS)
def test_what_is_only_odd_passes(fault: str) -> None:
    assert broken(facing(fault)) == set()


@pytest.mark.parametrize("fault", UNREACHABLE)
def test_a_server_that_cannot_be_reached_could_not_be_checked(fault: str) -> None:
    report = facing(fault)
    finding = line_of(report, "reachable")
    assert (finding.outcome, finding.code) == (RuleOutcome.COULD_NOT_RUN, UNREACHABLE[fault])
    assert (broken(report), report.exit_code) == (set(), 2)
    assert line_of(report, "add").code == "needs_reach"


def test_every_fault_stands_in_one_of_these_tables() -> None:
    tables = (*FAULTS_FOUND, *TRUSTED, *BOUND, *HARMLESS, *UNREACHABLE)
    assert {name.partition(":")[0].partition("@")[0] for name in tables} == set(FAULTS)


def test_a_url_that_the_platform_would_refuse_is_found_without_a_call() -> None:
    addresses = addresses_below("http://user:pw@api.alpha-mem.com:9200")
    report = asyncio.run(checked(addresses))
    assert ("url_form", "url_credentials") in broken(report)
    assert "user:pw" not in as_json(as_data(report, str, language="en"))


def test_the_guard_of_the_portal_refuses_what_is_fine_at_home() -> None:
    async def go() -> Report:
        async with FaultyServer() as server:
            report = await check(addresses_below(server.url), policy=GuardPolicy())
            assert server.connections == 0
            return report

    report = asyncio.run(go())
    assert report.exit_code == 2
    assert line_of(report, "reachable").code == "not_public"


def test_a_caller_may_try_a_part_of_the_rules() -> None:
    report = facing("forgets", rules=[rule for rule in RULES if rule.group in ("reach", "keys")])
    assert {line.rule for line in report.findings} == {r.name for r in RULES if r.group in ("reach", "keys")}
    assert report.exit_code == 0


@pytest.mark.parametrize(
    ("url", "home"),
    [
        ("http://localhost:8000/add", True),
        ("http://memory/add", True),
        ("http://memory.internal/add", True),
        ("http://192.168.1.7:8000/", True),
        ("http://[::1]:8000/", True),
        ("https://api.alpha-mem.com/add", False),
        ("http://8.8.8.8/", False),
        ("http://[::1", False),
        ("nonsense", False),
    ],
)
def test_a_home_is_told_from_a_public_host(url: str, home: bool) -> None:
    assert is_home(url) is home


def test_a_report_shows_addresses_without_what_may_be_secret() -> None:
    assert shown("https://u:p@api.alpha-mem.com:8443/v1/add?token=x") == "https://api.alpha-mem.com:8443/v1/add?…"


@pytest.mark.parametrize("faults", [(), ("forgets", "malformed_500"), ("connect_refused",), ("bom",)])
def test_the_json_report_follows_its_schema(faults: tuple[str, ...]) -> None:
    report = facing(*faults)
    data = json.loads(as_json(as_data(report, str, language="en")))
    jsonschema.Draft202012Validator(SCHEMA).validate(data)
    assert sum(data["counts"].values()) == len(RULES) == len(data["findings"])
    assert data["exit_code"] == report.exit_code


def test_the_schema_refuses_a_finding_without_code_or_advice() -> None:
    data = as_data(facing("forgets"), str, language="en")
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    wrong = next(line for line in data["findings"] if line["outcome"] == "finding")
    for field in ("code", "advice"):
        spoiled = json.loads(json.dumps(data))
        spoiled["findings"][data["findings"].index(wrong)][field] = ""
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(spoiled, SCHEMA)


def test_the_junit_report_counts_failures_errors_and_skips() -> None:
    data = as_data(facing("data_missing"), str, language="en")
    suite = ElementTree.fromstring(as_junit(data))
    assert suite.get("tests") == str(len(RULES)) == str(len(suite))
    for tag, attribute, outcome in (
        ("failure", "failures", "finding"),
        ("error", "errors", "could_not_run"),
        ("skipped", "skipped", "skipped"),
    ):
        cases = [case.get("name") for case in suite if case.find(tag) is not None]
        assert suite.get(attribute) == str(len(cases))
        assert cases == [line["rule"] for line in data["findings"] if line["outcome"] == outcome]
    failure = next(case.find("failure") for case in suite if case.get("name") == "search")
    assert failure is not None
    assert failure.get("message", "").startswith("data_missing: ")
    assert "advice: " in (failure.text or "")


def test_junit_holds_no_character_that_xml_cannot() -> None:
    data = as_data(facing("forgets"), str, language="en")
    data["findings"][0] |= {"outcome": "finding", "came": "a\x00b\x1f\ud800😀 <&>"}
    assert "a�b��😀 <&>" in (ElementTree.fromstring(as_junit(data)).find(".//failure").text or "")  # type: ignore[union-attr]


def test_every_sentence_goes_through_the_translator() -> None:
    data = as_data(facing("forgets"), lambda message: f"«{message}»", language="zh")
    for line in data["findings"]:
        assert line["title"].startswith("«")
        assert line["outcome"] == "pass" or (line["expected"].startswith("«") and line["advice"].startswith("«"))


def test_rules_and_codes_are_well_formed() -> None:
    names = [rule.name for rule in RULES]
    assert len(names) == len(set(names))
    assert {rule.group for rule in RULES} == set(GROUPS)
    proven = {rule.gives for rule in RULES} | {"key", "images", "status"}
    assert {need for rule in RULES for need in rule.needs} <= proven
    assert not CAUSES.keys() & REASONS.keys()


@pytest.mark.parametrize("size", [0, 20_000, 9 << 20])
def test_the_pictures_of_the_check_are_what_the_contract_wants(size: int) -> None:
    facts = read_image(data_uri(picture(size)))
    assert facts.media_type == "image/png"
    assert abs(facts.size - size) < 2_000 or not size
    assert (facts.width, facts.height) == ((512, size // 1537) if size else (16, 16))


def test_percentiles_are_nearest_ranks() -> None:
    values = [float(n) for n in range(100, 0, -1)]
    assert [percentile(values, share) for share in (0.5, 0.95, 1.0)] == [50.0, 95.0, 100.0]
    assert percentile([], 0.5) == 0.0


def test_the_schema_stands_beside_the_code() -> None:
    assert Path(SCHEMA["$id"].replace("urn:", "")).name == "agentmem:check:v1"
