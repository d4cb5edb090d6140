"""Request access and the private pages, in both languages."""

import re
from datetime import timedelta

import pytest
import time_machine
from django.utils import timezone

from submissions.keys import SESSION_NAME
from submissions.models import AccessRequest, LeaderboardKey, MemorySystemKey, Version
from submissions.services import (
    approve_access_request,
    new_receipt,
    reject_access_request,
    request_changes,
    revoke_key,
    start_review,
    suspend_version,
)
from submissions.vault import open_memory_system_key
from tests.builders import ORGANIZER, SECRET, make_cycle, make_key, make_request, open_source_fields

pytestmark = pytest.mark.django_db
KEY = re.compile(r"aml_live_[0-9A-Za-z]{54}")


def is_private(response) -> bool:
    return "no-store" in response["Cache-Control"] and "noindex" in response["X-Robots-Tag"]


@pytest.fixture
def cycle(db):
    return make_cycle()


class TestRequesting:
    def test_the_form_shows_its_groups_and_one_heading(self, client, cycle, address):
        response = client.get(address("request"))
        html = response.content.decode()
        assert response.status_code == 200
        assert is_private(response)
        assert html.count("<h1") == 1
        assert html.count('<fieldset class="form-group">') == 8
        assert "Diagnostics" not in html

    def test_sending_leads_to_the_private_status_page(self, client, cycle, address, posted, language):
        response = client.post(address("request"), posted(team="T", system="S"))
        assert response.status_code == 302
        request = AccessRequest.objects.get()
        assert (request.state, request.language, request.cycle) == ("submitted", language, cycle)
        page = client.get(response["Location"])
        assert page.status_code == 200
        assert is_private(page)
        html = page.content.decode()
        assert response["Location"] in html
        assert MemorySystemKey.objects.get().fingerprint in html
        assert SECRET not in html

    def test_a_double_click_is_one_request_and_shows_the_same_page(self, client, cycle, address, posted):
        data = posted()
        first, second = client.post(address("request"), data), client.post(address("request"), data)
        assert first["Location"] == second["Location"]
        assert AccessRequest.objects.count() == 1

    def test_a_receipt_that_somebody_made_up_is_not_used(self, client, cycle, address, posted):
        response = client.post(address("request"), {**posted(), "receipt": "made-up"})
        assert "made-up" not in response["Location"]
        assert AccessRequest.objects.count() == 1

    def test_what_is_missing_is_named_at_its_field_and_the_secret_is_not_sent_back(
        self, client, cycle, address, posted
    ):
        data = posted(**{**open_source_fields(), "models_used": ""}, add_url="https://localhost/add")
        response = client.post(address("request"), data)
        html = response.content.decode()
        assert response.status_code == 422
        assert 'href="#id_models_used"' in html
        assert 'href="#id_add_url"' in html
        assert SECRET not in html
        assert "https://localhost/add" in html
        assert not AccessRequest.objects.exists()

    def test_an_empty_form_is_answered_and_makes_nothing(self, client, cycle, address):
        response = client.post(address("request"), {})
        assert response.status_code == 422
        assert not AccessRequest.objects.exists()

    def test_a_draft_is_kept_and_sent_later(self, client, cycle, address, posted):
        receipt = new_receipt()
        data = {**posted(team="T", system="S", receipt=receipt), "draft": "1"}
        del data["add_url"], data["memory_system_key"], data["stays_reachable"]
        assert client.post(address("request"), data).status_code == 302
        assert AccessRequest.objects.get().state == "draft"
        assert client.get(address("edit", receipt)).status_code == 200
        assert client.post(address("edit", receipt), posted(team="T", system="S")).status_code == 302
        assert AccessRequest.objects.get().state == "submitted"

    def test_without_an_open_cycle_the_page_says_so(self, client, address, posted):
        make_cycle(opens_at=timezone.now() + timedelta(days=3))
        response = client.get(address("request"))
        assert response.status_code == 200
        assert b'<form class="form"' not in response.content
        client.post(address("request"), posted())
        assert not AccessRequest.objects.exists()

    def test_with_two_open_cycles_the_first_to_close_is_offered_and_the_other_can_be_chosen(
        self, client, address, posted
    ):
        late = make_cycle(materials_close_at=timezone.now() + timedelta(days=15))
        soon = make_cycle(materials_close_at=timezone.now() + timedelta(days=5))
        assert client.get(address("request")).context["cycle"] == soon
        client.post(address("request") + f"?cycle={late.slug}", posted())
        assert AccessRequest.objects.get().cycle == late

    @time_machine.travel(timezone.now().replace(minute=30), tick=False)
    def test_the_twenty_first_request_of_an_address_in_an_hour_waits(self, client, cycle, address):
        answers = {client.post(address("request"), {}).status_code for _ in range(20)}
        assert answers == {422}
        response = client.post(address("request"), {})
        assert response.status_code == 429
        assert int(response["Retry-After"]) > 0

    def test_csrf_is_asked_for(self, cycle, address, posted):
        from django.test import Client

        assert Client(enforce_csrf_checks=True).post(address("request"), posted()).status_code == 403


class TestStatus:
    def page(self, client, address, receipt):
        return client.get(address("status", receipt)).content.decode()

    def test_an_unknown_receipt_is_not_found_anywhere(self, client, address):
        unknown = new_receipt()
        assert client.get(address("status", unknown)).status_code == 404
        for name in ("claim", "withdraw", "secret", "appeal"):
            assert client.post(address(name, unknown)).status_code == 404
            assert client.get(address(name, unknown)).status_code == 405

    def test_it_follows_the_request_to_the_key_which_is_shown_once(self, client, address):
        at, receipt = timezone.now(), new_receipt()
        request = make_request(receipt=receipt)
        claim = address("claim", receipt)
        assert claim not in self.page(client, address, receipt)
        start_review(access_request=request, actor=ORGANIZER, at=at)
        request_changes(access_request=request, actor=ORGANIZER, reason="Please <b>say more</b>", at=at)
        html = self.page(client, address, receipt)
        assert "Please &lt;b&gt;say more&lt;/b&gt;" in html
        assert address("edit", receipt) in html
        assert "olga" not in html
        request.refresh_from_db()
        AccessRequest.objects.update(state="submitted")
        approve_access_request(access_request=request, actor=ORGANIZER, reason="All is there.", at=at)
        assert claim in self.page(client, address, receipt)
        assert client.get(claim).status_code == 405
        shown = client.post(claim)
        (text,) = set(KEY.findall(shown.content.decode()))
        assert is_private(shown)
        again = client.post(claim, follow=True)
        assert not KEY.search(again.content.decode())
        assert not KEY.search(self.page(client, address, receipt))
        assert claim not in self.page(client, address, receipt)
        assert LeaderboardKey.objects.get().public_id == text[9:17]

    def test_editing_shows_what_was_declared_but_the_secret(self, client, address, posted):
        receipt = new_receipt()
        request = make_request(receipt=receipt, team="T", system="S", run_notes="warm up first")
        request_changes(access_request=request, actor=ORGANIZER, reason="more", at=timezone.now())
        html = client.get(address("edit", receipt)).content.decode()
        assert "warm up first" in html
        assert "https://memory.example.com/add" in html
        assert SECRET not in html
        data = posted(team="T", system="S", run_notes="two")
        del data["memory_system_key"]
        assert client.post(address("edit", receipt), data).status_code == 302
        version = Version.objects.get()
        assert (version.run_notes, open_memory_system_key(version=version)) == ("two", SECRET)
        moved = {**data, "add_url": "https://other.example.com/add"}
        AccessRequest.objects.update(state="changes_requested")
        response = client.post(address("edit", receipt), moved)
        assert response.status_code == 422
        assert 'href="#id_memory_system_key"' in response.content.decode()

    def test_a_request_under_review_is_not_edited(self, client, address, posted):
        receipt = new_receipt()
        make_request(receipt=receipt)
        assert client.get(address("edit", receipt)).status_code == 302
        assert client.post(address("edit", receipt), posted()).status_code == 302
        assert Version.objects.count() == 1

    def test_withdrawing_deletes_the_secret(self, client, address):
        receipt = new_receipt()
        make_request(receipt=receipt)
        assert client.post(address("withdraw", receipt)).status_code == 302
        assert AccessRequest.objects.get().state == "withdrawn"
        assert not MemorySystemKey.objects.exists()
        assert address("withdraw", receipt) not in self.page(client, address, receipt)

    def test_the_secret_is_replaced_and_never_shown(self, client, address):
        receipt = new_receipt()
        request = make_request(receipt=receipt)
        before = MemorySystemKey.objects.get().fingerprint
        bad = client.post(address("secret", receipt), {"memory_system_key": "has a space"})
        assert bad.status_code == 422
        assert "has a space" not in bad.content.decode()
        assert client.post(address("secret", receipt), {"memory_system_key": "another-secret"}).status_code == 302
        html = self.page(client, address, receipt)
        assert MemorySystemKey.objects.get().fingerprint in html
        assert before not in html
        assert open_memory_system_key(version=request.version) == "another-secret"

    def test_a_suspended_version_can_be_answered_for(self, client, address):
        at, receipt = timezone.now(), new_receipt()
        request = make_request(receipt=receipt)
        version = approve_access_request(access_request=request, actor=ORGANIZER, reason="All is there.", at=at).version
        assert address("appeal", receipt) not in self.page(client, address, receipt)
        suspend_version(version=version, actor=ORGANIZER, reason="It was down", at=at)
        assert "It was down" in self.page(client, address, receipt)
        assert client.post(address("appeal", receipt), {"note": ""}).status_code == 422
        assert client.post(address("appeal", receipt), {"note": "It is up"}).status_code == 302
        assert Version.objects.get().appeal_note == "It is up"

    def test_a_rejected_request_says_why(self, client, address):
        receipt = new_receipt()
        request = make_request(receipt=receipt)
        reject_access_request(access_request=request, actor=ORGANIZER, reason="No endpoint", at=timezone.now())
        assert "No endpoint" in self.page(client, address, receipt)


class TestUnderAKey:
    def open(self, client, address, text):
        return client.post(address("existing_key"), {"leaderboard_key": text}, follow=True)

    def test_a_version_is_added_to_the_key_that_was_entered(self, client, address, posted):
        key, text = make_key()
        page = self.open(client, address, text)
        assert client.session[SESSION_NAME] == key.pk
        assert text not in page.content.decode()
        data = posted(team="Another team", system="S2")
        assert client.post(address("request"), data).status_code == 302
        request = AccessRequest.objects.exclude(version__in=key.versions.all()).get()
        assert (request.existing_key, request.team, request.cycle) == (key, key.team, key.cycle)

    def test_a_new_key_can_still_be_asked_for(self, client, address, posted):
        _key, text = make_key()
        self.open(client, address, text)
        client.post(address("request") + "?new", posted(team="Another team"))
        assert AccessRequest.objects.filter(existing_key=None, team__name="Another team").exists()

    def test_a_wrong_key_opens_nothing(self, client, address, cycle):
        page = self.open(client, address, "aml_live_wrong")
        assert SESSION_NAME not in client.session
        assert "aml_live_wrong" not in page.content.decode()

    def test_the_key_page_needs_a_key_and_shows_no_key(self, client, address):
        assert client.get(address("key")).status_code == 302
        key, text = make_key()
        self.open(client, address, text)
        page = client.get(address("key"))
        assert is_private(page)
        assert key.public_id in page.content.decode()
        assert text not in page.content.decode()
        revoke_key(key=key, actor=ORGANIZER, reason="leaked", at=timezone.now())
        assert client.get(address("key")).status_code == 302
        assert SESSION_NAME not in client.session

    def test_rotation_shows_the_next_key_once_and_goes_on_under_it(self, client, address):
        key, text = make_key()
        self.open(client, address, text)
        shown = client.post(address("rotate_key"))
        (new_text,) = set(KEY.findall(shown.content.decode()))
        assert new_text != text
        new = LeaderboardKey.objects.exclude(pk=key.pk).get()
        assert (new.lineage, client.session[SESSION_NAME]) == (key.lineage, new.pk)
        assert not KEY.search(client.get(address("key")).content.decode())

    def test_a_key_that_may_only_read_rotates_nothing_and_enters_no_version(self, client, address, posted):
        _key, text = make_key(scopes=["read"])
        self.open(client, address, text)
        client.post(address("rotate_key"))
        refused = client.post(address("request"), posted(system="S2"))
        assert refused.status_code == 403
        assert LeaderboardKey.objects.count() == AccessRequest.objects.count() == 1
