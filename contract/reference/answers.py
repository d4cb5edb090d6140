"""Keeps an answer within what the contract lets a server return."""

from __future__ import annotations

import msgspec

from contract.answers import MAX_BODY_BYTES
from contract.media import MAX_IMAGES_BYTES, decoded_size
from contract.memories import Memory
from contract.messages import ImagePart

__all__ = ["encode_memories"]

_FRAME = len(b'{"data":[]}')


def encode_memories(memories: list[Memory]) -> bytes:
    """Return the body of a Search answer. Memories are left off at the end where a limit would be passed, since a
    shorter list is a good answer and a larger body is none."""
    pieces: list[bytes] = []
    size, images = _FRAME, 0
    for memory in memories:
        piece = msgspec.json.encode(memory)
        size += len(piece) + 1
        images += _image_bytes(memory)
        limit = MAX_BODY_BYTES["multimodal" if images else "textual"]
        if size > limit or images > MAX_IMAGES_BYTES:
            break
        pieces.append(piece)
    return b'{"data":[' + b",".join(pieces) + b"]}"


def _image_bytes(memory: Memory) -> int:
    if isinstance(memory.content, str):
        return 0
    return sum(decoded_size(part.image_url.url) for part in memory.content if isinstance(part, ImagePart))
