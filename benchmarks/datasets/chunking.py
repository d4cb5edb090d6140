"""One source session becomes one Add, or several when it is too large for one.

Source: the wire contract, chunking of text tracks.
"""

from dataclasses import replace
from typing import Final

from benchmarks.datasets.model import Session, Turn
from benchmarks.datasets.words import MAX_WORDS, count_words, cut_message

__all__ = ["MAX_MESSAGES", "chunk_session"]

MAX_MESSAGES: Final = 20


def chunk_session(session: Session) -> list[tuple[Turn, ...]]:
    """Return the session's turns as chunks of at most 20 messages and 2,000 words (`words.v1`), in order.

    A chunk ends before the message that would make it exceed either limit. A turn above 2,000 words is cut into
    pieces first, which keep its role, timestamp and id and count as ordinary messages. A turn without text makes no
    message. The same session always gives the same chunks.
    """
    chunks: list[tuple[Turn, ...]] = []
    current: list[Turn] = []
    words = 0
    for message in _messages(session):
        size = count_words(message.content)
        if current and (len(current) == MAX_MESSAGES or words + size > MAX_WORDS):
            chunks.append(tuple(current))
            current, words = [], 0
        current.append(message)
        words += size
    if current:
        chunks.append(tuple(current))
    return chunks


def _messages(session: Session) -> list[Turn]:
    return [
        replace(turn, content=piece)
        for turn in session.turns
        for piece in cut_message(turn.content)
        if piece  # the wire contract allows no empty content
    ]
