"""Rows that are written without model instances are the rows that the models would have written."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from evaluation.models import Event, Job, Receipt
from evaluation.rows import RowWriter
from tests.engine.test_run import run_to_end

NAMES = [field.attname for field in Receipt._meta.concrete_fields if not field.primary_key]


def test_a_row_is_read_back_as_the_model_would_have_written_it(job: Job) -> None:
    run_to_end(job)
    event = Event.objects.order_by("pk").first()
    assert event is not None
    at = datetime(2026, 11, 1, 14, 30, 0, 123456, tzinfo=timezone(timedelta(hours=8)))
    values = {
        "job_id": job.pk, "event_id": event.pk, "kind": "add", "attempt": 70, "started_at": at, "ended_at": at,
        "latency_ms": 1.5, "http_status": None, "bytes_sent": 2**40, "bytes_received": 0, "verdict": "ok",
        "reason_code": "", "reason_got": "what 来了 \U0001f600 'quoted' %s", "resolved_address": "",
        "flags": ["a", "\u4e2d"],
    }  # fmt: skip
    other = Receipt.objects.create(**values)

    ((pk, event_pk),) = RowWriter(Receipt, list(values)).insert(
        [[*(values | {"attempt": 71}).values()]], returning=("event_id",)
    )

    row = Receipt.objects.get(pk=pk)
    assert event_pk == event.pk
    assert row.started_at == at.astimezone(UTC)
    same = [name for name in NAMES if name != "attempt"]
    assert [getattr(row, name) for name in same] == [getattr(Receipt.objects.get(pk=other.pk), name) for name in same]


def test_a_field_that_is_forgotten_is_noticed_when_the_program_starts() -> None:
    with pytest.raises(TypeError, match="flags"):
        RowWriter(Receipt, [name for name in NAMES if name != "flags"])


@pytest.mark.django_db
def test_no_rows_are_no_statement() -> None:
    assert RowWriter(Receipt, NAMES).insert([]) == []
