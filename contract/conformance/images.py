"""Parts and images, on the multimodal track."""

from __future__ import annotations

from contract.conformance.findings import Finding, found, passed, skipped
from contract.conformance.pictures import data_uri, picture
from contract.conformance.probe import Probe
from contract.messages import ImagePart, ImageUrl, TextPart

__all__ = ["image_only_message", "image_only_query", "parts", "returned_parts"]

QUESTION = "What is the code on the picture of my locker?"


def _image(colour: tuple[int, int, int]) -> ImagePart:
    return ImagePart(ImageUrl(data_uri(picture(colour=colour))))


async def parts(probe: Probe) -> Finding:
    """A message of text, image and text is taken, and found by its text."""
    user, token = probe.user("parts"), probe.token()
    content = (TextPart("A picture of my locker:"), _image((30, 90, 200)), TextPart(f"the code on it is {token}."))
    (await probe.add(probe.request(user, content))).needed()
    called = (await probe.search(user, QUESTION)).needed()
    if not called.holds(token):
        return found("message_lost", called.sent, f"{called.came}, {token}: 0")
    return passed(called.sent, called.came)


async def image_only_message(probe: Probe) -> Finding:
    """A message that is nothing but an image is taken."""
    called = (await probe.add(probe.request(probe.user("image"), (_image((250, 200, 0)),)))).needed()
    return passed(called.sent, called.came)


async def image_only_query(probe: Probe) -> Finding:
    """A query that is nothing but an image is answered."""
    called = (await probe.search(probe.user("image"), (_image((250, 200, 0)),))).needed()
    return passed(called.sent, called.came)


async def returned_parts(probe: Probe) -> Finding:
    """Images in memories are whole and inline; memories of text alone are fine too."""
    for name, query in (("parts", QUESTION), ("image", "Which pictures are there?")):
        called = (await probe.search(probe.user(name), query)).needed()
        contents = [memory.content for memory in called.outcome.memories if not isinstance(memory.content, str)]
        images = sum(isinstance(part, ImagePart) for content in contents for part in content)
        if images:
            return passed(called.sent, f"{called.came}, image_url: {images}", images=images)
    return skipped("no_image_returned", called.sent, called.came)
