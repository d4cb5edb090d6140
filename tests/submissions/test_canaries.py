"""Secrets that go through every form are found nowhere afterwards: pages, letters, logs, history, or database text."""

import logging
import re
from io import StringIO

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.core import mail
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from submissions.logs import without_receipts
from submissions.models import AccessRequest, OutboxMail
from submissions.outbox import send_waiting
from submissions.services import approve_access_request, new_receipt, request_changes
from tests.builders import ORGANIZER, make_cycle, make_request
from tests.routes import routes

CANARIES = ("canary-secret-one", "canary-secret-two", "canary-secret-three", "canary secret malformed")


def database_text() -> str:
    """Every row of every table of this database."""
    rows = []
    with connection.cursor() as cursor:
        for model in apps.get_models(include_auto_created=True):
            if model._meta.managed and not model._meta.proxy:
                cursor.execute(f"SELECT * FROM {connection.ops.quote_name(model._meta.db_table)}")
                rows += [f"{model._meta.db_table}: {row!r}" for row in cursor.fetchall()]
    return "\n".join(rows)


@pytest.mark.django_db
def test_canaries_are_found_nowhere(client, address, posted, caplog):
    caplog.set_level(logging.DEBUG)
    make_cycle()
    receipt, seen = new_receipt(), []

    def post(name: str, *args, **data) -> None:
        seen.append(client.post(address(name, *args), data, follow=True).content.decode())

    first = posted(team="T", system="S", receipt=receipt, memory_system_key=CANARIES[0])
    post("request", **{**first, "add_url": "nonsense"})
    post("request", **{**first, "memory_system_key": CANARIES[3]})
    post("request", **first)
    request = AccessRequest.objects.get()
    request_changes(access_request=request, actor=ORGANIZER, reason="more", at=timezone.now())
    post("edit", receipt, **posted(team="T", system="S", memory_system_key=CANARIES[1]))
    request.refresh_from_db()
    approve_access_request(access_request=request, actor=ORGANIZER, reason="All is there.", at=timezone.now())
    post("secret", receipt, memory_system_key=CANARIES[3])
    post("secret", receipt, memory_system_key=CANARIES[2])
    shown = client.post(address("claim", receipt)).content.decode()
    key = shown[shown.index("aml_live_") :][:63]
    post("existing_key", leaderboard_key=key)
    post("existing_key", leaderboard_key=key[:-1] + "!")
    seen.append(client.get(address("key")).content.decode())
    seen.append(client.get(address("status", receipt)).content.decode())
    seen.append(client.get("/api/v1/me", headers={"authorization": f"Bearer {key}"}).content.decode())
    seen.append(client.get("/api/v1/versions", headers={"x-api-key": key}).content.decode())
    client.force_login(User.objects.create_superuser("olga", password="not-a-real-password"))
    for model in ("accessrequest", "version", "leaderboardkey", "auditevent", "outboxmail"):
        lists = client.get(reverse(f"admin:submissions_{model}_changelist"))
        seen.append(lists.content.decode())
        for pk in lists.context["cl"].queryset.values_list("pk", flat=True):
            seen.append(client.get(reverse(f"admin:submissions_{model}_change", args=[pk])).content.decode())
    send_waiting(timezone.now())
    letters = [f"{m.subject}\n{m.body}\n{m.alternatives[0].content}" for m in mail.outbox]
    assert len(letters) == OutboxMail.objects.count() > 0
    stored = database_text()
    for secret in (*CANARIES, key):
        assert not any(secret in text for text in (*seen, *letters)), secret
        assert secret not in caplog.text
        assert secret not in stored
    assert client.get(address("claim", receipt)).status_code == 405
    assert client.get(f"{address('status', receipt)}nothing/").status_code == 404
    assert receipt not in caplog.text
    assert receipt not in stored
    assert not any(receipt in letter for letter in letters)


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
