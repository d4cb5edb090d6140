"""What the page and the API say of the call that ended a run."""

import pytest
from django.test import Client
from django.utils import timezone

from evaluation.payloads import job_payload
from submissions.models import Version
from tests.evaluation import builders
from tests.evaluation.builders import Entrant

HOME = "/en/evaluation/"


def test_a_search_that_failed_is_named_by_place_user_and_question(entrant: Entrant, keyed: Client) -> None:
    job = builders.start(entrant)
    call = {"kind": "search", "request_id": "", "user_id": "eval:run:talks:u1", "question": "0.12"}
    detail = {**call, "got": "object with content", "where": "data[3].id", "http_status": 200}
    job = builders.finish(job, state="failed", blame="participant", code="id_missing", detail=detail)

    page = keyed.get(f"{HOME}runs/{job.pk}/").content.decode()
    for words in ("data[3].id: object with content", "eval:run:talks:u1", "0.12", "search"):
        assert words in page
    failure = job_payload(job, timezone.now())["failure"]
    assert {name: failure[name] for name in call} == call
    assert failure["where"] == "data[3].id"


@pytest.mark.parametrize(
    ("scheme", "sent"),
    [
        ("bearer", "Authorization: Bearer, with the Memory System Key of version"),
        ("token", "Authorization: Token, with the Memory System Key of version"),
        ("x_api_key", "X-Api-Key, with the Memory System Key of version"),
        ("none", "No key: version"),
    ],
)
def test_a_refused_key_is_told_with_the_scheme_that_was_sent(
    entrant: Entrant, keyed: Client, scheme: str, sent: str
) -> None:
    job = builders.start(entrant)
    detail = {"kind": "add", "request_id": "eval:r:1", "got": "HTTP 401", "http_status": 401}
    builders.finish(job, state="failed", blame="participant", code="auth_failed", detail=detail)
    Version.objects.filter(pk=job.version_id).update(auth_scheme=scheme)

    assert sent in keyed.get(f"{HOME}runs/{job.pk}/").content.decode()
