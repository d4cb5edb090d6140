"""Transactional tests empty every table at their end; append-only tables must let that happen, and only that."""

from collections.abc import Iterator

import pytest
from django.db.backends.base.operations import BaseDatabaseOperations

from submissions.append_only import add_triggers, drop_triggers

APPEND_ONLY_TABLES = ["submissions_auditevent", "leaderboard_snapshot"]


@pytest.fixture(autouse=True, scope="session")
def flush_empties_append_only_tables() -> Iterator[None]:
    flush = BaseDatabaseOperations.execute_sql_flush

    def flush_without_triggers(operations: BaseDatabaseOperations, sql_list: list[str]) -> None:
        for table in APPEND_ONLY_TABLES:
            drop_triggers(operations.connection, table)
        try:
            flush(operations, sql_list)
        finally:
            for table in APPEND_ONLY_TABLES:
                add_triggers(operations.connection, table)

    BaseDatabaseOperations.execute_sql_flush = flush_without_triggers
    yield
    BaseDatabaseOperations.execute_sql_flush = flush
