"""A Leaderboard Key: its form, who it is, and how long."""

import re
import sys
from datetime import timedelta

import pytest
from django.test import RequestFactory
from django.utils import timezone
from django.views.debug import ExceptionReporter

from submissions.keys import (
    authenticate_key,
    checksum,
    close_key_session,
    is_valid,
    key_of_session,
    make_key,
    open_key_session,
    public_id_of,
    require_scope,
    verify_key,
)
from submissions.models import AuditEvent, KeyClaim, LeaderboardKey, OutboxMail
from submissions.refusals import Refusal
from submissions.services import claim_key, offer_new_key, revoke_key, rotate_key, set_scopes
from tests.builders import ORGANIZER, key_nobody_has, make_cycle, make_request, make_version
from tests.builders import make_key as issue_key

VECTORS = [
    "aml_live_00000000AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA1PgnmF",
    "aml_test_Zz9Yy8Xxbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb1nPUt5",
]


@pytest.mark.parametrize("text", VECTORS)
def test_known_keys_have_their_known_checksum(text):
    assert len(text) == 63
    assert checksum(text[:-6]) == text[-6:]
    assert public_id_of(text) == text[9:17]


@pytest.mark.parametrize("position", range(9, 63))
def test_one_wrong_character_is_found_before_any_look_up(position):
    text = VECTORS[0]
    wrong = "x" if text[position] != "x" else "y"
    assert public_id_of(text[:position] + wrong + text[position + 1 :]) is None


@pytest.mark.parametrize(
    "text",
    ["", "aml_live_", VECTORS[0][:-1], VECTORS[0] + "0", " " + VECTORS[0], VECTORS[0] + "\n", "AML" + VECTORS[0][3:]],
)
def test_what_is_no_key_is_no_key(text):
    assert public_id_of(text) is None


def test_new_keys_are_found_by_scanners_and_differ():
    keys = {make_key().text for _ in range(200)}
    assert len(keys) == 200
    assert all(re.fullmatch(r"aml_live_[0-9A-Za-z]{54}", key) for key in keys)
    assert make_key(is_test=True).text.startswith("aml_test_")


def test_a_key_stays_out_of_repr():
    made = make_key()
    assert made.text not in repr(made)
    assert made.digest not in repr(made)


@pytest.mark.django_db
class TestAuthentication:
    def test_the_right_key_is_recognised_and_only_its_digest_is_kept(self):
        key, text = issue_key()
        assert authenticate_key(text=text, at=timezone.now()) == key
        assert text not in str(LeaderboardKey.objects.values().get())

    def test_a_typing_error_costs_no_query(self, django_assert_num_queries):
        with django_assert_num_queries(0), pytest.raises(Refusal):
            authenticate_key(text=VECTORS[0][:-1] + "0", at=timezone.now())

    def test_every_refusal_reads_the_same(self):
        at = timezone.now()
        revoked, revoked_text = issue_key()
        revoke_key(key=revoked, actor=ORGANIZER, reason="leaked", at=at)
        _expired, expired_text = issue_key(expires_at=at - timedelta(seconds=1))
        known, _text = issue_key()
        forged = f"aml_live_{known.public_id}{'A' * 40}"
        texts = [revoked_text, expired_text, key_nobody_has(), "nonsense", forged + checksum(forged)]
        refusals = []
        for text in texts:
            with pytest.raises(Refusal) as refused:
                authenticate_key(text=text, at=at)
            refusals.append((refused.value.code, refused.value.status, str(refused.value.message)))
        assert len(set(refusals)) == 1
        assert refusals[0][:2] == ("key_invalid", 401)

    def test_another_pepper_knows_no_key(self, settings):
        _key, text = issue_key()
        settings.AML_KEY_PEPPER = "another pepper"
        with pytest.raises(Refusal):
            authenticate_key(text=text, at=timezone.now())

    def test_last_use_is_written_every_five_minutes(self):
        key, text = issue_key()
        start = timezone.now()
        for minutes in (0, 4, 6):
            authenticate_key(text=text, at=start + timedelta(minutes=minutes))
            key.refresh_from_db()
            assert key.last_used_at == start + timedelta(minutes={0: 0, 4: 0, 6: 6}[minutes])

    def test_scopes_bind(self):
        key, _text = issue_key(scopes=["read"])
        require_scope(key, "read")
        with pytest.raises(Refusal) as refused:
            require_scope(key, "full")
        assert (refused.value.code, refused.value.status) == ("scope_missing", 403)


@pytest.mark.django_db
class TestThrottle:
    def test_the_eleventh_try_of_an_address_in_a_minute_waits(self):
        _key, text = issue_key()
        at = timezone.now().replace(second=0)
        for _ in range(10):
            verify_key(text=text, address="198.51.100.1", at=at)
        with pytest.raises(Refusal) as refused:
            verify_key(text=text, address="198.51.100.1", at=at)
        assert (refused.value.code, refused.value.status) == ("throttled", 429)
        assert refused.value.retry_after_s == pytest.approx(60, abs=1)
        verify_key(text=text, address="198.51.100.2", at=at)
        verify_key(text=text, address="198.51.100.1", at=at + timedelta(seconds=61))

    def test_the_sixth_failure_under_one_public_id_waits_from_any_address(self):
        key, text = issue_key()
        forged = f"aml_live_{key.public_id}{'A' * 40}"
        forged += checksum(forged)
        at = timezone.now().replace(minute=0)
        codes = []
        for n in range(6):
            with pytest.raises(Refusal) as refused:
                verify_key(text=forged, address=f"198.51.100.{n}", at=at)
            codes.append(refused.value.code)
        assert codes == ["key_invalid"] * 5 + ["throttled"]
        assert verify_key(text=text, address="203.0.113.9", at=at) == key


@pytest.mark.django_db
class TestSession:
    @pytest.fixture
    def request_with_session(self, client):
        request = RequestFactory().get("/")
        request.session = client.session
        return request

    def test_it_names_the_key_and_changes_its_own_id(self, request_with_session):
        key, text = issue_key()
        request = request_with_session
        request.session.save()
        before = request.session.session_key
        open_key_session(request, key)
        assert request.session.session_key != before
        assert text not in str(dict(request.session.items()))
        assert key_of_session(request, at=timezone.now()) == key
        close_key_session(request)
        assert key_of_session(request, at=timezone.now()) is None

    def test_revocation_and_expiry_end_it_at_once(self, request_with_session):
        at = timezone.now()
        key, _text = issue_key()
        open_key_session(request_with_session, key)
        assert key_of_session(request_with_session, at=at) == key
        revoke_key(key=key, actor=ORGANIZER, reason="leaked", at=at)
        assert key_of_session(request_with_session, at=at) is None
        other, _text = issue_key(expires_at=at + timedelta(hours=1))
        open_key_session(request_with_session, other)
        assert key_of_session(request_with_session, at=at + timedelta(hours=1)) is None


@pytest.mark.django_db
class TestLife:
    def test_a_claim_makes_one_key_once(self):
        at = timezone.now()
        version = make_version(at=at)
        text = claim_key(access_request=version.access_request, at=at)
        key = authenticate_key(text=text, at=at)
        assert list(key.versions.all()) == [version]
        assert key.scopes == ["read", "smoke", "full"]
        assert key.expires_at == key.cycle.evaluation_closes_at + timedelta(days=90)
        with pytest.raises(Refusal) as refused:
            claim_key(access_request=version.access_request, at=at)
        assert refused.value.code == "already_claimed"
        assert LeaderboardKey.objects.count() == 1

    def test_an_undecided_request_has_nothing_to_claim(self):
        with pytest.raises(Refusal) as refused:
            claim_key(access_request=make_request(), at=timezone.now())
        assert refused.value.code == "claim_missing"

    def test_rotation_keeps_lineage_versions_and_scopes_and_a_day_of_grace(self):
        at = timezone.now()
        old, old_text = issue_key(scopes=["read", "smoke"])
        new, new_text = rotate_key(key=old, actor=f"key:{old.public_id}", at=at)
        assert (new.lineage, new.team, new.cycle, new.scopes) == (old.lineage, old.team, old.cycle, ["read", "smoke"])
        assert list(new.versions.all()) == list(old.versions.all())
        assert authenticate_key(text=new_text, at=at) == new
        assert authenticate_key(text=old_text, at=at + timedelta(hours=23, minutes=59)) == old
        with pytest.raises(Refusal):
            authenticate_key(text=old_text, at=at + timedelta(hours=24))
        letter = OutboxMail.objects.get(event="key_rotated")
        assert new.public_id in letter.text
        assert new_text not in letter.text + letter.html

    def test_rotation_does_not_lengthen_the_life_of_a_key(self):
        at = timezone.now()
        key, _text = issue_key(expires_at=at + timedelta(hours=2))
        new, _text = rotate_key(key=key, actor="x", at=at)
        key.refresh_from_db()
        assert key.expires_at == new.expires_at == at + timedelta(hours=2)

    def test_a_key_that_was_rotated_cannot_rotate_again(self):
        at = timezone.now()
        old, _text = issue_key()
        rotate_key(key=old, actor="x", at=at)
        with pytest.raises(Refusal) as refused:
            rotate_key(key=old, actor="x", at=at)
        assert refused.value.code == "key_superseded"

    def test_revocation_needs_a_reason_and_happens_once(self):
        at = timezone.now()
        key, text = issue_key()
        with pytest.raises(Refusal) as refused:
            revoke_key(key=key, actor=ORGANIZER, reason="  ", at=at)
        assert refused.value.code == "reason_missing"
        revoke_key(key=key, actor=ORGANIZER, reason="leaked in a log", at=at)
        with pytest.raises(Refusal):
            authenticate_key(text=text, at=at)
        with pytest.raises(Refusal) as refused:
            revoke_key(key=key, actor=ORGANIZER, reason="again", at=at)
        assert refused.value.code == "key_revoked"
        event = AuditEvent.objects.get(action="leaderboard_key.revoked")
        assert (event.actor, event.reason) == (ORGANIZER, "leaked in a log")

    def test_a_lost_key_is_offered_again_in_the_same_lineage(self):
        at = timezone.now()
        lost, _text = issue_key()
        access_request = KeyClaim.objects.get(key=lost).access_request
        offer_new_key(key=lost, actor=ORGANIZER, reason="lost", at=at)
        with pytest.raises(Refusal) as refused:
            offer_new_key(key=lost, actor=ORGANIZER, reason="lost", at=at)
        assert refused.value.code == "already_offered"
        text = claim_key(access_request=access_request, at=at)
        new = authenticate_key(text=text, at=at)
        lost.refresh_from_db()
        assert new.lineage == lost.lineage
        assert lost.expires_at == at + timedelta(hours=24)
        offer_new_key(key=new, actor=ORGANIZER, reason="lost again", at=at)
        third = authenticate_key(text=claim_key(access_request=access_request, at=at), at=at)
        assert third.lineage == lost.lineage

    def test_a_revoked_key_stays_dead_when_a_new_one_is_claimed(self):
        at = timezone.now()
        leaked, leaked_text = issue_key()
        access_request = KeyClaim.objects.get(key=leaked).access_request
        revoke_key(key=leaked, actor=ORGANIZER, reason="leaked", at=at)
        offer_new_key(key=leaked, actor=ORGANIZER, reason="leaked", at=at)
        new = authenticate_key(text=claim_key(access_request=access_request, at=at), at=at)
        assert is_valid(new, at + timedelta(days=30))
        with pytest.raises(Refusal):
            authenticate_key(text=leaked_text, at=at)

    def test_a_cycle_without_a_close_gives_a_year(self):
        at = timezone.now()
        key, _text = issue_key(cycle=make_cycle(evaluation_closes_at=None, materials_close_at=None), at=at)
        assert key.expires_at == at + timedelta(days=365)

    def test_scopes_are_set_with_a_reason_and_inherited(self):
        at = timezone.now()
        key, _text = issue_key()
        with pytest.raises(Refusal) as refused:
            set_scopes(key=key, scopes=["read"], actor=ORGANIZER, reason=" ", at=at)
        assert refused.value.code == "reason_missing"
        with pytest.raises(ValueError, match="write"):
            set_scopes(key=key, scopes=["write"], actor=ORGANIZER, reason="x", at=at)
        key = set_scopes(key=key, scopes=["smoke", "read"], actor=ORGANIZER, reason="no Full yet", at=at)
        assert key.scopes == ["read", "smoke"]
        assert rotate_key(key=key, actor="x", at=at)[0].scopes == ["read", "smoke"]
        event = AuditEvent.objects.get(action="leaderboard_key.scopes_set")
        assert (event.actor, event.reason) == (ORGANIZER, "no Full yet")
        assert (event.before, event.after) == ({"scopes": ["read", "smoke", "full"]}, {"scopes": ["read", "smoke"]})

    @pytest.mark.parametrize("end", ["claim", "rotate"])
    def test_an_error_report_never_shows_a_new_key(self, monkeypatch, rf, end):
        texts = []

        def fail(*_args, **_kwargs):
            raise RuntimeError("the disk is full")

        def made(**kwargs):
            texts.append(make_key(**kwargs))
            return texts[-1]

        version = make_version()
        key = issue_key()[0] if end == "rotate" else None
        monkeypatch.setattr("submissions.services.keys.make_key", made)
        monkeypatch.setattr("submissions.services.keys.append_event", fail)
        try:
            if key:
                rotate_key(key=key, actor="x", at=timezone.now())
            else:
                claim_key(access_request=version.access_request, at=timezone.now())
        except RuntimeError:
            report = ExceptionReporter(rf.get("/"), *sys.exc_info())
            shown = report.get_traceback_html() + report.get_traceback_text()
        assert "the disk is full" in shown
        assert texts[0].text not in shown
