"""The honest memory that the faults stand around: it keeps the contract when no fault is chosen."""

from __future__ import annotations

import asyncio
import hmac

import msgspec

from contract.auth import AuthScheme, auth_header
from contract.faulty.visits import Answer, Request, Visit, refusal
from contract.messages import AddRequest, SearchRequest
from contract.reference.store import Conflict, MemoryStore

__all__ = ["HonestMemory", "read_message", "stored"]


def stored(message: AddRequest) -> Answer:
    """Return the answer that the contract wants for an Add."""
    echo = {"request_id": message.request_id, "user_id": message.user_id, "session_id": message.session_id}
    return Answer(200, {"success": True, **echo})


def read_message(request: Request) -> AddRequest | SearchRequest | Answer:
    """Return what the body says, or the refusal that it deserves."""
    kind: type[AddRequest] | type[SearchRequest] = AddRequest if request.endpoint == "add" else SearchRequest
    try:
        return msgspec.json.decode(request.body, type=kind)
    except msgspec.ValidationError as error:
        return refusal(422, "invalid_request", str(error))
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return refusal(400, "invalid_json", "The body is not one JSON document in UTF-8.")


class HonestMemory:
    """The reference store behind the endpoints, for those who hold the key."""

    def __init__(self, auth: AuthScheme, key: str) -> None:
        self.store = MemoryStore()
        self._header = auth_header(auth, key)

    def knows(self, request: Request) -> bool:
        """Tell whether the request carries the right key, or none is wanted."""
        if self._header is None:
            return True
        name, value = self._header
        return hmac.compare_digest(request.headers.get(name.lower(), "").encode(), value.encode())

    async def answer(self, visit: Visit) -> Answer:
        """Answer as the contract says, on what the faults made of the request."""
        request = visit.request
        if request.endpoint == "health":
            return Answer(200, {"status": "ok"})
        if request.endpoint not in ("add", "search"):
            return refusal(404, "not_found", "POST /add, POST /search, GET /health")
        if request.method != "POST":
            return refusal(405, "method_not_allowed", "Use POST.")
        if not visit.authorized:
            return refusal(401, "auth_failed", "Send the right key.")
        if visit.message is None or visit.sent is None:
            read = read_message(request)
            return read if isinstance(read, Answer) else refusal(422, "invalid_request", "")
        return await self._serve(visit.message, visit.sent)

    async def _serve(self, message: AddRequest | SearchRequest, sent: AddRequest | SearchRequest) -> Answer:
        if isinstance(message, SearchRequest):
            return Answer(200, {"data": msgspec.to_builtins(await asyncio.to_thread(self.store.search, message))})
        try:
            await asyncio.to_thread(self.store.add, message)
        except Conflict:
            return refusal(409, "conflict", "This request_id was stored with another body.")
        assert isinstance(sent, AddRequest)
        return stored(sent)
