"""Many rows in one statement, without a model instance for each: on the path of every call that is what costs most.

`make bench` measures it: with `bulk_create` keeping an attempt took 0.55 ms of processor time, with this 0.1 ms.
"""

from collections.abc import Callable, Sequence
from typing import Any

from django.db import connection, models

__all__ = ["RowWriter"]

Adapt = Callable[[Any], Any]


class RowWriter:
    """Inserts rows of a model given as values in the order of `names`, which are the model's fields but its key.

    Values go to the database as they would from the model's fields; what a field would convert or fill in, as a
    default, is not done here. Raises TypeError at once when `names` are not all of the model's fields.
    """

    def __init__(self, model: type[models.Model], names: Sequence[str]) -> None:
        fields = {field.attname: field for field in model._meta.concrete_fields if not field.primary_key}
        if set(names) != set(fields):
            raise TypeError(f"{model.__name__} has the fields {sorted(fields)}, got {sorted(names)}")
        self._table = model._meta.db_table
        self._key = str(model._meta.pk.column)
        self._fields = [fields[name] for name in names]
        self._columns = [str(field.column) for field in self._fields]
        self._adapters: dict[str, list[Adapt | None]] = {}

    def insert(self, rows: Sequence[Sequence[Any]], *, returning: Sequence[str] = ()) -> list[tuple[Any, ...]]:
        """Insert `rows` and return, for each in no certain order, its key and the columns named in `returning`."""
        if not rows:
            return []
        adapters = self._of_this_database()
        quote = connection.ops.quote_name
        columns = ", ".join(quote(column) for column in self._columns)
        values = ", ".join([f"({', '.join(['%s'] * len(self._fields))})"] * len(rows))
        wanted = ", ".join(quote(name) for name in (self._key, *returning))
        sql = f"INSERT INTO {quote(self._table)} ({columns}) VALUES {values} RETURNING {wanted}"  # noqa: S608 (names of the model)
        parameters = [
            value if adapt is None else adapt(value) for row in rows for adapt, value in zip(adapters, row, strict=True)
        ]
        with connection.cursor() as cursor:
            cursor.execute(sql, parameters)
            return list(cursor.fetchall())

    def _of_this_database(self) -> list[Adapt | None]:
        adapters = self._adapters.get(connection.vendor)
        if adapters is None:
            adapters = self._adapters[connection.vendor] = [_adapter(field) for field in self._fields]
        return adapters


def _adapter(field: "models.Field[Any, Any]") -> Adapt | None:
    """How a field's value is written to the database at hand; None where it goes as it is."""
    while isinstance(field, models.ForeignKey):
        field = field.target_field
    if isinstance(field, models.DateTimeField):
        return lambda value: connection.ops.adapt_datetimefield_value(value)
    if isinstance(field, models.JSONField):
        return lambda value: connection.ops.adapt_json_value(value, None)
    if isinstance(field, models.UUIDField):
        return lambda value: field.get_db_prep_value(value, connection)
    return None
