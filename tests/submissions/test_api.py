"""Participants over the REST API: the same road as on the pages, with JSON."""

import pytest
import time_machine
from django.utils import timezone

from submissions.keys import checksum
from submissions.models import AccessRequest, LeaderboardKey, MemorySystemKey, Version
from submissions.services import approve_access_request, request_changes, revoke_key
from submissions.vault import open_memory_system_key
from tests.builders import ORGANIZER, SECRET, key_nobody_has, make_cycle, make_key, make_materials, make_version

pytestmark = pytest.mark.django_db
ROOT = "/api/v1/"


def body(**changes):
    return {name: value for name, value in vars(make_materials(**changes)).items() if value not in (None, "")}


def bearer(text):
    return {"authorization": f"Bearer {text}"}


def send(client, method, path, data=None, **headers):
    return getattr(client, method)(ROOT + path, data, content_type="application/json", headers=headers)


def test_cycles_and_tracks_are_public_and_drafts_are_not(client):
    shown, _hidden = make_cycle(), make_cycle(state="draft")
    cycles = client.get(f"{ROOT}cycles").json()
    assert [cycle["slug"] for cycle in cycles] == [shown.slug]
    assert cycles[0]["full_limit"] == 2
    assert [track["code"] for track in client.get(f"{ROOT}tracks").json()] == [
        "textual",
        "multimodal",
        "coding",
        "diagnostics",
    ]


def test_names_come_in_the_callers_language(client):
    make_cycle(number=7, name_en="Seven", name_zh_hans="第七期")
    assert client.get(f"{ROOT}cycles", headers={"accept-language": "zh-hans"}).json()[0]["name"] == "第七期"
    assert client.get(f"{ROOT}cycles", headers={"accept-language": "en"}).json()[0]["name"] == "Seven"


def test_the_whole_road_from_request_to_key(client):
    cycle = make_cycle()
    made = send(client, "post", "access-requests", body())
    assert made.status_code == 201
    assert "no-store" in made["Cache-Control"]
    answer = made.json()
    receipt, path = answer["receipt"], f"access-requests/{answer['receipt']}"
    assert receipt in answer["status_url"]
    assert (answer["state"], answer["cycle"], answer["key_waits"]) == ("submitted", cycle.slug, False)
    assert answer["version"]["memory_system_key"]["configured"] is True
    assert SECRET not in made.content.decode()
    assert client.get(answer["status_url"].split("/", 3)[3].join(["/", ""])).status_code == 200
    request = AccessRequest.objects.get()
    request_changes(access_request=request, actor=ORGANIZER, reason="say more", at=timezone.now())
    assert send(client, "get", path).json()["note_to_team"] == "say more"
    edited = body(team=request.team.name, system=request.version.system.name, run_notes="more")
    assert send(client, "put", path, edited).json()["state"] == "submitted"
    request.refresh_from_db()
    approve_access_request(access_request=request, actor=ORGANIZER, reason="All is there.", at=timezone.now())
    assert send(client, "get", path).json()["key_waits"] is True
    claimed = send(client, "post", f"{path}/claim")
    assert claimed.status_code == 201
    assert "no-store" in claimed["Cache-Control"]
    text = claimed.json()["key"]
    assert send(client, "post", f"{path}/claim").json()["detail"]["reason"] == "already_claimed"
    me = send(client, "get", "me", **bearer(text)).json()
    assert (me["public_id"], me["scopes"]) == (text[9:17], ["read", "smoke", "full"])


def test_field_errors_name_their_field(client):
    make_cycle()
    wrong = body(add_url="https://localhost/add")
    response = send(client, "post", "access-requests", wrong)
    assert response.status_code == 422
    detail = response.json()["detail"]
    assert detail["reason"] == "materials_invalid"
    assert [(field["field"], field["code"]) for field in detail["fields"]] == [("add_url", "host_single_label")]
    del wrong["tracks"]
    missing = send(client, "post", "access-requests", wrong).json()["detail"]
    assert [(field["field"], field["code"]) for field in missing["fields"]] == [("tracks", "required")]
    assert SECRET not in response.content.decode()


def test_no_open_cycle_no_request(client):
    make_cycle(state="closed")
    response = send(client, "post", "access-requests", body())
    assert (response.status_code, response.json()["detail"]["reason"]) == (409, "materials_closed")


def test_a_request_can_be_withdrawn(client):
    make_cycle()
    receipt = send(client, "post", "access-requests", body()).json()["receipt"]
    assert send(client, "post", f"access-requests/{receipt}/withdraw").json()["state"] == "withdrawn"
    again = send(client, "post", f"access-requests/{receipt}/withdraw")
    assert (again.status_code, again.json()["detail"]["reason"]) == (409, "state_changed")


def test_an_unknown_receipt_is_not_found(client):
    for method, path in (("get", "x"), ("put", "x"), ("post", "x/claim"), ("post", "x/withdraw")):
        assert send(client, method, f"access-requests/{path}", {}).status_code == 404


def test_with_a_key_the_request_is_for_another_version_under_it(client):
    key, text = make_key()
    made = send(client, "post", "access-requests", body(system="S2"), **bearer(text))
    assert made.status_code == 201
    request = AccessRequest.objects.get(pk=made.json()["id"])
    assert (request.existing_key, request.team) == (key, key.team)


@time_machine.travel(timezone.now().replace(minute=35, second=30), tick=False)
def test_requests_are_throttled_by_address(client):
    make_cycle()
    answers = [send(client, "post", "access-requests", {}).status_code for _ in range(21)]
    assert answers == [422] * 20 + [429]
    waiting = send(client, "post", "access-requests", body())
    assert int(waiting["Retry-After"]) == waiting.json()["detail"]["retry_after_s"]


@pytest.mark.parametrize("path", ["me", "versions", "versions/00000000-0000-4000-8000-000000000000"])
def test_what_needs_a_key_answers_401_without_one(client, path):
    response = send(client, "get", path)
    assert response.status_code == 401
    assert response["WWW-Authenticate"].startswith("Bearer")


def test_both_headers_carry_a_key_and_every_bad_key_reads_alike(client):
    key, text = make_key()
    dead, dead_text = make_key()
    revoke_key(key=dead, actor=ORGANIZER, reason="x", at=timezone.now())
    assert send(client, "get", "me", **{"x-api-key": text}).json()["public_id"] == key.public_id
    answers = set()
    for bad in (dead_text, key_nobody_has(), "nonsense"):
        response = send(client, "get", "me", **bearer(bad))
        detail = response.json()["detail"]
        answers.add((response.status_code, detail["reason"], detail["message"]))
        assert bad not in response.content.decode()
    assert [answer[:2] for answer in answers] == [(401, "key_invalid")]


@time_machine.travel(timezone.now().replace(minute=35, second=30), tick=False)
def test_guessing_waits_and_the_right_key_goes_on(client):
    key, text = make_key()
    forged = f"aml_live_{key.public_id}{'A' * 40}"
    forged += checksum(forged)
    codes = [send(client, "get", "me", **bearer(forged)).status_code for _ in range(6)]
    assert codes == [401] * 5 + [429]
    assert send(client, "get", "me", **bearer(text)).status_code == 200


def test_a_session_is_no_way_into_the_api(client):
    key, _text = make_key()
    session = client.session
    session["leaderboard_key"] = key.pk
    session.save()
    assert send(client, "get", "me").status_code == 401


def test_versions_are_the_keys_own(client):
    key, text = make_key()
    other = make_version()
    (mine,) = key.versions.all()
    assert [each["id"] for each in send(client, "get", "versions", **bearer(text)).json()] == [str(mine.pk)]
    assert send(client, "get", f"versions/{mine.pk}", **bearer(text)).json()["state"] == "approved"
    assert send(client, "get", f"versions/{other.pk}", **bearer(text)).status_code == 404
    secret = {"memory_system_key": "another-secret"}
    for method in ("put", "delete"):
        path = f"versions/{other.pk}/memory-system-key"
        assert send(client, method, path, secret, **bearer(text)).status_code == 404
    assert open_memory_system_key(version=other) == SECRET


def test_the_secret_is_write_only(client):
    key, text = make_key()
    version = key.versions.get()
    path = f"versions/{version.pk}/memory-system-key"
    answer = send(client, "put", path, {"memory_system_key": "another-secret"}, **bearer(text))
    assert answer.json()["fingerprint"] == MemorySystemKey.objects.get(version=version).fingerprint
    assert "another-secret" not in answer.content.decode()
    assert send(client, "get", path, **bearer(text)).status_code == 405
    bad = send(client, "put", path, {"memory_system_key": "has a space"}, **bearer(text))
    assert (bad.status_code, bad.json()["detail"]["reason"]) == (422, "secret_malformed")
    assert open_memory_system_key(version=version) == "another-secret"
    assert send(client, "delete", path, **bearer(text)).status_code == 204
    assert not MemorySystemKey.objects.filter(version=version).exists()


def test_a_key_that_may_only_read_changes_nothing(client):
    key, text = make_key(scopes=["read"])
    path = f"versions/{key.versions.get().pk}/memory-system-key"
    response = send(client, "put", path, {"memory_system_key": "another-secret"}, **bearer(text))
    assert (response.status_code, response.json()["detail"]["reason"]) == (403, "scope_missing")
    assert send(client, "post", "me/rotate", **bearer(text)).status_code == 403


def test_rotation_by_api(client):
    key, text = make_key()
    new_text = send(client, "post", "me/rotate", **bearer(text)).json()["key"]
    assert send(client, "get", "me", **bearer(new_text)).status_code == 200
    assert send(client, "get", "me", **bearer(text)).status_code == 200
    assert LeaderboardKey.objects.filter(lineage=key.lineage).count() == 2
    assert Version.objects.for_key(LeaderboardKey.objects.exclude(pk=key.pk).get()).exists()


def test_a_key_that_may_only_read_rotates_nothing_and_enters_no_version(client):
    _key, text = make_key(scopes=["read"])
    for path, data in (("me/rotate", None), ("access-requests", body(system="S2"))):
        response = send(client, "post", path, data, **bearer(text))
        assert (response.status_code, response.json()["detail"]["reason"]) == (403, "scope_missing")
    assert LeaderboardKey.objects.count() == AccessRequest.objects.count() == 1
