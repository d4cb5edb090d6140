"""The JSON Schemas say what the code does, as far as a schema can say it."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from contract.answers import read_search
from contract.messages import (
    AddRequest,
    ImagePart,
    ImageUrl,
    Message,
    SearchRequest,
    TextPart,
    Track,
    encode,
)
from contract.schemas import ANSWERS, DIALECT, REQUESTS, TRACKS, Wire, schema, schemas
from contract.verdicts import Verdict
from tests.contract.cases import CASES_DIR, MISSING, body_of, load

CASES = [case for case in load("contract_cases.json") if not case.get("transport_fault")]
NAMES = (*REQUESTS, *ANSWERS)
PNG = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAC0lEQVR4nGNgQAUAABAAATm9j2UAAAAASUVORK5CYII="
)
TOLD_BY_SCHEMA = (
    *("success_not_true", "echo_missing", "echo_type", "data_missing", "data_type", "item_type", "too_many_items"),
    *("id_missing", "id_type", "id_empty", "id_too_long", "content_missing", "content_shape", "content_empty"),
    *("score_type", "created_at_type", "task_id_missing", "task_id_type", "task_id_charset"),
    *("part_shape", "part_type", "part_text_missing", "part_text_empty", "part_image_shape", "image_url_missing"),
    *("image_remote", "image_not_data_uri", "image_media_type"),
)
"""Codes that name what one document shows by itself."""


@cache
def validator(name: Wire, track: Track, top_k: int | None = None) -> Draft202012Validator:
    return Draft202012Validator(schema(name, track, top_k))


def answer_name(case: dict[str, Any]) -> Wire:
    if case["endpoint"] == "search":
        return "search_response"
    return "add_accepted" if case["status"] == 202 else "add_response"


def document_of(case: dict[str, Any]) -> Any:
    """Return the body as any JSON reader would have it, or skip: what is no JSON is not for a schema."""
    try:
        return json.loads(body_of(case))
    except (ValueError, RecursionError):
        pytest.skip("the body is no JSON document")


@pytest.mark.parametrize("track", TRACKS)
@pytest.mark.parametrize("name", NAMES)
def test_every_schema_is_a_schema_and_leads_nowhere_else(name: Wire, track: Track) -> None:
    document = schema(name, track)
    assert document["$schema"] == DIALECT
    Draft202012Validator.check_schema(document)
    text = json.dumps(document)
    assert text.count('"$ref": "#/$defs/') == text.count('"$ref"')
    assert ("ImagePart" in document["$defs"]) == (
        track == "multimodal" and name not in ("add_response", "add_accepted")
    )


@pytest.mark.skipif(not CASES, reason=MISSING)
@pytest.mark.parametrize("case", [case for case in CASES if case["verdict"] == "ok"], ids=lambda case: case["id"])
def test_an_accepted_answer_fits_its_schema(case: dict[str, Any]) -> None:
    found = validator(answer_name(case), case["track"], case["request"].get("top_k"))
    assert [error.message[:200] for error in found.iter_errors(document_of(case))] == [], case["why"]


@pytest.mark.skipif(not CASES, reason=MISSING)
@pytest.mark.parametrize(
    "case", [case for case in CASES if case["reason_contains"] in TOLD_BY_SCHEMA], ids=lambda case: case["id"]
)
def test_a_refused_answer_breaks_its_schema_where_one_document_shows_why(case: dict[str, Any]) -> None:
    found = validator(answer_name(case), case["track"], case["request"].get("top_k"))
    assert not found.is_valid(document_of(case)), case["why"]


@pytest.mark.skipif(not CASES, reason=MISSING)
def test_every_request_of_the_case_file_fits_its_schema() -> None:
    for case in CASES:
        name: Wire = "add_request" if case["endpoint"] == "add" else "search_request"
        validator(name, case["track"]).validate(case["request"])


def test_the_case_file_is_read_where_the_folder_exists() -> None:
    assert bool(CASES) == (CASES_DIR / "contract_cases.json").is_file()


texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)
parts = st.lists(st.builds(TextPart, texts) | st.just(ImagePart(ImageUrl(PNG))), min_size=1).map(tuple)
times = st.none() | st.integers(-62_135_596_800_000, 253_402_300_799_999)


@given(track=st.sampled_from(TRACKS), data=st.data())
def test_whatever_the_platform_can_send_fits_the_schema_of_its_track(track: Track, data: st.DataObject) -> None:
    contents = texts | parts if track == "multimodal" else texts
    messages = st.lists(st.builds(Message, st.sampled_from(["user", "assistant"]), contents, times), min_size=1)
    add = data.draw(st.builds(AddRequest, texts, messages.map(tuple), texts, texts))
    validator("add_request", track).validate(json.loads(encode(add)))
    search = data.draw(
        st.builds(
            SearchRequest,
            query=contents,
            options=st.none() | st.lists(texts).map(tuple),
            user_id=texts,
            top_k=st.integers(1, 1000),
        )
    )
    validator("search_request", track).validate(json.loads(encode(search)))


@pytest.mark.parametrize("extra", ["metadata", "app_id", "filters"])
def test_the_platform_sends_no_other_field(extra: str) -> None:
    sent = {"query": "q", "user_id": "u", "top_k": 1}
    assert validator("search_request", "textual").is_valid(sent)
    assert not validator("search_request", "textual").is_valid(sent | {extra: "x"})
    assert not validator("search_request", "textual").is_valid(sent | {"options": None})


scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
anything = scalars | st.text(max_size=70) | st.lists(st.text(max_size=2), max_size=2)
items = st.fixed_dictionaries(
    {"id": anything, "content": anything}, optional={"score": anything, "created_at": anything, "more": anything}
)


@given(st.lists(items, max_size=4), st.sampled_from(["textual", "coding"]))
def test_schema_and_reader_agree_on_answers_of_text(found: list[dict[str, Any]], track: Track) -> None:
    body = msgspec.json.encode({"data": found}) if not _has_lone_surrogate(found) else b""
    if not body or b"\\u0000" in body:
        return
    outcome = read_search(200, {}, body, request=SearchRequest(query="q", user_id="u", top_k=3), track=track)
    fits = validator("search_response", track, 3).is_valid(json.loads(body))
    assert fits == (outcome.verdict is Verdict.OK), outcome.reason


def _has_lone_surrogate(value: Any) -> bool:
    return any("\ud800" <= character <= "\udfff" for character in json.dumps(value, ensure_ascii=False))


def test_the_document_holds_every_schema_of_every_track() -> None:
    document = schemas(top_k=100)
    assert set(document) == {"textual", "multimodal", "coding"}
    assert all(set(of_track) == set(NAMES) for of_track in document.values())
    memories = document["textual"]["search_response"]["$defs"]["SearchResponse"]["properties"]["data"]
    assert memories["maxItems"] == 100
