"""Reading of large JSON files piece by piece: the values of a list, the lines of a JSONL file.

No more than one value and one block of the file is held at a time, so that memory doesn't grow with their number.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, Final

from benchmarks.datasets.model import DatasetError
from benchmarks.datasets.reading import parse_json, read_json, unreadable
from contract.words import gettext_noop

__all__ = ["read_json_items", "read_json_lines"]

_BLOCK: Final = 1 << 16
_SPACE: Final = b" \t\r\n"
_OUTSIDE: Final = re.compile(rb'["\[\]{},]')
_INSIDE: Final = re.compile(rb'"|\\.', re.DOTALL)


def read_json_items(path: Path) -> Iterator[Any]:
    """Yield the values of the list that a UTF-8 JSON file holds, each as strictly read as by `read_json`.

    Raises DatasetError, with line and column, for a file that can't be read, holds no list or isn't such JSON.
    """
    try:
        with path.open("rb") as stream:
            yield from _Items(stream, path).read()
    except OSError as error:
        raise unreadable(path, error) from error


def read_json_lines(path: Path) -> Iterator[tuple[int, int, Any]]:
    """Yield (line number from 1, byte at which the line begins, value) of each line that isn't blank.

    Raises DatasetError, with the line, for a file that can't be read or a line that isn't one JSON value.
    """
    try:
        with path.open("rb") as stream:
            byte = 0
            for number, line in enumerate(stream, 1):
                if line.strip():
                    yield (
                        number,
                        byte,
                        parse_json(line, file=path.name, record=f"line {number}", line=number, byte=byte),
                    )
                byte += len(line)
    except OSError as error:
        raise unreadable(path, error) from error


class _Items:
    """A list taken apart by its brackets, commas and quotes; what lies between is left to the strict reader."""

    def __init__(self, stream: BinaryIO, path: Path) -> None:
        self._stream = stream
        self._path = path
        self._buffer = bytearray()
        self._byte = 0
        self._line = self._column = 1

    def read(self) -> Iterator[Any]:
        if self._skip_space() != b"[":
            read_json(self._path)
            raise DatasetError(
                "dataset_not_list", file=self._path.name, message=gettext_noop("expected a list at the top")
            )
        self._drop(1)
        if self._skip_space() == b"]":
            self._drop(1)
        else:
            closed = False
            while not closed:
                size, closed = self._measure()
                yield self._parse(size)
                self._drop(size + 1)
        if self._skip_space():
            self._parse(len(self._buffer), before=b"0 ")

    def _parse(self, size: int, before: bytes = b"") -> Any:
        """Read the next `size` bytes as one value; `before` makes a value that stands too many an error at it."""
        data = before + bytes(self._buffer[:size])
        column = self._column - len(before)
        return parse_json(data, file=self._path.name, line=self._line, column=column, byte=self._byte - len(before))

    def _measure(self) -> tuple[int, bool]:
        """Return the size of the value that comes next, and whether the list ends behind it."""
        at = depth = 0
        quoted = False
        while True:
            match = (_INSIDE if quoted else _OUTSIDE).search(self._buffer, at)
            if match is None:
                # a backslash at the end still waits for what it escapes
                at = max(at, len(self._buffer) - (1 if quoted and self._buffer.endswith(b"\\") else 0))
                if not self._fill():
                    self._fail_cut()
                continue
            at = match.end()
            mark = match[0]
            if quoted:
                quoted = mark != b'"'
            elif mark == b'"':
                quoted = True
            elif depth == 0 and mark in b",]":
                return match.start(), mark == b"]"
            else:
                depth += {b"[": 1, b"{": 1, b"]": -1, b"}": -1}.get(mark, 0)

    def _fail_cut(self) -> None:
        """Raise DatasetError for a list that the file's end breaks off."""
        self._parse(len(self._buffer))
        self._drop(len(self._buffer))
        self._parse(0)

    def _skip_space(self) -> bytes:
        """Drop white space and return the byte behind it; empty at the file's end."""
        while True:
            size = len(self._buffer) - len(self._buffer.lstrip(_SPACE))
            self._drop(size)
            if self._buffer or not self._fill():
                return bytes(self._buffer[:1])

    def _fill(self) -> bool:
        block = self._stream.read(_BLOCK)
        self._buffer += block
        return bool(block)

    def _drop(self, size: int) -> None:
        gone = self._buffer[:size]
        breaks = gone.count(b"\n")
        if breaks:
            self._line += breaks
            self._column = 1
            gone = gone[gone.rfind(b"\n") + 1 :]
        self._column += len(gone.decode(errors="replace"))
        self._byte += size
        del self._buffer[:size]
