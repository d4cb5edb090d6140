"""Whether a reader's copy of a page, and our own rendered board, still stand."""

import uuid
from calendar import timegm
from collections.abc import Callable
from datetime import datetime
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TypeVar

from django.conf import settings
from django.core.cache import cache as store
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.cache import get_conditional_response
from django.utils.http import http_date
from django.utils.translation import get_language

from leaderboard.models import Snapshot

KEPT_S = 24 * 3600
HTMX_HEADERS = ("HX-Request", "HX-History-Restore-Request")
"""Request headers that decide between a page and a part of it."""


MAY_BE_KEPT = "aml.may_be_kept"
"""Set in the environ of a request whose page may be given to anybody else who asks the same."""
OFFERED = "X-Offered-To-All"
"""Header by which a view offers its page; it leads to whoever keeps pages and no further."""

Answer = TypeVar("Answer", bound=HttpResponseBase)


def offer(request: HttpRequest, response: HttpResponseBase) -> None:
    """Let the page be handed out again until something is published, where the request allows it."""
    if request.META.get(MAY_BE_KEPT) and not settings.DEBUG:
        response.headers[OFFERED] = "1"


def mark_publication() -> None:
    """Have every page made anew that was kept on this machine."""
    mark = _publication_mark()
    mark.parent.mkdir(parents=True, exist_ok=True)
    mark.write_text(uuid.uuid4().hex)


def publication_stamp() -> int:
    """A number that changes with each publication on this machine; 0 before the first."""
    try:
        found = _publication_mark().stat()
    except OSError:
        return 0
    return hash((found.st_mtime_ns, found.st_ino))


def _publication_mark() -> Path:
    return Path(settings.VAR_DIR) / "published"


def answer(
    request: HttpRequest, *, etag: str, modified: datetime | None, make: Callable[[], Answer]
) -> Answer | HttpResponseBase:
    """304 where the reader's copy still stands, else what `make` makes; both carry ETag and Last-Modified.

    While developing, pages are always made anew.
    """
    stamp = timegm(modified.utctimetuple()) if modified else None
    kept = None if settings.DEBUG else get_conditional_response(request, etag=etag, last_modified=stamp)
    response = kept or make()
    response["ETag"] = etag
    if stamp is not None:
        response["Last-Modified"] = http_date(stamp)
    return response


def page_etag(request: HttpRequest, *parts: str) -> str:
    """An ETag for a page that depends on `parts`. Its frame depends on cookies, so they are part of it."""
    headers = (request.headers.get(name, "") for name in ("Cookie", *HTMX_HEADERS))
    return f'"{_digest((*parts, request.get_full_path(), *headers, get_language() or "", build_fingerprint()))}"'


def snapshot_etag(snapshot: Snapshot, form: str) -> str:
    """An ETag for the snapshot itself in one form, such as csv."""
    return f'"{_digest((snapshot.digest, form))}"'


def kept_html(parts: tuple[str, ...]) -> str | None:
    """A rendered piece that was kept under `parts`."""
    return None if settings.DEBUG else store.get(_key(parts))


def keep_html(parts: tuple[str, ...], html: str) -> None:
    """Keep a rendered piece. `parts` begin with the snapshot's digest, so a publication makes new ones by itself."""
    if not settings.DEBUG:
        store.set(_key(parts), html, KEPT_S)


@cache
def build_fingerprint() -> str:
    """SHA-256 over templates, catalogues and styles: an update of the site makes every copy stale."""
    digest = sha256()
    for folder, pattern in (("templates", "*.html"), ("locale", "*.mo"), ("static", "*.*")):
        for file in sorted((settings.BASE_DIR / folder).rglob(pattern)):
            digest.update(f"{file.name} {file.stat().st_size}\n".encode() + file.read_bytes())
    return digest.hexdigest()


def _key(parts: tuple[str, ...]) -> str:
    return "board:" + _digest((*parts, build_fingerprint()))


def _digest(parts: tuple[str, ...]) -> str:
    return sha256("\x00".join(parts).encode()).hexdigest()[:40]
