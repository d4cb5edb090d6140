"""Organizers' decisions in the admin: who may, how it is asked, and what is never shown."""

import pytest
from django.contrib.auth.models import Permission, User
from django.urls import reverse

from submissions.models import (
    AccessRequest,
    AuditEvent,
    Cycle,
    KeyClaim,
    LeaderboardKey,
    MemorySystemKey,
    OutboxMail,
    Version,
)
from tests.builders import SECRET, make_cycle, make_key, make_request, make_version

pytestmark = pytest.mark.django_db

MODELS = ["accessrequest", "version", "leaderboardkey", "cycle", "team", "system", "auditevent", "outboxmail"]


def page(name: str, *args) -> str:
    return reverse(f"admin:submissions_{name}", args=args)


def sign_in(client, *permissions: str) -> User:
    user = User.objects.create_user("olga", password="not-a-real-password", is_staff=True)
    for codename in permissions:
        user.user_permissions.add(Permission.objects.get(codename=codename, content_type__app_label="submissions"))
    client.force_login(user)
    return user


@pytest.fixture
def organizer(client):
    user = User.objects.create_superuser("olga", password="not-a-real-password")
    client.force_login(user)
    return client


@pytest.mark.parametrize("model", MODELS)
def test_every_list_and_row_opens_and_shows_no_secret(organizer, model, settings):
    make_key()
    make_request()
    lists = organizer.get(page(f"{model}_changelist"))
    assert lists.status_code == 200
    digests = [*LeaderboardKey.objects.values_list("digest", flat=True)]
    ciphertexts = [*MemorySystemKey.objects.values_list("ciphertext", flat=True)]
    receipts = [*AccessRequest.objects.values_list("receipt_digest", flat=True)]
    for pk in lists.context["cl"].queryset.values_list("pk", flat=True):
        html = organizer.get(page(f"{model}_change", pk)).content.decode()
        assert not any(hidden in html for hidden in (SECRET, *digests, *ciphertexts, *receipts))


@pytest.mark.parametrize("model", [model for model in MODELS if model != "cycle"])
def test_nothing_is_added_deleted_or_edited_by_hand(organizer, model):
    make_key()
    assert organizer.get(page(f"{model}_add")).status_code == 403
    pk = organizer.get(page(f"{model}_changelist")).context["cl"].queryset[0].pk
    assert organizer.post(page(f"{model}_delete", pk), {"post": "yes"}).status_code == 403
    assert organizer.post(page(f"{model}_change", pk), {"state": "withdrawn"}).status_code == 403


def test_the_secret_is_shown_as_fingerprint_and_date(organizer):
    request = make_request()
    html = organizer.get(page("accessrequest_change", request.pk)).content.decode()
    assert MemorySystemKey.objects.get().fingerprint in html


class TestDecisions:
    def url(self, request: AccessRequest, decision: str) -> str:
        return page("accessrequest_decide", request.pk, decision)

    def test_buttons_follow_the_state(self, organizer):
        request = make_request()
        html = organizer.get(page("accessrequest_change", request.pk)).content.decode()
        for decision in ("start-review", "approve", "request-changes", "reject"):
            assert self.url(request, decision) in html
        AccessRequest.objects.update(state="rejected")
        html = organizer.get(page("accessrequest_change", request.pk)).content.decode()
        assert "/decide/" not in html

    def test_only_a_post_with_a_reason_decides(self, organizer):
        request = make_request()
        url = self.url(request, "request-changes")
        assert organizer.get(url).status_code == 200
        assert organizer.post(url, {"reason": " "}).status_code == 200
        assert AccessRequest.objects.get().state == "submitted"
        answer = organizer.post(url, {"reason": "Say more"})
        assert answer["Location"] == page("accessrequest_change", request.pk)
        assert AccessRequest.objects.get().state == "changes_requested"
        event = AuditEvent.objects.get(action="access_request.changes_requested")
        assert (event.actor, event.reason) == ("organizer:olga", "Say more")

    def test_the_letter_is_seen_before_it_is_sent(self, organizer):
        request = make_request(system="Mem", language="zh-hans")
        html = organizer.get(self.url(request, "approve")).content.decode()
        organizer.post(self.url(request, "approve"), {"reason": "Complete"})
        letter = OutboxMail.objects.get(event="request_approved")
        assert letter.language == "zh-hans"
        assert letter.subject in html
        assert AccessRequest.objects.get().state == "approved"

    def test_a_refusal_is_told_and_changes_nothing(self, organizer):
        request = make_request()
        MemorySystemKey.objects.all().delete()
        answer = organizer.post(self.url(request, "approve"), {"reason": "Complete"}, follow=True)
        assert "secret_missing" in answer.content.decode()
        assert AccessRequest.objects.get().state == "submitted"

    def test_many_are_decided_with_one_reason_and_one_refusal_stops_no_other(self, organizer):
        cycle = make_cycle()
        first, second, decided = (make_request(cycle=cycle) for _ in range(3))
        AccessRequest.objects.filter(pk=decided.pk).update(state="approved")
        asked = organizer.post(
            page("accessrequest_changelist"),
            {"action": "decide_reject", "_selected_action": [str(r.pk) for r in (first, second, decided)]},
        )
        assert asked.status_code == 302
        assert organizer.get(asked["Location"]).status_code == 200
        answer = organizer.post(asked["Location"], {"reason": "Spam"}, follow=True)
        told = [str(message) for message in answer.context["messages"]]
        assert len(told) == 2
        assert str(decided) in told[0]
        states = {request.pk: request.state for request in AccessRequest.objects.all()}
        assert states == {first.pk: "rejected", second.pk: "rejected", decided.pk: "approved"}

    def test_unknown_decisions_and_rows_are_not_found(self, organizer):
        request = make_request()
        assert organizer.get(self.url(request, "nonsense")).status_code == 404
        assert organizer.get(page("accessrequest_decide", "nonsense", "approve")).status_code in {302, 404}
        assert organizer.get(page("accessrequest_decide_many", "approve") + "?pk=nonsense").status_code == 404
        assert organizer.get(page("accessrequest_decide_many", "approve")).status_code == 404

    def test_who_may_only_look_neither_sees_nor_reaches_a_decision(self, client):
        sign_in(client, "view_accessrequest")
        request = make_request()
        html = client.get(page("accessrequest_change", request.pk)).content.decode()
        assert "/decide/" not in html
        assert client.get(self.url(request, "approve")).status_code == 403
        assert client.post(self.url(request, "approve"), {"reason": "x"}).status_code == 403
        many = page("accessrequest_decide_many", "approve") + f"?pk={request.pk}"
        assert client.post(many, {"reason": "x"}).status_code == 403
        assert AccessRequest.objects.get().state == "submitted"

    def test_who_may_change_requests_decides_about_them_and_nothing_else(self, client):
        sign_in(client, "view_accessrequest", "change_accessrequest")
        request = make_request()
        client.post(self.url(request, "approve"), {"reason": "Complete"})
        assert AccessRequest.objects.get().state == "approved"
        version = page("version_decide", request.version_id, "suspend")
        assert client.post(version, {"reason": "x"}).status_code == 403

    def test_people_without_an_account_are_sent_to_the_login(self, client):
        request = make_request()
        answer = client.post(self.url(request, "approve"), {"reason": "x"})
        assert answer.status_code == 302
        assert "login" in answer["Location"]
        assert AccessRequest.objects.get().state == "submitted"


def test_versions_and_keys_are_decided_about_too(organizer):
    key, _text = make_key()
    version = key.versions.get()
    organizer.post(page("version_decide", version.pk, "suspend"), {"reason": "Down"})
    assert Version.objects.get().state == "suspended"
    organizer.post(page("version_decide", version.pk, "reinstate"), {"reason": "Up"})
    organizer.post(page("version_decide", version.pk, "allow-http"), {"reason": "VPN"})
    assert Version.objects.get().plain_http_override == "VPN"
    organizer.post(page("leaderboardkey_decide", key.pk, "offer"), {"reason": "Lost"})
    assert KeyClaim.objects.get().renews == key
    organizer.post(page("leaderboardkey_decide", key.pk, "revoke"), {"reason": "Leaked"})
    assert LeaderboardKey.objects.get().revoked_reason == "Leaked"


def test_a_failed_letter_is_sent_again(organizer):
    make_request()
    OutboxMail.objects.update(state="failed", attempts=8)
    letter = OutboxMail.objects.get()
    organizer.post(page("outboxmail_decide", letter.pk, "send-again"), {"reason": ""})
    letter.refresh_from_db()
    assert (letter.state, letter.attempts) == ("waiting", 0)


def test_a_changed_cycle_leaves_an_audit_row(organizer):
    cycle = make_cycle()
    form = organizer.get(page("cycle_change", cycle.pk)).context["adminform"].form
    data = {name: form.initial.get(name) for name in form.fields if form.initial.get(name) is not None}
    for name in ("opens_at", "materials_close_at", "evaluation_closes_at"):
        value = data.pop(name)
        data[f"{name}_0"], data[f"{name}_1"] = value.strftime("%Y-%m-%d"), value.strftime("%H:%M:%S")
    data |= {"tracks": '["textual"]', "smoke_limit": 31}
    data |= {"prizes-TOTAL_FORMS": 1, "prizes-INITIAL_FORMS": 0}
    data |= {
        "prizes-0-kind": "first",
        "prizes-0-winners_per_track": 1,
        "prizes-0-amount_cny": 100,
        "prizes-0-cycle": cycle.pk,
    }
    answer = organizer.post(page("cycle_change", cycle.pk), data)
    assert answer.status_code == 302, answer.context["adminform"].form.errors
    assert Cycle.objects.get().smoke_limit == 31
    event = AuditEvent.objects.get(action="cycle.changed")
    assert (event.before["smoke_limit"], event.after["smoke_limit"], event.actor) == (30, 31, "organizer:olga")
    assert AuditEvent.objects.get(action="cycle.prizes_changed").after == {"first": "1 × 100"}
    assert organizer.post(page("cycle_delete", cycle.pk), {"post": "yes"}).status_code == 403


def test_what_a_team_wrote_is_escaped(organizer):
    request = make_request(system="<script>alert(1)</script>", method_description="<img src=x onerror=alert(2)>")
    for address in (
        page("accessrequest_changelist"),
        page("accessrequest_change", request.pk),
        page("accessrequest_decide", request.pk, "approve"),
    ):
        html = organizer.get(address).content.decode()
        assert "<script>alert(1)" not in html
        assert "<img src=x" not in html


def test_shared_endpoints_are_shown_to_the_reviewer(organizer):
    make_version(team="First Team")
    request = make_request()
    assert "First Team" in organizer.get(page("accessrequest_change", request.pk)).content.decode()


def test_a_list_action_says_how_many_rows_it_leaves_out(organizer, monkeypatch):
    monkeypatch.setattr("submissions.decisions.MANY", 2)
    requests = [make_request() for _ in range(3)]
    chosen = {"action": "decide_start-review", "_selected_action": [request.pk for request in requests]}
    answer = organizer.post(page("accessrequest_changelist"), chosen, follow=True).content.decode()
    assert "2 rows can be decided at once; 1 of those you chose is left out." in answer


def test_a_letter_that_is_sent_again_leaves_an_audit_row(organizer):
    make_request()
    mail = OutboxMail.objects.first()
    OutboxMail.objects.filter(pk=mail.pk).update(state="failed", attempts=8)
    organizer.post(page("outboxmail_decide", mail.pk, "send-again"), {"reason": "The server is back."})
    event = AuditEvent.objects.get(action="letter.requeued")
    assert (event.actor, event.reason) == ("organizer:olga", "The server is back.")
    organizer.post(page("outboxmail_decide", mail.pk, "send-again"), {"reason": "Again."})
    assert AuditEvent.objects.filter(action="letter.requeued").count() == 1


def test_scopes_are_taken_and_given_back(organizer):
    key, _text = make_key()
    for decision, scopes in (("read-only", ["read"]), ("all-scopes", ["read", "smoke", "full"])):
        assert f"/decide/{decision}/" in organizer.get(page("leaderboardkey_change", key.pk)).content.decode()
        organizer.post(page("leaderboardkey_decide", key.pk, decision), {"reason": "Agreed."})
        key.refresh_from_db()
        assert key.scopes == scopes
