"""Public pages out of memory: a page that anybody may read is made once and handed out until something is published.

It stands in front of Django, where an answer costs microseconds instead of milliseconds. A view offers a page by
`leaderboard.freshness.offer`; only requests without a cookie, a credential, a condition or a part's header are served,
so that nobody is given what was made for somebody else. A copy is good while the mark of the last publication stands,
and for `GOOD_FOR_S` at most: what another machine publishes is seen that much later, what this one does at once.
Such answers are neither counted nor logged.
"""

import time
import uuid
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from threading import Lock
from typing import Any, Final

from leaderboard.freshness import MAY_BE_KEPT, OFFERED, publication_stamp

__all__ = ["PageCache"]

GOOD_FOR_S: Final = 2.0
MOST_BYTES: Final = 64 * 1024 * 1024
MOST_OF_A_PAGE: Final = 4 * 1024 * 1024
_OF_ONE_REQUEST: Final = frozenset({"x-request-id", "date", OFFERED.lower()})
_TELLS_REQUESTS_APART: Final = (
    "wsgi.url_scheme", "HTTP_HOST", "HTTP_X_FORWARDED_HOST", "HTTP_X_FORWARDED_PROTO", "HTTP_X_FORWARDED_PORT",
    "SERVER_PORT", "SCRIPT_NAME", "PATH_INFO", "QUERY_STRING", "HTTP_ACCEPT_LANGUAGE",
)  # fmt: skip
_IS_FOR_ONE_READER: Final = (
    "HTTP_COOKIE", "HTTP_AUTHORIZATION", "HTTP_IF_NONE_MATCH", "HTTP_IF_MODIFIED_SINCE", "HTTP_RANGE",
    "HTTP_HX_REQUEST", "HTTP_HX_HISTORY_RESTORE_REQUEST",
)  # fmt: skip

Environ = dict[str, Any]
StartResponse = Callable[..., Any]
Application = Callable[[Environ, StartResponse], Iterable[bytes]]
Headers = list[tuple[str, str]]
Key = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Page:
    headers: Headers
    body: bytes
    stamp: int
    until: float


class PageCache:
    """A WSGI application around another one. `clock` gives seconds that only run forward."""

    def __init__(self, application: Application, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._application = application
        self._clock = clock
        self._pages: OrderedDict[Key, _Page] = OrderedDict()
        self._bytes = 0
        self._lock = Lock()

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        key = _key(environ)
        if key is None:
            return self._application(environ, start_response)
        stamp = publication_stamp()
        page = self._pages.get(key)
        if page is None or page.stamp != stamp or page.until < self._clock():
            return self._make(key, stamp, environ, start_response)
        start_response("200 OK", [*page.headers, ("X-Request-ID", uuid.uuid4().hex)])
        return [page.body]

    def _make(self, key: Key, stamp: int, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        """Have the page made, and keep it where it is offered. `stamp` is of before, so no publication is missed."""
        answered: list[tuple[str, Headers]] = []

        def start(status: str, headers: Headers, *rest: Any) -> Any:
            answered.append((status, headers))
            return start_response(status, [pair for pair in headers if pair[0].lower() != OFFERED.lower()], *rest)

        body = self._application({**environ, MAY_BE_KEPT: True}, start)
        status, headers = answered[-1] if answered else ("", [])
        if status != "200 OK" or not _is_offered(headers):
            return body
        whole = b"".join(body)
        if close := getattr(body, "close", None):
            close()
        lasting = [pair for pair in headers if pair[0].lower() not in _OF_ONE_REQUEST]
        self._keep(key, _Page(lasting, whole, stamp, self._clock() + GOOD_FOR_S))
        return [whole]

    def _keep(self, key: Key, page: _Page) -> None:
        if len(page.body) > MOST_OF_A_PAGE:
            return
        with self._lock:
            old = self._pages.pop(key, None)
            self._bytes += len(page.body) - (len(old.body) if old else 0)
            self._pages[key] = page
            while self._bytes > MOST_BYTES:
                _, gone = self._pages.popitem(last=False)
                self._bytes -= len(gone.body)


def _key(environ: Environ) -> Key | None:
    """What tells pages apart; None for a request that is answered by itself."""
    if environ.get("REQUEST_METHOD") != "GET" or any(environ.get(name) for name in _IS_FOR_ONE_READER):
        return None
    return tuple(str(environ.get(name, "")) for name in _TELLS_REQUESTS_APART)


def _is_offered(headers: Headers) -> bool:
    names = {name.lower() for name, _ in headers}
    return OFFERED.lower() in names and "set-cookie" not in names
