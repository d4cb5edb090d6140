"""Database triggers that make a table append-only, on SQLite and PostgreSQL. Used by migrations.

SQLite loses a table's triggers when Django rebuilds the table: a migration that changes such a table adds them again.
"""

from django.db.backends.base.base import BaseDatabaseWrapper

_POSTGRESQL_ADD = """
CREATE OR REPLACE FUNCTION {table}_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'rows of {table} are append-only';
END
$$;
CREATE TRIGGER {table}_no_change BEFORE UPDATE OR DELETE ON {table}
    FOR EACH ROW EXECUTE FUNCTION {table}_append_only();
CREATE TRIGGER {table}_no_truncate BEFORE TRUNCATE ON {table}
    FOR EACH STATEMENT EXECUTE FUNCTION {table}_append_only();
"""
_POSTGRESQL_DROP = """
DROP TRIGGER IF EXISTS {table}_no_change ON {table};
DROP TRIGGER IF EXISTS {table}_no_truncate ON {table};
DROP FUNCTION IF EXISTS {table}_append_only();
"""
_SQLITE_ADD = """
CREATE TRIGGER {table}_no_{name} BEFORE {name} ON {table}
BEGIN SELECT RAISE(ABORT, 'rows of {table} are append-only'); END
"""
_SQLITE_DROP = "DROP TRIGGER IF EXISTS {table}_no_{name}"


def add_triggers(connection: BaseDatabaseWrapper, table: str) -> None:
    """Refuse UPDATE, DELETE and TRUNCATE on `table` from now on."""
    _run(connection, table, {"postgresql": _POSTGRESQL_ADD, "sqlite": _SQLITE_ADD})


def drop_triggers(connection: BaseDatabaseWrapper, table: str) -> None:
    """Undo `add_triggers`."""
    _run(connection, table, {"postgresql": _POSTGRESQL_DROP, "sqlite": _SQLITE_DROP})


def _run(connection: BaseDatabaseWrapper, table: str, statements: dict[str, str]) -> None:
    statement = statements.get(connection.vendor)
    if statement is None:
        raise NotImplementedError(
            f"Append-only tables need SQLite or PostgreSQL; this database is {connection.vendor}."
        )
    names = ("update", "delete") if connection.vendor == "sqlite" else ("",)
    with connection.cursor() as cursor:
        for name in names:
            cursor.execute(statement.format(table=table, name=name))
