"""The file of a scope's evidence: one text, read by question."""

import io
import json
from hashlib import sha256

import msgspec
import pytest
import zstandard

from benchmarks.datasets.model import Question
from contract.memories import Memory
from evaluation.evidence import segments
from evaluation.evidence.segments import BodyLine, Header, QuestionLine, decode_memories, iterate_lines, read_lines

HEADER = Header("ab" * 16, 3, "talks", "talk-3", "eval:x:talks:talk-3")


def question(ordinal: int) -> QuestionLine:
    text = msgspec.json.encode((Memory(f"m{ordinal}", f"雨 in the town {ordinal}\nand \u2028 after " * 20, score=0.5),))
    asked = Question(f"q{ordinal}", f"What of {ordinal}?", ("a", "b"), "gold", "4", "A", ("D1:1",), "single_choice")
    digest = sha256(text).hexdigest()
    return QuestionLine(ordinal, f"talks/q{ordinal}", 0, asked, digest, msgspec.Raw(text))


def written(lines: list[BodyLine | QuestionLine]) -> tuple[io.BytesIO, segments.Facts]:
    file = io.BytesIO()
    return file, segments.write_segment(file, HEADER, lines)


@pytest.mark.parametrize("frame_bytes", [1, 2000, 1 << 20])
def test_each_question_comes_back_as_it_was_from_a_file_of_any_frames(frame_bytes, monkeypatch) -> None:
    monkeypatch.setattr(segments, "FRAME_BYTES", frame_bytes)
    lines = [question(ordinal) for ordinal in range(5, 40)]
    file, facts = written(lines)
    assert (facts.questions, len(file.getvalue())) == (35, facts.size)
    assert facts.sha256 == sha256(file.getvalue()).hexdigest()
    for line in lines:
        (found,) = read_lines(file, facts.index, line.ordinal)
        assert (found.question, found.sha256) == (line.question, line.sha256)
        assert decode_memories(found)[0].content == msgspec.json.decode(line.memories)[0]["content"]
    assert read_lines(file, facts.index, 4) == read_lines(file, facts.index, 40) == []
    assert [line.ordinal for line in iterate_lines(file, facts.index, after=20)] == list(range(21, 40))


def test_the_same_lines_give_the_same_bytes_and_any_zstandard_reader_reads_them() -> None:
    lines = [question(ordinal) for ordinal in range(200)]
    first, second = written(lines)[0].getvalue(), written(lines)[0].getvalue()
    assert first == second
    text = zstandard.ZstdDecompressor().stream_reader(io.BytesIO(first), read_across_frames=True).read()
    rows = [json.loads(row) for row in text.decode().split("\n")[:-1]]
    assert (rows[0]["format"], rows[0]["scope"]) == ("aml.evidence.v1", 3)
    assert [row["ordinal"] for row in rows[1:]] == list(range(200))


def test_one_question_is_read_without_the_others(monkeypatch) -> None:
    monkeypatch.setattr(segments, "FRAME_BYTES", 10_000)
    file, facts = written([question(ordinal) for ordinal in range(2000)])

    class Counting(io.BytesIO):
        taken = 0

        def read(self, size: int | None = -1) -> bytes:
            data = super().read(size)
            self.taken += len(data)
            return data

    counting = Counting(file.getvalue())
    read_lines(counting, facts.index, 1234)
    assert 0 < counting.taken < facts.size / 50


def test_the_bodies_of_an_event_stand_with_its_question(monkeypatch) -> None:
    monkeypatch.setattr(segments, "FRAME_BYTES", 1)
    body = BodyLine(7, 1, 4, sha256(b"\xff\x00no").hexdigest(), b"\xff\x00no")
    file, facts = written([question(6), body, BodyLine(7, 2, 0, "", b""), question(7), question(8)])
    found = read_lines(file, facts.index, 7)
    assert [type(line).__name__ for line in found] == ["BodyLine", "BodyLine", "QuestionLine"]
    assert found[0].data == b"\xff\x00no"
