"""Append-only files that survive a kill at any point."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Generic, TypeVar

import msgspec
import zstandard

__all__ = ["Damaged", "Frames", "Journal", "Span"]

T = TypeVar("T")


class Damaged(Exception):
    """A file holds something that this program did not write there; `place` names file and line."""

    def __init__(self, place: str) -> None:
        super().__init__(place)
        self.place = place


@dataclass(frozen=True, slots=True)
class Span:
    """Where a record stands in its file, in bytes."""

    start: int
    length: int

    @property
    def end(self) -> int:
        return self.start + self.length


class Journal(Generic[T]):
    """Records of one type, a JSON line each. Belongs to one process; see `folder.locked`."""

    def __init__(self, path: Path, kind: type[T]) -> None:
        self._path = path
        self._decoder = msgspec.json.Decoder(kind)
        self._file: BinaryIO = path.open("a+b")

    def read(self) -> Iterator[tuple[Span, T]]:
        """Yield every record from the first on, and drop a last line that was cut off.

        Raises Damaged for any other line that can't be read.
        """
        self._file.seek(0)
        start = 0
        for number, line in enumerate(self._file, start=1):
            record = self._decode(line)
            if record is None:
                if start + len(line) < self._size():
                    raise Damaged(f"{self._path.name}, line {number}")
                self._file.truncate(start)
                return
            yield Span(start, len(line)), record
            start += len(line)

    def append(self, records: Sequence[T]) -> list[Span]:
        """Keep `records` and return where they stand once they are on the disk."""
        return _append(self._file, [msgspec.json.encode(record) + b"\n" for record in records])

    def at(self, span: Span) -> T:
        """Return the record at `span`."""
        return self._decoder.decode(_read(self._file, span))

    def close(self) -> None:
        self._file.close()

    def _size(self) -> int:
        return os.fstat(self._file.fileno()).st_size

    def _decode(self, line: bytes) -> T | None:
        if not line.endswith(b"\n"):
            return None
        try:
            return self._decoder.decode(line)
        except msgspec.DecodeError:
            return None


class Frames:
    """Texts, each compressed as a frame of its own; `zstd -dc` reads the whole file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: BinaryIO = path.open("a+b")

    def append(self, texts: Sequence[bytes]) -> list[Span]:
        """Keep `texts` and return where they stand once they are on the disk."""
        return _append(self._file, [zstandard.compress(text, 3) for text in texts])

    def at(self, span: Span) -> bytes:
        """Return the text at `span`. Raises Damaged when none can be read there."""
        try:
            return zstandard.decompress(_read(self._file, span))
        except zstandard.ZstdError:
            raise Damaged(f"{self._path.name}, byte {span.start}") from None

    def end_at(self, end: int) -> None:
        """Drop what stands behind `end`: a frame that no receipt speaks of. Raises Damaged when less is there."""
        size = os.fstat(self._file.fileno()).st_size
        if size < end:
            raise Damaged(f"{self._path.name}, byte {size}")
        self._file.truncate(end)

    def close(self) -> None:
        self._file.close()


def _append(file: BinaryIO, pieces: Sequence[bytes]) -> list[Span]:
    descriptor = file.fileno()
    start = os.fstat(descriptor).st_size
    spans = []
    for piece in pieces:
        spans.append(Span(start, len(piece)))
        start += len(piece)
    left = memoryview(b"".join(pieces))
    while left:  # past Python's buffer, so that nothing of a failed write comes later
        left = left[os.write(descriptor, left) :]
    os.fsync(descriptor)
    return spans


def _read(file: BinaryIO, span: Span) -> bytes:
    return os.pread(file.fileno(), span.length, span.start)
