"""The answers that are measured: 100 memories of text, and 30 MiB of pictures."""

from __future__ import annotations

import json
import random

from contract.media import data_uri
from contract.messages import SearchRequest

__all__ = ["HEADERS", "SEARCH", "pictures_answer", "text_answer"]

HEADERS = {"content-type": "application/json"}
SEARCH = SearchRequest(query="When did Caroline go to the support group?", user_id="eval:run:locomo:7f3a", top_k=100)
_TEXT = "[2023-05-08 13:56] Caroline: I went to the support group number %d yesterday, and it was powerful. "
_JPEG = bytes.fromhex("ffd8ffe000104a46494600010100000100010000ffc0001108040004000301220002110103110100")


def text_answer(items: int = 100) -> bytes:
    """Return an answer of `items` memories of some 200 characters, each with score and date."""
    data = [
        {
            "id": f"mem_{at:04d}",
            "content": (_TEXT % at) * 2,
            "score": round(0.99 - at * 0.005, 4),
            "created_at": "2023-05-08T13:56:00+00:00",
        }
        for at in range(items)
    ]
    return json.dumps({"data": data}).encode()


def pictures_answer(pictures: int = 30, each_bytes: int = 1024 * 1024) -> bytes:
    """Return an answer of `pictures` memories, a sentence and a JPEG of `each_bytes` in each."""
    noise = random.Random(3)
    items = []
    for at in range(pictures):
        picture = _JPEG + noise.randbytes(each_bytes - len(_JPEG))
        content = [
            {"type": "text", "text": f"Picture {at}"},
            {"type": "image_url", "image_url": {"url": data_uri("image/jpeg", picture)}},
        ]
        items.append({"id": f"mem_{at}", "content": content, "score": 1 - at / 100})
    return json.dumps({"data": items}).encode()
