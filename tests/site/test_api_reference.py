"""The API reference: each call that it shows is sent."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from aml.pages.apicalls import CALLS, Call
from submissions.models import AccessRequest
from submissions.services import approve_access_request
from tests.evaluation import builders


def send(client: Client, call: Call, known: dict[str, str]) -> Any:
    path, body = call.path, json.dumps(call.body)
    for name, value in known.items():
        path, body = path.replace(name, value), body.replace(name, value)
    headers = {"Authorization": f"Bearer {known['KEY']}"} if call.needs_key else {}
    response = client.generic(call.method, f"/api/v1{path}", body, content_type="application/json", headers=headers)
    assert response.status_code in (200, 201), (call.name, response.content)
    return response.json()


@pytest.mark.django_db
def test_the_calls_lead_from_the_request_to_the_result(client: Client, tmp_path: Path) -> None:
    builders.make_release(tmp_path / "talks")
    builders.make_cycle()
    calls, known = {call.name: call for call in CALLS}, {"KEY": ""}
    known["RECEIPT"] = send(client, calls["request"], known)["receipt"]
    assert send(client, calls["state"], known)["state"] == "submitted"
    approve_access_request(
        access_request=AccessRequest.objects.get(), actor="organizer:ada", reason="Good.", at=timezone.now()
    )
    known["KEY"] = send(client, calls["claim"], known)["key"]
    versions = send(client, calls["versions"], known)
    known["VERSION_ID"] = (versions["results"] if isinstance(versions, dict) else versions)[0]["id"]
    assert send(client, calls["quotas"], known)["quotas"]
    known["RUN_ID"] = send(client, calls["smoke"], known)["id"]
    job = builders.Job.objects.get(pk=known["RUN_ID"])
    builders.fill_result(job, score=0.5)
    builders.finish(job)
    assert send(client, calls["run"], known)["state"] == "succeeded"
    send(client, calls["receipts"], known)
    assert send(client, calls["results"], known)["overall"] == 0.5
    assert send(client, calls["full"], known)["mode"] == "full"
    assert len(send(client, calls["pages"], known)["results"]) == 2


@pytest.mark.django_db
@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_the_page_shows_each_call_and_leads_to_the_description(client: Client, language: str) -> None:
    page = client.get(f"/{language}/api-reference/").content.decode()
    assert all(f'id="{call.name}"' in page for call in CALLS)
    assert "/api/v1/openapi.json" in page
