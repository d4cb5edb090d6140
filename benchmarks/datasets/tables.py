"""Strict reading of CSV dataset files, row by row and again from a row's place."""

import ast
import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final

from benchmarks.datasets.model import DatasetError
from benchmarks.datasets.reading import Record, unreadable
from contract.words import gettext_noop

__all__ = ["Table", "parse_literal"]

_BOM: Final = b"\xef\xbb\xbf"


class Table:
    """A UTF-8 CSV file with a header. Records are named `row N`, the header being row 1."""

    def __init__(self, path: Path) -> None:
        """Read the header. Raises DatasetError when the file has none, or names a column twice."""
        self._path = path
        self._header: list[str] = []
        for _, _, cells in self._read(0):
            self._header = cells
            break
        doubled = next((name for name in self._header if self._header.count(name) > 1), None)
        if not self._header or doubled is not None:
            raise DatasetError(
                "dataset_header", file=path.name, record="row 1", field=doubled or "",
                message=gettext_noop("expected a header with each column named once"),
            )  # fmt: skip

    def rows(self) -> Iterator[tuple[int, int, Record]]:
        """Yield (byte at which the row begins, its number, its cells by column) of each row. Raises DatasetError."""
        for number, (byte, _, cells) in enumerate(self._read(0), 1):
            if number > 1 and cells:
                yield byte, number, self._record(number, cells)

    def row(self, byte: int, number: int) -> Record:
        """Return the row that begins at `byte`. Raises DatasetError."""
        _, _, cells = next(self._read(byte))
        return self._record(number, cells)

    def _record(self, number: int, cells: list[str]) -> Record:
        if len(cells) != len(self._header):
            raise DatasetError(
                "dataset_row_length", file=self._path.name, record=f"row {number}",
                message=gettext_noop("expected %(expected)d cells as in the header, got %(got)d"),
                expected=len(self._header), got=len(cells),
            )  # fmt: skip
        return Record(dict(zip(self._header, cells, strict=True)), file=self._path.name, record=f"row {number}")

    def _read(self, byte: int) -> Iterator[tuple[int, int, list[str]]]:
        """Yield (byte at which the row begins, byte behind it, cells)."""
        try:
            with self._path.open("rb") as stream:
                stream.seek(byte)
                lines = _Lines(stream, self._path.name, byte)
                reader = csv.reader(lines, strict=True)
                while (begin := lines.byte) is not None:
                    try:
                        cells = next(reader)
                    except StopIteration:
                        return
                    yield begin, lines.byte, cells
        except OSError as error:
            raise unreadable(self._path, error) from error
        except csv.Error as error:
            raise DatasetError(
                "dataset_not_csv", file=self._path.name, record=f"byte {lines.byte}",
                message=gettext_noop("expected CSV, got something that breaks off or isn't CSV here (%(reason)s)"),
                reason=error,
            ) from error  # fmt: skip


class _Lines:
    """The lines of a file as text, which knows how far it has come."""

    def __init__(self, stream: BinaryIO, file: str, byte: int) -> None:
        self._stream = stream
        self._file = file
        self.byte = byte

    def __iter__(self) -> "_Lines":
        return self

    def __next__(self) -> str:
        line = self._stream.readline()
        if not line:
            raise StopIteration
        begin, self.byte = self.byte, self.byte + len(line)
        try:
            return (line.removeprefix(_BOM) if begin == 0 else line).decode()
        except UnicodeDecodeError as error:
            raise DatasetError(
                "dataset_not_utf8", file=self._file,
                message=gettext_noop("expected UTF-8 text, got another encoding at byte %(byte)d"),
                byte=begin + error.start,
            ) from error  # fmt: skip


def parse_literal(text: str) -> object:
    """Return the value of a cell that holds JSON or a Python literal; None for any other text."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    try:
        return ast.literal_eval(text.strip())
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None
