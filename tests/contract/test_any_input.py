"""Whatever a peer or a participant writes, there is a verdict and no exception."""

from __future__ import annotations

import json
from ipaddress import IPv4Address, IPv6Address

import httpx
import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from contract.answers import read_add, read_add_status, read_search
from contract.guard import GuardPolicy, Refused, deny_reason, parse_endpoint, parse_targets
from contract.jsonreader import Broken, read_object
from contract.media import read_image
from contract.messages import AddRequest, Message, SearchRequest, Track, encode
from contract.reasons import FLAGS, REASONS, flag_text, reason_text
from contract.verdicts import Verdict, excerpt

ADD = AddRequest("r", (Message("user", "x"),), "u", "s")
SEARCH = SearchRequest(query="q", user_id="u", top_k=3)
TRACKS = st.sampled_from(["textual", "multimodal", "coding"])
OPEN = GuardPolicy(allow_ipv6=True)

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
parts = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["text", "image_url", "x"]) | json_values,
        "text": st.text() | json_values,
        "image_url": st.fixed_dictionaries({}, optional={"url": st.text() | st.just("data:image/png;base64,")})
        | json_values,
    },
)
items = st.fixed_dictionaries(
    {},
    optional={
        "id": st.text() | json_values,
        "content": st.text() | st.lists(parts | json_values, max_size=3) | json_values,
        "score": st.floats() | json_values,
        "created_at": json_values,
    },
)
bodies = (
    st.binary(max_size=200)
    | st.builds(lambda value: json.dumps(value).encode(), json_values)
    | st.builds(lambda found: json.dumps({"data": found}).encode(), st.lists(items | json_values, max_size=5))
    | st.builds(
        lambda echo: json.dumps(echo).encode(),
        st.fixed_dictionaries(
            {"success": st.just(True) | json_values},
            optional={
                name: st.sampled_from(["r", "u", "s"]) | json_values
                for name in ("request_id", "user_id", "session_id", "task_id")
            },
        ),
    )
)
headers = st.dictionaries(
    st.sampled_from(["Content-Type", "content-encoding", "Retry-After", "Location"]),
    st.text(max_size=30) | st.sampled_from(["application/json", "text/html; charset=x", "identity"]),
)


@given(
    status=st.integers(-5, 1200) | st.sampled_from([200, 202]),
    headers=headers,
    body=bodies,
    track=TRACKS,
    bound=st.booleans(),
)
def test_any_answer_gets_a_verdict_and_a_known_reason(
    status: int, headers: dict[str, str], body: bytes, track: Track, bound: bool
) -> None:
    outcomes = (
        read_add(status, headers, body, request=ADD, track=track, add_status_bound=bound),
        read_add_status(status, headers, body, request=ADD, track=track),
        read_search(status, headers, body, request=SEARCH, track=track),
    )
    for outcome in outcomes:
        assert outcome.verdict in Verdict
        assert (outcome.reason is None) == (outcome.verdict in (Verdict.OK, Verdict.PENDING))
        if outcome.reason:
            assert outcome.reason.code in REASONS or outcome.reason.code == f"http_{status}"
            assert len(outcome.reason.got) <= 300
            outcome.reason.got.encode("utf-8")
        if outcome.verdict is Verdict.OK:
            assert status == 200


@given(st.binary(max_size=300) | st.text().map(lambda text: text.encode("utf-8", "surrogatepass")))
@example(b'{"a":' + b"9" * 5000 + b"}")
@example(b"[" * 200_000)
@example(b'{"a":1e999}')
@example(b'{"\\ud800":1}')
def test_the_json_reader_returns_an_object_or_says_what_is_broken(body: bytes) -> None:
    try:
        document = read_object(body)
    except Broken as broken:
        assert broken.reason.code in REASONS  # noqa: PT017 - either way out is right
    else:
        assert document == json.loads(body.decode("utf-8"))


@given(
    st.dictionaries(
        st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])),
        st.integers() | st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])),
    )
)
def test_the_json_reader_reads_what_others_write(document: dict[str, object]) -> None:
    assert read_object(msgspec.json.encode({k: str(v) for k, v in document.items()})) == {
        k: str(v) for k, v in document.items()
    }


@pytest.mark.parametrize("levels", [1, 63, 64, 65, 66, 190, 250, 900, 5000])
@pytest.mark.parametrize("opened", ["array", "object"])
def test_the_64th_container_is_the_last_one_allowed(levels: int, opened: str) -> None:
    inner = (
        "[" * (levels - 1) + "]" * (levels - 1)
        if opened == "array"
        else '{"a":' * (levels - 1) + "1" + "}" * (levels - 1)
    )
    body = ('{"x":' + (inner or "1") + "}").encode()
    if levels <= 64:
        read_object(body)
        return
    with pytest.raises(Broken) as raised:
        read_object(body)
    assert raised.value.reason.code == "json_too_deep"


@given(json_values | st.text(st.characters()))
def test_an_excerpt_is_one_short_printable_line(value: object) -> None:
    text = excerpt(value)
    assert len(text) <= 300
    assert text.isprintable()


@given(
    st.text(max_size=200)
    | st.builds(
        "data:image/{};base64,{}".format,
        st.sampled_from(["png", "jpeg", "webp", "gif"]),
        st.text("ABCDwxyz09+/=", max_size=80),
    )
)
def test_any_image_text_is_read_or_broken(url: str) -> None:
    try:
        facts = read_image(url)
    except Broken as broken:
        assert broken.reason.code in REASONS  # noqa: PT017 - either way out is right
    else:
        assert facts.size > 0


URL_PIECES = (
    *("http", "https", "://", "://", "/", "?", "#", "@", ":", "[", "]", "%", "%2e", "..", ".", "{task_id}", "xn--"),
    *("-", "_", "127.0.0.1", "::1", "8.8.8.8", "0x7f", "api.alpha-mem.com", "localhost", "8080", "443", "a", "é"),
    *("\t", "key=1", "&"),
)
url_pieces = st.lists(st.sampled_from(URL_PIECES) | st.text(max_size=3), max_size=12).map("".join)


@given(st.text(max_size=60) | url_pieces | url_pieces.map(lambda rest: "https://" + rest), st.booleans())
def test_any_url_is_refused_or_a_fixed_point_that_other_parsers_read_alike(url: str, placeholder: bool) -> None:
    try:
        endpoint = parse_endpoint(url, OPEN, placeholder=placeholder)
    except Refused as refused:
        assert refused.code in REASONS  # noqa: PT017 - either way out is right
        return
    assert parse_endpoint(endpoint.url, OPEN, placeholder=placeholder) == endpoint
    other = httpx.URL(endpoint.url.replace("{task_id}", "T"))
    assert (other.scheme, other.host, other.port or {"http": 80, "https": 443}[other.scheme]) == (
        endpoint.scheme,
        endpoint.host,
        endpoint.port,
    )
    assert not other.userinfo


@given(st.integers(0, 2**32 - 1).map(IPv4Address), st.integers(0, 2**96 - 1))
def test_no_ipv6_form_carries_an_ipv4_address_past_the_guard(address: IPv4Address, noise: int) -> None:
    raw = int(address)
    forms = (
        (0xFFFF << 32) | raw,
        raw,
        (0xFFFF << 48) | raw,
        (0x2002 << 112) | (raw << 80) | (noise & (1 << 80) - 1),
        (0x64FF9B << 96) | raw,
        (0x64FF9B0001 << 80) | (noise & (1 << 80) - 1),
        (0x20010000 << 96) | (noise & (1 << 64) - 1) << 32 | (raw ^ 0xFFFFFFFF),
        (0x26064700 << 96) | (0x00005EFE << 32) | raw,
        (0x26064700 << 96) | (0x02005EFE << 32) | raw,
    )
    for form in forms:
        assert deny_reason(str(IPv6Address(form)), 443, OPEN) is not None, IPv6Address(form)


@given(st.text(max_size=20))
def test_any_reason_code_has_sentences(code: str) -> None:
    text = reason_text(code)
    assert text.expected
    assert text.advice


def test_an_allowed_target_is_exempt_at_its_port_alone() -> None:
    policy = GuardPolicy(parse_targets(["127.0.0.1:8801", "memory:80", "[::1]:9", "LocalHost:22"]))
    for url in ("http://127.0.0.1:8801/add", "http://memory/add", "http://[::1]:9/", "https://localhost:22/x"):
        assert parse_endpoint(url, policy).url == url
    for url in (
        "http://127.0.0.1:8802/",
        "http://127.0.0.2:8801/",
        "http://memory:81/",
        "http://localhost/",
        "http://127.1:8801/",
    ):
        with pytest.raises(Refused):
            parse_endpoint(url, policy)
    for url in (
        "http://u@127.0.0.1:8801/",
        "http://127.0.0.1:8801/#x",
        "ftp://127.0.0.1:8801/",
        "http://127.0.0.1:8801/?token=x",
    ):
        with pytest.raises(Refused):
            parse_endpoint(url, policy)


@pytest.mark.parametrize("entry", ["", "127.0.0.1", "127.0.0.1:", ":80", "a:0", "a:65536", "a:x"])
def test_a_target_that_is_not_host_and_port_is_named(entry: str) -> None:
    with pytest.raises(ValueError, match="expected host:port"):
        parse_targets([entry])


@given(
    st.builds(
        Message,
        st.sampled_from(["user", "assistant"]),
        st.text(st.characters(exclude_categories=["Cs"]), min_size=1),
        st.none() | st.integers(0, 2**41),
    )
)
def test_a_request_encodes_to_the_same_bytes_and_reads_back(message: Message) -> None:
    request = AddRequest("r", (message,), "u", "s")
    body = encode(request)
    assert body == encode(AddRequest("r", (message,), "u", "s"))
    assert msgspec.json.decode(body, type=AddRequest) == request
    assert ("timestamp" in json.loads(body)["messages"][0]) == (message.timestamp is not None)


def test_every_flag_that_the_reader_sets_has_a_sentence() -> None:
    image = "data:image/png;base64," + "iVBORw0KGgo="
    item = {"id": "m", "content": [{"type": "image_url", "image_url": {"url": image}}]}
    data = [item | {"score": 1}, item | {"score": 2}]
    body = json.dumps({"data": data}).encode()
    outcome = read_search(200, {"Content-Type": "text/plain"}, body, request=SEARCH, track="multimodal")
    assert set(outcome.flags) == {"content_type", "duplicate_id", "score_not_descending", "image_header_unreadable"}
    assert set(outcome.flags) < set(FLAGS)
    assert flag_text("duplicate_id") != flag_text("unknown") == "unknown"


def test_health_without_a_url_of_its_own_stands_on_the_origin_of_add() -> None:
    assert parse_endpoint("https://api.alpha-mem.com:8443/v1/add?x=1", OPEN).health_url == (
        "https://api.alpha-mem.com:8443/health"
    )
