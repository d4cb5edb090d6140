"""What a request must declare, by division, authentication and scheme."""

import pytest

from submissions.materials import NAMES, VERSION_FIELDS, check_materials
from submissions.models import Cycle
from submissions.refusals import Refusal
from tests.builders import make_materials, open_source_fields

CYCLE = Cycle(number=1, tracks=["textual", "coding"])


def problems(*, has_secret: bool = False, is_complete: bool = True, **changes) -> set[tuple[str, str]]:
    materials = make_materials(**changes)
    try:
        check_materials(materials, cycle=CYCLE, has_secret=has_secret, is_complete=is_complete)
    except Refusal as refusal:
        found = refusal
    else:
        return set()
    assert (found.code, found.status) == ("materials_invalid", 422)
    return {(problem["field"], problem["code"]) for problem in found.details["fields"]}


def test_complete_materials_pass_in_both_divisions():
    assert problems() == set()
    assert problems(**open_source_fields()) == set()


def test_every_shared_field_is_a_column_of_the_version():
    assert set(VERSION_FIELDS) == set(NAMES) - {
        "contact_name",
        "contact_email",
        "team",
        "system",
        "version",
        "division",
        "memory_system_key",
        "stays_reachable",
    }


@pytest.mark.parametrize(
    "name",
    [
        "contact_name",
        "contact_email",
        "team",
        "system",
        "version",
        "division",
        "add_url",
        "search_url",
        "auth_scheme",
        "method_description",
        "public_description",
        "run_notes",
    ],
)
def test_what_every_team_declares_cannot_be_left_out(name):
    assert (name, "required") in problems(**{name: "  " if name != "auth_scheme" else ""})


def test_tracks_must_be_the_cycles():
    assert problems(tracks=()) == {("tracks", "required")}
    assert problems(tracks=("multimodal",)) == {("tracks", "invalid_choice")}


@pytest.mark.parametrize("name", sorted(set(open_source_fields()) - {"division"}))
def test_an_open_source_method_discloses_more(name):
    assert (name, "required") in problems(**{**open_source_fields(), name: ""})
    assert problems(**{name: ""}) == set()


def test_the_promise_to_stay_reachable_is_needed():
    assert problems(stays_reachable=False) == {("stays_reachable", "required")}


@pytest.mark.parametrize(
    ("name", "url", "code"),
    [
        ("add_url", "ftp://memory.example.com/add", "url_scheme_or_form"),
        ("add_url", "https://user:pw@memory.example.com/add", "url_credentials"),
        ("search_url", "https://10.0.0.1/search", "not_public"),
        ("search_url", "https://localhost/search", "host_single_label"),
        ("search_url", "https://memory.example.com/search?api_key=1", "credential_in_query"),
        ("health_url", "https://169.254.169.254/latest", "metadata_ip"),
        ("add_status_url", "https://memory.example.com/status", "placeholder_missing"),
    ],
)
def test_urls_follow_the_guards_grammar_and_nothing_is_resolved(name, url, code):
    assert (name, code) in problems(**{name: url})


def test_urls_are_kept_in_their_plain_form():
    materials = make_materials(add_url="HTTPS://Memory.Example.com:443/add")
    checked = check_materials(materials, cycle=CYCLE, has_secret=False)
    assert checked.add_url == "https://memory.example.com/add"


def test_a_credential_is_needed_unless_authentication_is_none():
    assert problems(memory_system_key="") == {("memory_system_key", "secret_required")}
    assert problems(memory_system_key="", has_secret=True) == set()
    assert problems(memory_system_key="", auth_scheme="none") == set()
    assert problems(auth_scheme="none") == {("memory_system_key", "secret_without_scheme")}
    assert problems(memory_system_key="with space1") == {("memory_system_key", "secret_malformed")}


def test_a_credential_over_plain_http_needs_the_tick():
    plain = {"search_url": "http://memory.example.com/search"}
    assert problems(**plain) == {("allow_plain_http", "plain_http_not_confirmed")}
    assert problems(**plain, allow_plain_http=True) == set()
    assert problems(**plain, auth_scheme="none", memory_system_key="") == set()
    assert problems(health_url="http://memory.example.com/health") == set()


def test_a_target_that_the_operator_opened_by_name_is_exempt(settings):
    urls = {"add_url": "http://127.0.0.1:8801/add", "search_url": "http://127.0.0.1:8801/search", "health_url": ""}
    settings.AML_OWN_HOSTS = []
    assert ("add_url", "not_public") in problems(**urls)
    settings.AML_ALLOWED_PRIVATE_TARGETS = ["127.0.0.1:8801"]
    assert problems(**urls) == set()
    assert ("add_url", "not_public") in problems(**{**urls, "add_url": "http://127.0.0.1:8802/add"})


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"add_concurrency": 0}, ("add_concurrency", "out_of_range")),
        ({"search_concurrency": 257}, ("search_concurrency", "out_of_range")),
        ({"commit": "main"}, ("commit", "commit_malformed")),
        ({"repository": "javascript:alert(1)"}, ("repository", "url_scheme_or_form")),
        ({"technical_report": "ftp://example.com/x"}, ("technical_report", "url_scheme_or_form")),
        ({"division": "other"}, ("division", "invalid_choice")),
        ({"auth_scheme": "basic"}, ("auth_scheme", "invalid_choice")),
    ],
)
def test_values_out_of_range_are_named(changes, problem):
    assert problem in problems(**changes)


def test_a_draft_needs_only_whose_it_is_but_no_wrong_values():
    empty = dict.fromkeys(
        ("contact_name", "add_url", "search_url", "auth_scheme", "memory_system_key", "run_notes"), ""
    )
    assert problems(**empty, tracks=(), stays_reachable=False, is_complete=False) == set()
    assert problems(is_complete=False, team="") == {("team", "required")}
    assert problems(is_complete=False, add_url="nonsense") == {("add_url", "url_scheme_or_form")}


def test_the_secret_is_not_in_the_repr_of_materials():
    materials = make_materials(memory_system_key="canary-of-repr")
    assert "canary-of-repr" not in repr(materials)
