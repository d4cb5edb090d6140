"""How long an answer takes to read, from bytes to verdict."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import msgspec

from contract.answers import read_search
from contract.memories import Memory
from contract.messages import Track
from contract.verdicts import Verdict
from tests.bench.figures import Figure
from tests.bench.samples import HEADERS, SEARCH, pictures_answer, text_answer

__all__ = ["reading_figures"]

ROUNDS = 9


class Answer(msgspec.Struct):
    """What msgspec decodes alone: types and nothing else, no duplicate keys, blanks, flags or depth."""

    data: tuple[Memory, ...]


def reading_figures() -> Iterator[Figure]:
    """Yield the figures of 100 memories of text and of 30 MiB of pictures."""
    body = text_answer()
    decoder = msgspec.json.Decoder(Answer)
    ours, bare = _alternately(lambda: _read(body, "textual"), lambda: decoder.decode(body), times=300)
    yield Figure("read_100_items_to_bare_decode", ours / bare, "×", 5.0, "hard")
    yield Figure("read_100_items", ours * 1e6, "µs", 150.0, "aim")
    pictures = pictures_answer()
    seconds, _ = _alternately(lambda: _read(pictures, "multimodal"), lambda: None, times=3)
    yield Figure("read_30_mib_of_pictures", len(pictures) / seconds / 1e6, "MB/s", 200.0, "aim", more_is_better=True)


def _read(body: bytes, track: Track) -> None:
    outcome = read_search(200, HEADERS, body, request=SEARCH, track=track)
    assert outcome.verdict is Verdict.OK
    assert not outcome.flags


def _alternately(one: Callable[[], object], other: Callable[[], object], *, times: int) -> tuple[float, float]:
    """Return seconds of processor time of each in its quickest round, since whatever else runs only adds to it."""
    measured: tuple[list[float], list[float]] = ([], [])
    for number in range(ROUNDS + 1):
        for what, spent in zip((one, other), measured, strict=True):
            began = time.process_time()
            for _ in range(times):
                what()
            if number:  # the first round warms up
                spent.append((time.process_time() - began) / times)
    return min(measured[0]), min(measured[1])
