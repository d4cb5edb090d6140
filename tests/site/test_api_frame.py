"""What all of the API shares: its errors, limits, languages, lists, and its own description."""

import io
import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from django.core.exceptions import PermissionDenied, RequestDataTooBig, SuspiciousOperation
from django.core.exceptions import ValidationError as DjangoValidationError
from django.core.management import call_command
from django.db import InterfaceError, OperationalError
from django.http import Http404
from django.test import Client
from django.utils import translation
from rest_framework import exceptions, serializers
from rest_framework.test import APIRequestFactory
from rest_framework.views import APIView

from aml.api import throttling
from aml.api.errors import answer_error
from aml.api.pagination import CursorPages
from aml.statuses import HTTP_STATUSES
from contract.reasons import REASONS
from submissions.models import Team
from submissions.refusals import Refusal
from tests.builders import make_key

CONTRACT = "/api/v1/contract"


class Raising(APIView):
    """Raises what a test puts here."""

    error: Exception = Http404()
    throttle_classes = ()

    def get(self, request):
        raise self.error


def answer(error: Exception, **headers: str):
    view = Raising.as_view(error=error)
    with translation.override("en"):
        response = view(APIRequestFactory().get("/", headers=headers))
        response.render()
    return response


@pytest.mark.parametrize(
    ("error", "status", "reason"),
    [
        (Refusal("quota_used_up", "None is left.", status=429), 429, "quota_used_up"),
        (Refusal("key_invalid", "No.", status=401), 401, "key_invalid"),
        (Http404(), 404, "not_found"),
        (exceptions.NotFound(), 404, "not_found"),
        (exceptions.NotAuthenticated(), 401, "not_authenticated"),
        (exceptions.AuthenticationFailed(), 401, "not_authenticated"),
        (exceptions.PermissionDenied(), 403, "permission_denied"),
        (PermissionDenied(), 403, "permission_denied"),
        (exceptions.MethodNotAllowed("PUT"), 405, "method_not_allowed"),
        (exceptions.ParseError(), 400, "malformed"),
        (SuspiciousOperation(), 400, "malformed"),
        (OperationalError("connection to server at 10.0.0.5 failed"), 503, "unavailable"),
        (InterfaceError("the connection is closed"), 503, "unavailable"),
        (RequestDataTooBig(), 413, "body_too_large"),
        (exceptions.UnsupportedMediaType("text/xml"), 415, "unsupported_media_type"),
        (exceptions.NotAcceptable(), 406, "not_acceptable"),
        (exceptions.Throttled(wait=3.2), 429, "throttled"),
        (exceptions.ValidationError("no"), 422, "invalid"),
        (DjangoValidationError("no"), 422, "invalid"),
        (exceptions.APIException(), 500, "internal_error"),
        (RuntimeError("the password is hunter2"), 500, "internal_error"),
    ],
)
def test_every_error_has_the_same_form(error: Exception, status: int, reason: str) -> None:
    response = answer(error)
    detail = json.loads(response.content)["detail"]
    assert (response.status_code, detail["reason"]) == (status, reason)
    assert detail["message"]
    assert detail["request_id"] == response["X-Request-Id"]
    assert "hunter2" not in response.content.decode()
    assert ("WWW-Authenticate" in response) == (status == 401)


def test_an_unforeseen_error_is_logged_under_the_id_that_is_told(caplog: pytest.LogCaptureFixture) -> None:
    response = answer(ZeroDivisionError())
    assert response["X-Request-Id"] in caplog.text
    assert "ZeroDivisionError" in caplog.text


def test_a_refusal_brings_its_details_and_its_wait() -> None:
    error = Refusal("quota_not_yet", "Wait.", status=429, retry_after_s=90, details={"left": 1, "reason": "no"})
    response = answer(error)
    detail = json.loads(response.content)["detail"]
    assert response["Retry-After"] == "90"
    assert (detail["retry_after_s"], detail["left"], detail["reason"]) == (90, 1, "quota_not_yet")


def test_a_throttled_request_is_told_when_to_come_back() -> None:
    response = answer(exceptions.Throttled(wait=3.2))
    assert response["Retry-After"] == "4"


class _Inner(serializers.Serializer):
    label = serializers.CharField()


class _Outer(serializers.Serializer):
    team = serializers.CharField(max_length=3)
    versions = _Inner(many=True)
    tracks = serializers.ListField(child=serializers.IntegerField())

    def validate(self, attrs):
        raise serializers.ValidationError("The two do not fit.", code="misfit")


def invalid_fields(data: dict) -> list[tuple[str, str]]:
    serializer = _Outer(data=data)
    try:
        serializer.is_valid(raise_exception=True)
    except exceptions.ValidationError as error:
        detail = json.loads(answer(error).content)["detail"]
        return [(entry["field"], entry["code"]) for entry in detail["fields"]]
    return []


def test_fields_that_are_off_are_named_by_their_path() -> None:
    data = {"team": "long name", "versions": [{"label": "a"}, {}], "tracks": [1, "x"]}
    assert invalid_fields(data) == [("team", "max_length"), ("versions.1.label", "required"), ("tracks.1", "invalid")]
    assert invalid_fields({"team": "abc", "versions": [], "tracks": []}) == [("", "misfit")]


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["/api/v1/", "/api/v1/none", "/api/v1/boards/a/b", "/api/v1/boards/a/b/c"])
@pytest.mark.parametrize("method", ["get", "post", "delete"])
def test_an_address_without_anything_answers_in_the_same_form(client: Client, path: str, method: str) -> None:
    response = getattr(client, method)(path)
    assert response.status_code in {404, 405}
    assert response["Content-Type"].startswith("application/json")
    assert response.json()["detail"]["reason"] in {"not_found", "method_not_allowed"}


@pytest.mark.django_db
def test_messages_come_in_the_language_that_is_asked_for(client: Client) -> None:
    english = client.get("/api/v1/none", headers={"Accept-Language": "en"})
    chinese = client.get("/api/v1/none", headers={"Accept-Language": "zh-CN,zh;q=0.9"})
    assert english["Content-Language"] == "en"
    assert chinese["Content-Language"] == "zh-hans"
    assert english.json()["detail"]["reason"] == chinese.json()["detail"]["reason"]


@pytest.mark.django_db
@pytest.mark.parametrize("header", [{"Authorization": "Bearer nonsense"}, {"X-Api-Key": "aml_live_nonsense"}])
def test_a_key_that_opens_nothing_is_401_also_on_public_addresses(client: Client, header: dict[str, str]) -> None:
    response = client.get(CONTRACT, headers=header)
    assert response.status_code == 401
    assert response["WWW-Authenticate"].startswith("Bearer")
    assert response.json()["detail"]["reason"] == "key_invalid"


@pytest.mark.django_db
def test_the_contract_is_read_off_the_code(client: Client) -> None:
    document = client.get(CONTRACT).json()
    assert document["schema"] == "aml.contract.v1"
    assert {reason["code"] for reason in document["reasons"]} == set(REASONS)
    statuses = {line["status"]: (line["add"], line["search"]) for line in document["retry"]["statuses"]}
    assert set(statuses) == set(HTTP_STATUSES)
    assert statuses[503] == ("retry", "retry")
    assert statuses[409] == ("retry", "fail")
    assert statuses[524] == ("retry", "fail")
    assert statuses[422] == ("contract_error", "contract_error")
    assert statuses[302] == ("contract_error", "contract_error")
    assert statuses[401] == ("fail", "fail")
    assert document["limits"]["top_k"] == 100
    assert document["limits"]["body_bytes"]["textual"] == 10 * 1024 * 1024
    chunking = document["chunking"]
    assert (chunking["counter"], chunking["messages"], chunking["words"]) == ("words.v1", 20, 2000)


@pytest.mark.django_db
def test_beyond_the_limit_of_an_address_the_answer_is_429(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(throttling, "RATES", {"read": "2/min", "write": "1/min"})
    monkeypatch.setattr(throttling.AddressThrottle, "subject", "address-of-this-test")
    statuses = [client.get(CONTRACT).status_code for _call in range(3)]
    assert statuses == [200, 200, 429]
    refused = client.get(CONTRACT)
    assert int(refused["Retry-After"]) > 0
    assert refused.json()["detail"]["reason"] == "throttled"
    assert client.get(CONTRACT, REMOTE_ADDR="203.0.113.5").status_code == 200


@pytest.mark.django_db
def test_a_list_comes_in_pages_that_a_new_row_does_not_shift() -> None:
    for number in range(5):
        Team.objects.create(name=f"Team {number}")
    factory = APIRequestFactory()
    view = SimpleNamespace(ordering="-created_at")

    def page(url: str):
        pages = CursorPages()
        rows = pages.paginate_queryset(Team.objects.all(), _drf(factory.get(url)), view=view)
        return [row.name for row in rows], pages.get_next_link()

    first, following = page("/?page_size=2")
    Team.objects.create(name="Newcomer")
    second, _ = page(following)
    assert first == ["Team 4", "Team 3"]
    assert second == ["Team 2", "Team 1"]


def _drf(request):
    return APIView().initialize_request(request)


@pytest.mark.django_db
def test_the_committed_description_is_what_the_code_says(client: Client) -> None:
    made = io.StringIO()
    with translation.override("en"):
        call_command("spectacular", "--format", "openapi-json", "--validate", "--fail-on-warn", stdout=made)
    committed = Path("aml/api/openapi.json").read_text()
    assert json.loads(made.getvalue()) == json.loads(committed), (
        "Run: manage.py spectacular --format openapi-json --file aml/api/openapi.json"
    )
    served = client.get("/api/v1/openapi.json", headers={"Accept": "text/html"})
    assert served.json() == json.loads(committed)
    assert client.get("/api/v1/openapi.json", headers={"If-None-Match": served["ETag"]}).status_code == 304


def test_the_description_tells_the_form_of_errors() -> None:
    description = json.loads(Path("aml/api/openapi.json").read_text())
    assert description["openapi"].startswith("3.1")
    for path, methods in description["paths"].items():
        for method, operation in methods.items():
            assert "default" in operation["responses"], (path, method)


def test_the_settings_name_this_handler(settings) -> None:
    assert settings.REST_FRAMEWORK["EXCEPTION_HANDLER"] == f"{answer_error.__module__}.{answer_error.__name__}"


BROKEN_BODIES = {
    "lone surrogate": b'{"version": "\\ud800", "track": "\\ud800"}',
    "lone surrogate in a name": b'{"\\udfff": 1}',
    "U+0000": b'{"track": "\\u0000"}',
    "deep list": b"[" * 100_000 + b"]" * 100_000,
    "deep object": b'{"a":' * 50_000 + b"1" + b"}" * 50_000,
    "endless number": b'{"add_concurrency": ' + b"9" * 5_000 + b"1e999}",
    "doubled key": b'{"track": "textual", "track": "coding"}',
    "no object": b"[]",
    "not UTF-8": '{"track": "textual"}'.encode("utf-16"),
    "byte order mark": b"\xef\xbb\xbf{}",
    "cut off": b'{"track": ',
}


@pytest.mark.django_db
@pytest.mark.parametrize("content_type", ["application/json", "application/json; charset=no-such"])
@pytest.mark.parametrize("body", BROKEN_BODIES.values(), ids=BROKEN_BODIES)
@pytest.mark.parametrize("path", ["smoke-tests", "eval-jobs", "access-requests"])
def test_a_body_that_is_no_json_object_is_malformed_whatever_is_wrong(entrant_key, path, body, content_type):
    client = Client(headers={"x-api-key": entrant_key})
    response = client.generic("POST", f"/api/v1/{path}", body, content_type)
    assert (response.status_code, response.json()["detail"]["reason"]) == (400, "malformed")


@pytest.mark.django_db
def test_a_body_is_read_to_its_limit_and_no_further(entrant_key, settings):
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1_000
    client = Client(headers={"x-api-key": entrant_key})
    statuses = [
        client.generic("POST", "/api/v1/smoke-tests", b'{"a": "' + b"x" * size + b'"}', "application/json").status_code
        for size in (1_000, 900)
    ]
    assert statuses == [413, 422]


@pytest.fixture
def entrant_key() -> str:
    return make_key()[1]
