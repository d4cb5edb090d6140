"""Strict reading of JSON dataset files: each complaint names file, record and field."""

import json
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, NoReturn

from benchmarks.datasets.model import DatasetError
from contract.words import gettext_noop

__all__ = ["Record", "file_sha256", "parse_json", "read_json", "unreadable"]

_TYPE_NAMES: Mapping[type, str] = {
    str: "string", int: "number", float: "number", bool: "true or false", list: "list", dict: "object",
    type(None): "null",
}  # fmt: skip
_BLOCK = 1 << 20


class Record:
    """One object of a dataset file, read field by field; `where` is its place inside the named record."""

    def __init__(self, value: object, *, file: str, record: str, where: str = "") -> None:
        self.file = file
        self.record = record
        self.where = where
        if not isinstance(value, dict):
            self.fail_type("object", value)
        self.fields: dict[str, Any] = value

    def text(self, name: str) -> str:
        """Return a string field that is not blank."""
        value = self._get(name, str)
        if not value.strip():
            self.fail("dataset_text_blank", name, gettext_noop("expected some text, got a blank string"))
        return str(value)

    def string(self, name: str) -> str:
        """Return a string field, which may be blank."""
        return str(self._get(name, str))

    def optional_text(self, name: str) -> str:
        """Return a string field, or an empty string when it is absent or null."""
        return str(self._get(name, str)) if self.fields.get(name) is not None else ""

    def whole_number(self, name: str) -> int:
        """Return an integer field."""
        return int(self._get(name, int))

    def flag(self, name: str) -> bool:
        """Return a field that is true or false, or False when it is absent or null."""
        return self.fields.get(name) is not None and bool(self._get(name, bool))

    def items(self, name: str) -> list[Any]:
        """Return a list field."""
        return list(self._get(name, list))

    def texts(self, name: str) -> list[str]:
        """Return a list of strings."""
        values = self.items(name)
        for index, value in enumerate(values):
            if not isinstance(value, str):
                self.fail_type("string", value, f"{name}[{index}]")
        return values

    def child(self, name: str) -> "Record":
        """Return an object field as a record of its own."""
        return Record(self._get(name, dict), file=self.file, record=self.record, where=self._path(name))

    def children(self, name: str) -> "list[Record]":
        """Return a list of objects as records."""
        return [
            Record(value, file=self.file, record=self.record, where=f"{self._path(name)}[{index}]")
            for index, value in enumerate(self.items(name))
        ]

    def fail(self, code: str, name: str, message: str, **values: object) -> NoReturn:
        """Raise DatasetError at the field `name`; `message` is a marked English template."""
        raise DatasetError(code, file=self.file, record=self.record, field=self._path(name), message=message, **values)

    def fail_type(self, expected: str, value: object, name: str = "") -> NoReturn:
        """Raise DatasetError for a value of another type."""
        self.fail(
            "dataset_field_type", name, gettext_noop("expected %(expected)s, got %(got)s"),
            expected=expected, got=_TYPE_NAMES.get(type(value), type(value).__name__),
        )  # fmt: skip

    def _get(self, name: str, kind: type) -> Any:
        if name not in self.fields:
            self.fail("dataset_field_missing", name, gettext_noop("the field is missing"))
        value = self.fields[name]
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            self.fail_type(_TYPE_NAMES[kind], value, name)
        return value

    def _path(self, name: str) -> str:
        return f"{self.where}.{name}" if self.where and name else self.where or name


def read_json(path: Path) -> Any:
    """Return the value of a UTF-8 JSON file, with duplicate keys and NaN refused.

    Raises DatasetError when the file can't be read or isn't such JSON.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise unreadable(path, error) from error
    return parse_json(data, file=path.name)


def parse_json(data: bytes, *, file: str, record: str = "", line: int = 1, column: int = 1, byte: int = 0) -> Any:
    """Return the value of UTF-8 JSON, as strictly as `read_json`.

    `line`, `column` and `byte` say where `data` begins in the file, so that a complaint names the place in it; a
    `record` that is known by then takes the place's stead. Raises DatasetError.
    """
    try:
        return json.loads(data.decode(), object_pairs_hook=_unique, parse_constant=_refuse_constant)
    except UnicodeDecodeError as error:
        raise DatasetError(
            "dataset_not_utf8", file=file, record=record,
            message=gettext_noop("expected UTF-8 text, got another encoding at byte %(byte)d"),
            byte=byte + error.start,
        ) from error  # fmt: skip
    except json.JSONDecodeError as error:
        at = f"line {error.lineno + line - 1}, column {error.colno + (column - 1 if error.lineno == 1 else 0)}"
        raise DatasetError(
            "dataset_not_json", file=file, record=at,
            message=gettext_noop("expected JSON, got something that breaks off or isn't JSON here (%(reason)s)"),
            reason=error.msg,
        ) from error  # fmt: skip
    except RecursionError as error:
        raise DatasetError(
            "dataset_too_deep", file=file, record=record, message=gettext_noop("the JSON is nested too deeply")
        ) from error
    except _LooseJsonError as error:
        raise DatasetError(error.code, file=file, record=record, field=error.got, message=error.message) from error
    except ValueError as error:
        # the one that is left: a whole number of more digits than Python reads
        raise DatasetError(
            "dataset_number_too_long", file=file, record=record,
            message=gettext_noop("expected a number, got one of thousands of digits"),
        ) from error  # fmt: skip


def unreadable(path: Path, error: OSError) -> DatasetError:
    """Return the complaint about a file that can't be read."""
    return DatasetError(
        "dataset_file_unreadable", file=path.name,
        message=gettext_noop("the file can't be read: %(reason)s"), reason=error.strerror or type(error).__name__,
    )  # fmt: skip


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of a file as 64 hex digits, reading it in blocks."""
    digest = sha256()
    with path.open("rb") as stream:
        while block := stream.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()


class _LooseJsonError(Exception):
    def __init__(self, code: str, message: str, got: str) -> None:
        super().__init__(code)
        self.code, self.message, self.got = code, message, got


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        names = [name for name, _ in pairs]
        doubled = next(name for name in names if names.count(name) > 1)
        raise _LooseJsonError("dataset_duplicate_key", gettext_noop("the same key stands twice in one object"), doubled)
    return fields


def _refuse_constant(name: str) -> NoReturn:
    raise _LooseJsonError("dataset_non_finite", gettext_noop("expected a finite number"), name)
