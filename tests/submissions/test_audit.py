"""The audit chain: rows only come, and whoever changes one is found out."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import DatabaseError, connection, transaction
from django.utils.translation import gettext_lazy

from submissions.append_only import add_triggers, drop_triggers
from submissions.audit import GENESIS, append_event, verify_chain
from submissions.models import AuditEvent, AuditHead, Team

TABLE = "submissions_auditevent"


@pytest.fixture
def chain(db):
    team = Team.objects.create(name="T")
    return [append_event(actor="platform", action="test.done", subject=team, after={"n": n}) for n in range(5)]


@pytest.fixture
def triggers_gone(db):
    drop_triggers(connection, TABLE)
    yield
    add_triggers(connection, TABLE)


def test_rows_are_numbered_and_each_follows_from_the_one_before(chain):
    assert [event.sequence for event in chain] == [1, 2, 3, 4, 5]
    assert [event.previous_digest for event in chain] == [GENESIS, *(event.digest for event in chain[:-1])]
    report = verify_chain()
    assert (report.is_whole, report.count, report.head) == (True, 5, chain[-1].digest)


def test_an_empty_chain_is_whole(db):
    assert verify_chain().is_whole


@pytest.mark.parametrize(
    "attempt",
    [
        lambda: AuditEvent.objects.filter(sequence=2).update(actor="mallory"),
        lambda: AuditEvent.objects.filter(sequence=2).delete(),
        lambda: AuditEvent.objects.get(sequence=2).delete(),
        lambda: AuditEvent.objects.get(sequence=2).save(),
        lambda: AuditEvent.objects.all().delete(),
    ],
)
def test_the_database_refuses_to_change_or_delete_a_row(chain, attempt):
    with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
        attempt()
    assert verify_chain().is_whole


def test_postgresql_refuses_to_truncate(chain):
    if connection.vendor != "postgresql":
        pytest.skip("only on PostgreSQL: SQLite has no TRUNCATE")
    with pytest.raises(DatabaseError, match="append-only"), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"TRUNCATE {TABLE}")


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"actor": "mallory"}, "its content is not what was written"),
        ({"reason": "a better reason"}, "its content is not what was written"),
        ({"after": {"n": 99}}, "its content is not what was written"),
        ({"at": datetime(2020, 1, 1, tzinfo=UTC)}, "its content is not what was written"),
        ({"previous_digest": "f" * 64}, "it does not follow from the row before"),
        ({"sequence": 77}, "row 3 is missing"),
    ],
)
def test_tampering_behind_the_triggers_is_found(chain, triggers_gone, change, problem):
    AuditEvent.objects.filter(sequence=3).update(**change)
    report = verify_chain()
    assert (report.is_whole, report.broken_at, report.problem) == (False, 3, problem)


def test_a_row_cut_out_of_the_middle_is_found(chain, triggers_gone):
    AuditEvent.objects.filter(sequence=3).delete()
    assert verify_chain().broken_at == 3


def test_a_chain_cut_at_its_end_disagrees_with_its_head(chain, triggers_gone):
    AuditEvent.objects.filter(sequence__gt=3).delete()
    report = verify_chain()
    assert (report.is_whole, report.broken_at) == (False, 4)


def test_a_removed_head_is_found(chain):
    AuditHead.objects.all().delete()
    assert not verify_chain().is_whole


def test_values_of_every_kind_read_back_to_the_same_digest(db):
    team = Team.objects.create(name="T")
    after = {
        "when": datetime(2026, 11, 1, 8, 30, 15, 123456, tzinfo=UTC),
        "day": date(2026, 11, 1),
        "lazy": gettext_lazy("approved"),
        "nul": "a\x00b",
        "half": "\ud83d",
        "number": 3,
        "share": 0.1,
        "nested": {"set": {"b", "a"}, "none": None, "true": True, "汉字": "好"},
    }
    append_event(actor="platform", action="test.done", subject=team, reason="因为\x00", before=after, after=after)
    assert verify_chain().is_whole
    stored = AuditEvent.objects.get().after
    assert stored["nested"]["set"] == ["a", "b"]
    assert stored["share"] == "0.1"


def test_a_rolled_back_decision_leaves_no_row_and_no_gap(db):
    team = Team.objects.create(name="T")
    with transaction.atomic():
        append_event(actor="platform", action="test.done", subject=team)
        transaction.set_rollback(True)
    append_event(actor="platform", action="test.done", subject=team)
    assert verify_chain().count == 1
    assert verify_chain().is_whole


@pytest.mark.django_db(transaction=True)
def test_many_writers_at_once_make_one_chain():
    team = Team.objects.create(name="T")

    def write(_n: int) -> None:
        try:
            for _ in range(5):
                append_event(actor="platform", action="test.done", subject=team)
        finally:
            connection.close()

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(write, range(6)))
    report = verify_chain()
    assert (report.is_whole, report.count) == (True, 30)


def test_the_command_proves_the_chain_or_fails(chain, triggers_gone):
    out = StringIO()
    call_command("verify_audit", stdout=out)
    assert chain[-1].digest in out.getvalue()
    AuditEvent.objects.filter(sequence=2).update(actor="mallory")
    with pytest.raises(CommandError, match="row 2"):
        call_command("verify_audit", stdout=out)
