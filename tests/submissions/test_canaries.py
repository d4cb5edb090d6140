"""Secrets that go through every form are found nowhere afterwards: pages, letters, logs, history, or database text."""

import logging
import re
from io import StringIO
from typing import Any

import pytest
from django.apps import apps
from django.contrib import admin
from django.contrib.auth.models import User
from django.core import mail
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone, translation

from evaluation.models import Job
from submissions.logs import without_receipts
from submissions.models import AccessRequest, OutboxMail, Version
from submissions.outbox import send_waiting
from submissions.services import approve_access_request, new_receipt, request_changes, suspend_version
from tests.builders import ORGANIZER, make_cycle, make_materials, make_request
from tests.evaluation.builders import make_release
from tests.routes import routes

CANARIES = (
    "canary-secret-one",
    "canary-secret-two",
    "canary-secret-three",
    "canary secret malformed",
    "canary-password",
)
NOBODY = "00000000-0000-4000-8000-000000000000"


def database_text() -> str:
    """Every row of every table of this database."""
    rows = []
    with connection.cursor() as cursor:
        for model in apps.get_models(include_auto_created=True):
            if model._meta.managed and not model._meta.proxy:
                cursor.execute(f"SELECT * FROM {connection.ops.quote_name(model._meta.db_table)}")
                rows += [f"{model._meta.db_table}: {row!r}" for row in cursor.fetchall()]
    return "\n".join(rows)


class Journey:
    """Sends forms and bodies, and keeps what came back. `sent` holds the names of the routes that were sent to."""

    def __init__(self, client: Client) -> None:
        self.client, self.sent, self.seen, self.keys = client, set(), [], []

    def send(self, name: str, *args: Any, data: dict[str, Any] | None = None, key: str = "", method: str = "post"):
        """Send to the page or API address `name`; a key that is shown goes to `keys`, everything else to `seen`."""
        self.sent.add(name)
        is_program = name.startswith("api:")
        extra: dict[str, Any] = {"content_type": "application/json"} if is_program else {"follow": True}
        if key:
            extra["headers"] = {"x-api-key": key}
        response = getattr(self.client, method)(reverse(name, args=args), data or {}, **extra)
        text = response.content.decode()
        shown = re.findall(r"aml_live_[0-9A-Za-z]{40,}", text)
        self.keys += shown[:1]
        for each in shown:
            text = text.replace(each, "")
        self.seen.append(text)
        return response

    def look(self, path: str) -> Any:
        response = self.client.get(path)
        self.seen.append(response.content.decode())
        return response


def request_access(way: Journey, posted) -> tuple[str, str]:
    """Ask for access by page and by API, wrongly and rightly, and have changes asked for; the two receipts."""
    page, materials = new_receipt(), make_materials(team="U", memory_system_key=CANARIES[1])
    program = {name: value for name, value in vars(materials).items() if value not in (None, "")}
    first = posted(team="T", system="S", receipt=page, memory_system_key=CANARIES[0])
    way.send("submissions:request", data={**first, "add_url": "nonsense"})
    way.send("submissions:request", data={**first, "memory_system_key": CANARIES[3]})
    way.send("submissions:request", data=first)
    way.send("api:access-requests", data={**program, "memory_system_key": CANARIES[3]})
    receipt = way.send("api:access-requests", data=program).json()["receipt"]
    way.seen.clear()  # the answer shows the receipt, once
    for access_request in AccessRequest.objects.all():
        request_changes(access_request=access_request, actor=ORGANIZER, reason="more", at=timezone.now())
    way.send("submissions:edit", page, data=posted(team="T", system="S", memory_system_key=CANARIES[1]))
    way.send("api:access-request", receipt, data={**program, "memory_system_key": CANARIES[2]}, method="put")
    return page, receipt


def take_back(way: Journey) -> None:
    """Requests that are withdrawn, by page and by API."""
    for name in ("submissions:withdraw", "api:access-request-withdraw"):
        receipt = new_receipt()
        make_request(receipt=receipt, cycle=AccessRequest.objects.first().cycle, memory_system_key=CANARIES[0])
        way.send(name, receipt)


def use_the_key(way: Journey, page: str, receipt: str) -> Version:
    """Claim, rotate and open keys, replace the secrets behind them, and answer a suspension."""
    way.send("submissions:secret", page, data={"memory_system_key": CANARIES[3]})
    way.send("submissions:secret", page, data={"memory_system_key": CANARIES[2]})
    way.send("submissions:claim", page)
    way.send("api:access-request-claim", receipt)
    way.send("api:me-rotate", key=way.keys[-1])
    key, version = way.keys[-1], Version.objects.get(system__team__name="U")
    way.send("api:version-secret", version.pk, data={"memory_system_key": CANARIES[3]}, key=key, method="put")
    way.send("api:version-secret", version.pk, key=key, method="delete")
    way.send("api:version-secret", version.pk, data={"memory_system_key": CANARIES[0]}, key=key, method="put")
    suspended = Version.objects.get(system__team__name="T")
    suspend_version(version=suspended, actor=ORGANIZER, reason="A look.", at=timezone.now())
    way.send("submissions:appeal", page, data={"note": "We answer."})
    for name, field in (("submissions:existing_key", "leaderboard_key"), ("evaluation:open_key", "key")):
        way.send(name, data={field: key[:-1] + "!"})
        way.send(name, data={field: key})
    return version


def evaluate(way: Journey, version: Version) -> None:
    """Start and cancel runs by page and by API, then rotate and close the key."""
    run = {"version": str(version.pk), "track": "textual", "add_concurrency": 1, "search_concurrency": 1}
    way.send("evaluation:submit", data={**run, "mode": "smoke", "run_label": "one"})
    job = Job.objects.get()
    for name in ("job", "progress", "progress_json", "questions", "receipts"):
        way.look(reverse(f"evaluation:{name}", args=[job.pk]))
    way.send("evaluation:cancel", job.pk)
    for name in ("smoke-tests", "eval-jobs"):
        way.send(f"api:{name}", data={**run, "run_label": name, "checklist": {}}, key=way.keys[-1])
    way.send("api:eval-job-cancel", job.pk, key=way.keys[-1])
    way.look(reverse("submissions:key"))
    way.send("submissions:rotate_key")
    way.send("evaluation:close_key")
    way.send("site:theme", data={"theme": "dark"})


def read_the_admin(way: Journey) -> None:
    """Every list and every row's page, after a wrong login and a right one."""
    User.objects.create_superuser("olga", password=CANARIES[4])
    for password in (CANARIES[0], CANARIES[4]):
        way.send("admin:login", data={"username": "olga", "password": password})
    for model in admin.site._registry:
        name = f"admin:{model._meta.app_label}_{model._meta.model_name}"
        lists = way.look(reverse(f"{name}_changelist"))
        assert lists.status_code == 200
        for pk in lists.context["cl"].queryset.values_list("pk", flat=True):
            way.look(reverse(f"{name}_change", args=[pk]))


@pytest.mark.django_db
def test_canaries_are_found_nowhere(client, language, address, posted, caplog, tmp_path):
    caplog.set_level(logging.DEBUG)
    make_cycle()
    make_release(tmp_path / "talks")
    way = Journey(client)
    with translation.override(language):
        page, receipt = request_access(way, posted)
        for access_request in AccessRequest.objects.all():
            approve_access_request(access_request=access_request, actor=ORGANIZER, reason="fine", at=timezone.now())
        take_back(way)
        evaluate(way, use_the_key(way, page, receipt))
        way.look(address("status", page))
        way.look(f"/api/v1/access-requests/{receipt}")
        read_the_admin(way)
        assert way.sent - {"admin:login"} == takes_something(way)
    assert len(set(way.keys)) == 4
    send_waiting(timezone.now())
    letters = [f"{m.subject}\n{m.body}\n{m.alternatives[0].content}" for m in mail.outbox]
    assert len(letters) == OutboxMail.objects.count() > 0
    stored = database_text()
    for secret in (*CANARIES, *way.keys):
        assert not any(secret in text for text in (*way.seen, *letters)), secret
        assert secret not in caplog.text
        assert secret not in stored
    for token in (page, receipt):
        assert token not in stored
        assert token not in caplog.text
        assert not any(token in letter for letter in letters)


def takes_something(way: Journey) -> set[str]:
    """The names of all routes outside the admin that accept a POST or PUT, found by asking each of them."""
    headers = {"x-api-key": way.keys[-1]}
    found = set()
    for route in routes():
        if route.space not in {"", "admin"} and route.name != "api:nothing":
            path = "/" + re.sub(r"<uuid:\w+>", NOBODY, re.sub(r"<(?!uuid)\w+:\w+>", "1", route.pattern))
            if any(getattr(Client(), method)(path, headers=headers).status_code != 405 for method in ("post", "put")):
                found.add(route.name)
    return found


@pytest.mark.django_db
def test_a_refused_request_leaves_no_receipt_in_the_log(address):
    make_cycle()
    receipt, lines = new_receipt(), StringIO()
    make_request(receipt=receipt)
    strict = Client(enforce_csrf_checks=True)
    (console,) = (each for each in logging.getLogger().handlers if type(each) is logging.StreamHandler)
    before = console.setStream(lines)
    try:
        assert strict.get(address("claim", receipt)).status_code == 405
        assert strict.post(address("claim", receipt)).status_code == 403
        assert strict.get(f"{address('status', receipt)}nothing/").status_code == 404
        assert strict.get(f"/api/v1/access-requests/{receipt}/claim").status_code == 405
        assert strict.put(f"/api/v1/access-requests/{receipt}", b"{", "application/json").status_code == 400
    finally:
        console.setStream(before)
    assert "claim" in lines.getvalue()
    assert receipt not in lines.getvalue()


def test_no_handler_of_the_framework_sees_a_record_before_it_is_redacted():
    """Django would print and mail records by handlers of its own, which redact nothing."""
    assert logging.getLogger("django").handlers == []


PUBLIC = {"cycle", "track", "division", "number", "pk", "entry_id", "id"}
"""Parameters of addresses that anybody may read, or that open nothing without a key or a login."""


def test_a_parameter_of_an_address_is_public_or_masked_in_the_log():
    """A new address with a token in it is either known to the filter, or named above as public."""
    outside = [route for route in routes() if route.space != "admin"]
    secrets = [(route.pattern, name) for route in outside for name in route.parameters - PUBLIC]
    assert len(secrets) >= 9
    for route, name in secrets:
        written = re.sub(rf"<\w+:{name}>", "the-canary", route)
        assert "the-canary" in written
        assert "the-canary" not in without_receipts(f"Not Found: /{written}"), route
