"""The ids under which a run speaks to a memory system: readable in a smoke test, opaque in a formal run.

Source: the wire contract, ids.
"""

import re
from base64 import b32encode
from dataclasses import dataclass
from hashlib import blake2b
from urllib.parse import quote

__all__ = ["RunIds"]

_PLAIN = re.compile(r"[A-Za-z0-9_.-]{1,40}")


@dataclass(frozen=True, slots=True)
class RunIds:
    """Makes every id of one run. The same run, dataset and key always give the same ids.

    With `key` (at least 16 bytes) the dataset, scope and session become keyed hashes of 80 bits, so that a server
    can't recognise what it is asked; without one they can be read. `run` is written as it is.
    """

    run: str
    key: bytes | None = None

    def user_id(self, dataset: str, scope: str) -> str:
        """`eval:<run>:<dataset>:<scope>`."""
        return f"eval:{self.run}:{self._part(dataset)}:{self._part(dataset, scope)}"

    def session_id(self, dataset: str, scope: str, session: str) -> str:
        """The user's id with the session behind it."""
        return f"{self.user_id(dataset, scope)}:{self._part(dataset, scope, session)}"

    @staticmethod
    def request_id(session_id: str, number: int) -> str:
        """The id of a session's Add number `number`, counted from 1."""
        return f"{session_id}:chunk-{number}"

    def _part(self, *names: str) -> str:
        """A name as one part of an id: the last of `names`, told apart from the same name elsewhere when hashed."""
        name = names[-1]
        if self.key is not None:
            return _token("\x1f".join(names), self.key)
        if _PLAIN.fullmatch(name):
            return name
        return f"{quote(name, safe='')[:24]}-{_token(name, b'')[:8]}"


def _token(text: str, key: bytes) -> str:
    digest = blake2b(text.encode(), key=key[:64], digest_size=10, person=b"aml.ids.v1").digest()
    return b32encode(digest).decode().lower()
