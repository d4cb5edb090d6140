"""The file format of evidence: JSON lines in zstandard frames, which `zstd -d` reads as one text.

The first line says what the file belongs to; each other line belongs to one event of the scope, in their order: a
response body that was kept, or a question with the memories that its Search returned. A frame holds a few whole lines,
so that one question is read without the others.
"""

import io
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import IO

import msgspec
import zstandard

from benchmarks.datasets.model import Question
from contract.memories import Memory

__all__ = [
    "FORMAT",
    "BodyLine",
    "Facts",
    "Header",
    "QuestionLine",
    "decode_memories",
    "hash_file",
    "iterate_lines",
    "link",
    "read_lines",
    "write_segment",
]

FORMAT = "aml.evidence.v1"
FRAME_BYTES = 256 * 1024
"""Uncompressed bytes after which a frame ends: what opening one question costs at most, beside the question itself."""
LEVEL = 6
_READ_AT_ONCE = 1 << 20

_MEMORIES = msgspec.json.Decoder(tuple[Memory, ...])


class Header(msgspec.Struct, frozen=True, tag="segment", tag_field="line"):
    """What the file belongs to: a run and one of its scopes."""

    job: str
    scope: int
    bundle: str
    key: str
    user_id: str
    format: str = FORMAT


class BodyLine(msgspec.Struct, frozen=True, tag="body", tag_field="line"):
    """A response body of attempt `attempt`: `size` and `sha256` are of all of it, `data` its kept part in Base64."""

    ordinal: int
    attempt: int
    size: int
    sha256: str
    data: bytes


class QuestionLine(msgspec.Struct, frozen=True, tag="question", tag_field="line"):
    """A question as it was asked and the memories as they were kept; `sha256` is that of the memories' JSON."""

    ordinal: int
    key: str
    step: int
    question: Question
    sha256: str
    memories: msgspec.Raw


Line = Header | BodyLine | QuestionLine
_LINE = msgspec.json.Decoder(Line)


@dataclass(slots=True)
class Facts:
    """What is known of a written file; `index` holds (first ordinal, offset, length) for each frame."""

    size: int = 0
    sha256: str = ""
    questions: int = 0
    index: list[tuple[int, int, int]] = field(default_factory=list)


def write_segment(target: IO[bytes], header: Header, lines: Iterable[BodyLine | QuestionLine]) -> Facts:
    """Write a segment; `lines` come ascending by ordinal. The same lines always give the same bytes."""
    facts, digest = Facts(), sha256()
    frame, first = bytearray(msgspec.json.encode(header) + b"\n"), 0

    def close_frame() -> None:
        packed = zstandard.ZstdCompressor(level=LEVEL).compress(bytes(frame))
        facts.index.append((first, facts.size, len(packed)))
        facts.size += len(packed)
        digest.update(packed)
        target.write(packed)
        frame.clear()

    before = -1
    for line in lines:
        if len(frame) >= FRAME_BYTES and line.ordinal > before:
            close_frame()
            first = line.ordinal
        before = line.ordinal
        frame += msgspec.json.encode(line) + b"\n"
        facts.questions += isinstance(line, QuestionLine)
    close_frame()
    facts.sha256 = digest.hexdigest()
    return facts


def read_lines(source: IO[bytes], index: Sequence[Sequence[int]], ordinal: int) -> list[BodyLine | QuestionLine]:
    """Return the lines of one event, reading only the frame that holds them."""
    place = bisect_right(index, ordinal, key=lambda entry: entry[0]) - 1
    if place < 0:
        return []
    _, offset, length = index[place]
    source.seek(offset)
    frame = source.read(length)
    return [line for line in _lines(frame) if not isinstance(line, Header) and line.ordinal == ordinal]


def iterate_lines(source: IO[bytes], index: Sequence[Sequence[int]], after: int = -1) -> Iterator[Line]:
    """Yield the lines of all events behind the event `after`, a frame at a time; the header comes with `after` = -1."""
    place = max(0, bisect_right(index, after, key=lambda entry: entry[0]) - 1)
    for _, offset, length in index[place:]:
        source.seek(offset)
        for line in _lines(source.read(length)):
            if (after < 0) if isinstance(line, Header) else (line.ordinal > after):
                yield line


def decode_memories(line: QuestionLine) -> tuple[Memory, ...]:
    """Return a question's memories in the participant's order."""
    return _MEMORIES.decode(line.memories)


def hash_file(source: IO[bytes]) -> str:
    """SHA-256 of a whole file, in hexadecimal."""
    digest = sha256()
    while block := source.read(_READ_AT_ONCE):
        digest.update(block)
    return digest.hexdigest()


def link(previous: str, *, number: int, scope: int, size: int, file_sha256: str) -> str:
    """The digest of a segment in its job's chain."""
    return sha256(f"{FORMAT}\n{previous}\n{number}\n{scope}\n{size}\n{file_sha256}\n".encode()).hexdigest()


def _lines(frame: bytes) -> Iterator[Line]:
    text = zstandard.ZstdDecompressor().decompress(frame)
    for line in io.BytesIO(text):
        yield _LINE.decode(line)
