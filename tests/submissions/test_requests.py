"""An access request from sending to decision: who may do what in which state, and what each step leaves behind."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.utils import timezone

from submissions.audit import verify_chain
from submissions.models import (
    AccessRequest,
    AuditEvent,
    KeyClaim,
    MemorySystemKey,
    OutboxMail,
    System,
    Team,
    Version,
)
from submissions.refusals import Refusal
from submissions.selectors import disclosures_of, keys_of_team, request_of_receipt
from submissions.services import (
    appeal_version,
    approve_access_request,
    disqualify_version,
    edit_access_request,
    new_receipt,
    reinstate_version,
    reject_access_request,
    replace_secret,
    request_changes,
    revoke_key,
    rotate_key,
    set_http_override,
    start_review,
    suspend_version,
    withdraw_access_request,
)
from submissions.vault import open_memory_system_key
from tests.builders import (
    ORGANIZER,
    SECRET,
    make_cycle,
    make_key,
    make_materials,
    make_request,
    make_version,
    open_source_fields,
)

pytestmark = pytest.mark.django_db

AT = timezone.now()
State = AccessRequest.State


def refused(action: Callable[[], object]) -> str:
    with pytest.raises(Refusal) as no:
        action()
    assert str(no.value.message)
    return no.value.code


def in_state(state: str) -> AccessRequest:
    """A request brought to `state` by the services that lead there."""
    request = make_request(at=AT, as_draft=state == State.DRAFT)
    decision = {"access_request": request, "actor": ORGANIZER, "reason": "because", "at": AT}
    match state:
        case State.IN_REVIEW:
            start_review(access_request=request, actor=ORGANIZER, at=AT)
        case State.CHANGES_REQUESTED:
            request_changes(**decision)
        case State.APPROVED:
            approve_access_request(**decision)
        case State.REJECTED:
            reject_access_request(**decision)
        case State.WITHDRAWN:
            withdraw_access_request(access_request=request, at=AT)
    request.refresh_from_db()
    assert request.state == state
    return request


ACTIONS: dict[str, Callable[[AccessRequest], object]] = {
    "team edits": lambda r: edit_access_request(
        access_request=r, materials=make_materials(team=r.team.name, system=r.version.system.name), at=AT
    ),
    "team withdraws": lambda r: withdraw_access_request(access_request=r, at=AT),
    "organizer starts": lambda r: start_review(access_request=r, actor=ORGANIZER, at=AT),
    "organizer asks": lambda r: request_changes(access_request=r, actor=ORGANIZER, reason="more", at=AT),
    "organizer approves": lambda r: approve_access_request(
        access_request=r, actor=ORGANIZER, reason="All is there.", at=AT
    ),
    "organizer rejects": lambda r: reject_access_request(access_request=r, actor=ORGANIZER, reason="no", at=AT),
}
LEADS_TO = {
    ("team edits", State.DRAFT): State.SUBMITTED,
    ("team edits", State.CHANGES_REQUESTED): State.SUBMITTED,
    ("team withdraws", State.DRAFT): State.WITHDRAWN,
    ("team withdraws", State.SUBMITTED): State.WITHDRAWN,
    ("team withdraws", State.IN_REVIEW): State.WITHDRAWN,
    ("team withdraws", State.CHANGES_REQUESTED): State.WITHDRAWN,
    ("organizer starts", State.SUBMITTED): State.IN_REVIEW,
    ("organizer asks", State.SUBMITTED): State.CHANGES_REQUESTED,
    ("organizer asks", State.IN_REVIEW): State.CHANGES_REQUESTED,
    ("organizer approves", State.SUBMITTED): State.APPROVED,
    ("organizer approves", State.IN_REVIEW): State.APPROVED,
    ("organizer rejects", State.SUBMITTED): State.REJECTED,
    ("organizer rejects", State.IN_REVIEW): State.REJECTED,
}


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("state", State.values)
def test_each_actor_moves_a_request_only_along_its_road(action, state):
    request = in_state(state)
    rows = AuditEvent.objects.count()
    expected = LEADS_TO.get((action, state))
    if expected is None:
        assert refused(lambda: ACTIONS[action](request)) == "state_changed"
        assert AuditEvent.objects.count() == rows
    else:
        ACTIONS[action](request)
        assert AuditEvent.objects.count() > rows
    request.refresh_from_db()
    assert request.state == (expected or state)
    assert verify_chain().is_whole


class TestSending:
    def test_it_makes_team_system_version_and_request_and_keeps_only_the_receipts_digest(self):
        receipt = new_receipt()
        request = make_request(receipt=receipt, team="  The   Team ", system="Mem", version="v1", at=AT)
        version = request.version
        assert (request.team.name, version.system.name, version.label) == ("The Team", "Mem", "v1")
        assert (request.state, request.submitted_at, version.state) == ("submitted", AT, "proposed")
        assert version.endpoint_changed_at == AT
        assert open_memory_system_key(version=version) == SECRET
        assert request_of_receipt(receipt) == request
        assert request_of_receipt(new_receipt()) is None
        assert receipt not in str(AccessRequest.objects.values().get())

    def test_the_same_receipt_twice_is_one_request(self):
        receipt, cycle = new_receipt(), make_cycle()
        first = make_request(receipt=receipt, cycle=cycle)
        assert make_request(receipt=receipt, cycle=cycle) == first
        assert AccessRequest.objects.count() == 1
        assert OutboxMail.objects.count() == 1

    def test_a_letter_in_the_readers_language_goes_out(self):
        make_request(language="zh-hans")
        letter = OutboxMail.objects.get()
        assert (letter.event, letter.language, letter.to) == ("request_received", "zh-hans", "ming@memory.example.com")

    def test_a_draft_sends_no_letter_and_may_be_incomplete(self):
        request = make_request(as_draft=True, add_url="", memory_system_key="", stays_reachable=False)
        assert (request.state, request.submitted_at) == ("draft", None)
        assert not OutboxMail.objects.exists()
        assert (
            refused(lambda: edit_access_request(access_request=request, materials=make_materials(add_url=""), at=AT))
            == "materials_invalid"
        )

    @pytest.mark.parametrize(
        ("shift", "fields"),
        [
            (timedelta(days=-2), {}),
            (timedelta(days=10, seconds=1), {}),
            (timedelta(0), {"state": "draft"}),
            (timedelta(0), {"state": "closed"}),
        ],
    )
    def test_the_clock_and_the_cycles_state_decide_whether_materials_are_taken(self, shift, fields):
        cycle = make_cycle(at=AT, **fields)
        assert refused(lambda: make_request(cycle=cycle, at=AT + shift)) == "materials_closed"
        assert not Team.objects.exists()

    def test_the_last_second_counts(self):
        cycle = make_cycle(at=AT)
        assert make_request(cycle=cycle, at=AT + timedelta(days=10)).state == "submitted"

    def test_a_version_is_requested_once(self):
        cycle = make_cycle()
        first = make_request(cycle=cycle, team="T", system="S", version="1")
        again = {"cycle": cycle, "team": "t", "system": "s", "version": "1"}
        assert refused(lambda: make_request(**again)) == "version_exists"
        withdraw_access_request(access_request=first, at=AT)
        assert make_request(**again).version.system == first.version.system

    def test_a_system_takes_part_in_one_division(self):
        cycle = make_cycle()
        make_version(cycle=cycle, team="T", system="S", version="1")
        other = {**open_source_fields(), "cycle": cycle, "team": "T", "system": "S", "version": "2"}
        assert refused(lambda: make_request(**other)) == "division_differs"
        assert System.objects.get().division == "commercial"

    def test_for_an_existing_key_team_and_cycle_are_the_keys(self):
        key, _text = make_key(at=AT)
        request = make_request(existing_key=key, team="Somebody else", at=AT)
        assert (request.team, request.cycle, request.existing_key) == (key.team, key.cycle, key)
        revoke_key(key=key, actor=ORGANIZER, reason="leaked", at=AT)
        key.refresh_from_db()
        assert refused(lambda: make_request(existing_key=key, at=AT)) == "key_invalid"


class TestEditing:
    @pytest.fixture
    def request_(self):
        return in_state(State.CHANGES_REQUESTED)

    def edited(self, request: AccessRequest, **changes) -> AccessRequest:
        names = {"team": request.team.name, "system": request.version.system.name, "version": request.version.label}
        materials = make_materials(**{**names, "memory_system_key": "", **changes})
        return edit_access_request(access_request=request, materials=materials, at=AT + timedelta(hours=1))

    def test_the_stored_secret_stays_while_its_urls_do(self, request_):
        self.edited(request_, add_url="https://memory.example.com/v2/add", run_notes="new")
        version = Version.objects.get(pk=request_.version_id)
        assert (version.run_notes, open_memory_system_key(version=version)) == ("new", SECRET)
        assert version.endpoint_changed_at == AT

    def test_a_new_origin_needs_the_secret_again(self, request_):
        url = "https://other.example.com/add"
        assert refused(lambda: self.edited(request_, add_url=url)) == "materials_invalid"
        self.edited(request_, add_url=url, memory_system_key="another-secret")
        version = Version.objects.get(pk=request_.version_id)
        assert open_memory_system_key(version=version) == "another-secret"
        assert version.endpoint_changed_at == AT + timedelta(hours=1)

    def test_authentication_none_deletes_the_secret(self, request_):
        self.edited(request_, auth_scheme="none")
        assert not MemorySystemKey.objects.exists()

    def test_the_audit_row_names_what_changed_and_no_values(self, request_):
        self.edited(request_, run_notes="confidential notes", memory_system_key="another-secret")
        event = AuditEvent.objects.get(action="access_request.edited")
        assert "run_notes" in event.after["changed"]
        assert "confidential" not in str(event.after)

    def test_the_deadline_holds_for_edits_too(self, request_):
        late = request_.cycle.materials_close_at + timedelta(seconds=1)
        assert (
            refused(lambda: edit_access_request(access_request=request_, materials=make_materials(), at=late))
            == "materials_closed"
        )


class TestDeciding:
    def test_approval_makes_the_version_approved_and_a_claim(self):
        request = in_state(State.APPROVED)
        version = Version.objects.get(pk=request.version_id)
        assert (version.state, version.approved_at, request.decided_at) == ("approved", AT, AT)
        assert KeyClaim.objects.get(access_request=request).claimed_at is None
        assert OutboxMail.objects.filter(event="request_approved").count() == 1
        event = AuditEvent.objects.get(action="access_request.approved")
        assert (event.actor, event.before, event.after) == (ORGANIZER, {"state": "submitted"}, {"state": "approved"})

    def test_approval_under_an_existing_key_binds_to_its_whole_lineage_and_makes_no_claim(self):
        old, _text = make_key(at=AT)
        request = make_request(existing_key=old, at=AT)
        new, _text = rotate_key(key=old, actor="x", at=AT)
        version = approve_access_request(access_request=request, actor=ORGANIZER, reason="All is there.", at=AT).version
        assert version in old.versions.all()
        assert version in new.versions.all()
        assert not KeyClaim.objects.filter(access_request=request).exists()

    def test_approval_under_a_key_that_ended_meanwhile_changes_nothing(self):
        key, _text = make_key(at=AT)
        request = make_request(existing_key=key, at=AT)
        revoke_key(key=key, actor=ORGANIZER, reason="leaked", at=AT)
        assert (
            refused(
                lambda: approve_access_request(access_request=request, actor=ORGANIZER, reason="All is there.", at=AT)
            )
            == "key_invalid"
        )
        assert Version.objects.get(pk=request.version_id).state == "proposed"

    def test_approval_waits_for_a_secret_that_opens(self):
        request = make_request(at=AT)
        MemorySystemKey.objects.update(ciphertext="v1.dev.AAAA.AAAA")
        assert (
            refused(
                lambda: approve_access_request(access_request=request, actor=ORGANIZER, reason="All is there.", at=AT)
            )
            == "secret_unavailable"
        )

    def test_rejection_frees_the_label_and_deletes_the_secret(self):
        request = in_state(State.REJECTED)
        assert Version.objects.get(pk=request.version_id).state == "withdrawn"
        assert not MemorySystemKey.objects.exists()
        assert OutboxMail.objects.filter(event="request_rejected").count() == 1

    @pytest.mark.parametrize("decide", [approve_access_request, request_changes, reject_access_request])
    def test_a_decision_needs_a_reason(self, decide):
        request = make_request(at=AT)
        assert refused(lambda: decide(access_request=request, actor=ORGANIZER, reason=" ", at=AT)) == "reason_missing"


class TestVersions:
    def test_suspended_disqualified_reinstated_each_with_a_reason_and_a_letter(self):
        version = make_version()
        decision = {"version": version, "actor": ORGANIZER, "at": AT}
        assert refused(lambda: suspend_version(**decision, reason="")) == "reason_missing"
        assert suspend_version(**decision, reason="down for days").state == "suspended"
        assert appeal_version(version=version, note="It is up.", actor="receipt:x", at=AT).appeal_note == "It is up."
        assert reinstate_version(**decision, reason="it is up").state == "approved"
        assert disqualify_version(**decision, reason="hard-coded answers").state == "disqualified"
        events = list(OutboxMail.objects.order_by("pk").values_list("event", flat=True))
        assert events[-2:] == ["version_suspended", "version_disqualified"]
        actions = list(AuditEvent.objects.filter(subject_id=str(version.pk)).order_by("sequence").values_list("action"))
        assert [a for (a,) in actions] == [
            "version.suspended",
            "version.appealed",
            "version.reinstated",
            "version.disqualified",
        ]

    def test_a_proposed_version_is_neither_suspended_nor_answered_for(self):
        version = make_request().version
        assert refused(lambda: suspend_version(version=version, actor=ORGANIZER, reason="x", at=AT)) == "state_changed"
        assert refused(lambda: appeal_version(version=version, note="x", actor="x", at=AT)) == "state_changed"

    def test_a_replaced_secret_counts_as_a_change_of_the_endpoint(self):
        version = make_version(at=AT)
        later = AT + timedelta(days=1)
        replace_secret(version=version, secret="another-secret", actor="receipt:x", at=later)
        version.refresh_from_db()
        assert open_memory_system_key(version=version) == "another-secret"
        assert version.endpoint_changed_at == later
        assert "another-secret" not in str(list(AuditEvent.objects.values()))

    def test_no_secret_for_a_version_without_authentication(self):
        version = make_version(auth_scheme="none", memory_system_key="")
        assert (
            refused(lambda: replace_secret(version=version, secret="another-secret", actor="x", at=AT))
            == "secret_without_scheme"
        )

    def test_plain_http_is_allowed_in_writing(self):
        version = make_version()
        assert (
            refused(lambda: set_http_override(version=version, actor=ORGANIZER, reason="", at=AT)) == "reason_missing"
        )
        assert set_http_override(version=version, actor=ORGANIZER, reason="VPN", at=AT).plain_http_override == "VPN"


def test_shared_sources_and_endpoints_name_who_disclosed_first():
    cycle = make_cycle()
    first = make_version(cycle=cycle, **open_source_fields(), add_url="https://one.example.com/add")
    changed = {**open_source_fields(), "repository": "http://GitHub.com/team/memory.git"}
    source = make_version(
        cycle=cycle, **changed, add_url="https://two.example.com/add", search_url="https://two.example.com/s"
    )
    found = disclosures_of(source)
    assert [(each.kind, each.other, each.first) for each in found] == [("source", first, first)]
    endpoint = make_version(
        cycle=cycle, add_url="https://two.example.com/add", search_url="https://three.example.com/s"
    )
    assert [(each.kind, each.other, each.first) for each in disclosures_of(endpoint)] == [("endpoint", source, source)]


def test_a_team_that_holds_a_key_already_is_pointed_out():
    key, _text = make_key(at=AT)
    request = make_request(cycle=key.cycle, team=key.team.name, at=AT)
    assert keys_of_team(request, AT) == [key]
