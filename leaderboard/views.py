"""Public pages of the boards: the choice, a board as it stands or stood, an entry, and the exports."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.cache import patch_cache_control, patch_vary_headers
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe
from django_htmx.middleware import HtmxDetails

from leaderboard import freshness
from leaderboard.boardpage import board_links, board_switches, read_board_query
from leaderboard.boardquery import BoardQuery
from leaderboard.entrypage import entry_context
from leaderboard.exports import BOM, board_csv, board_json
from leaderboard.models import Board, Snapshot
from leaderboard.selectors import (
    board_due,
    earlier_snapshots,
    find_board,
    find_entry,
    index_rows,
    latest_snapshot,
    public_cycles,
    snapshot_as_of,
    withdrawn_entries,
)
from leaderboard.table import build_table, column_choices
from submissions.refusals import Refusal

CONTENT_TYPES = {"csv": "text/csv; charset=utf-8", "json": "application/json"}


@require_safe
def index(request: HttpRequest) -> HttpResponse:
    """Choose a board: for one cycle, its tracks with both divisions and what stands on each."""
    cycles = public_cycles()
    chosen = next((cycle for cycle in cycles if cycle.slug == request.GET.get("cycle")), None)
    cycle = chosen or (cycles[0] if cycles else None)
    rows = index_rows(cycle) if cycle else []
    context = {
        "cycles": cycles,
        "cycle": cycle,
        "rows": rows,
        "is_waiting": any(cell.snapshot is None for row in rows for cell in row.cells),
        "due": board_due(cycle, timezone.now()) if cycle else None,
    }
    return render(request, "leaderboard/index.html", context)


@require_safe
def board(request: HttpRequest, cycle: str, track: str, division: str, number: int | None = None) -> HttpResponseBase:
    """A board as it stands, or with `number` as it stood; `as_of` in the query leads to the snapshot of that time."""
    shown = find_board(cycle=cycle, track=track, division=division)
    if shown is None:
        raise Http404
    if number is None and request.GET.get("as_of"):
        return _to_snapshot(shown, request.GET["as_of"])
    newest = latest_snapshot(shown)
    snapshot = newest if number is None else snapshot_as_of(shown, str(number))
    if snapshot is None:
        if number is not None:
            raise Http404
        return render(request, "leaderboard/board.html", _board_context(shown, None, None))
    return freshness.answer(
        request,
        etag=freshness.page_etag(request, snapshot.digest, newest.digest if newest else "", shown.cycle.name),
        modified=snapshot.created_at,
        make=lambda: _board_response(request, shown, snapshot, newest),
    )


@require_safe
def board_csv_file(
    request: HttpRequest, cycle: str, track: str, division: str, number: int | None = None
) -> HttpResponseBase:
    """The board for a spreadsheet."""
    snapshot = _required(cycle, track, division, number)
    return _download(request, snapshot, "csv", number, lambda: BOM + board_csv(snapshot))


@require_safe
def board_json_file(
    request: HttpRequest, cycle: str, track: str, division: str, number: int | None = None
) -> HttpResponseBase:
    """The board for a program, with the digest that proves it."""
    snapshot = _required(cycle, track, division, number)
    return _download(request, snapshot, "json", number, lambda: board_json(snapshot))


@require_safe
def entry(request: HttpRequest, entry_id: UUID) -> HttpResponse:
    """All that the public may read of one run; a tombstone when it was withdrawn."""
    shown = find_entry(entry_id)
    if shown is None:
        raise Http404
    return render(request, "leaderboard/entry.html", entry_context(shown))


def _to_snapshot(board: Board, as_of: str) -> HttpResponse:
    try:
        snapshot = snapshot_as_of(board, as_of)
    except Refusal as refusal:
        raise Http404(str(refusal.message)) from refusal
    if snapshot is None:
        raise Http404
    return HttpResponseRedirect(
        reverse("leaderboard:snapshot", args=[board.cycle.slug, board.track, board.division, snapshot.number])
    )


def _board_response(request: HttpRequest, board: Board, snapshot: Snapshot, newest: Snapshot | None) -> HttpResponse:
    query = read_board_query(request, snapshot)
    part = _board_part(board, snapshot, query)
    if _wants_part(request):
        response = HttpResponse(part)
        response["HX-Push-Url"] = f"{request.path}?{query.urlencode()}".rstrip("?")
    else:
        response = render(request, "leaderboard/board.html", _board_context(board, snapshot, newest, part))
    patch_vary_headers(response, ["Cookie", *freshness.HTMX_HEADERS])
    patch_cache_control(response, no_cache=True)
    if not query.search:
        freshness.offer(request, response)
    return response


def _wants_part(request: HttpRequest) -> bool:
    """Whether htmx asks for what it swaps; going back in its history it wants the whole page."""
    htmx: HtmxDetails | None = getattr(request, "htmx", None)
    return htmx is not None and bool(htmx) and not htmx.history_restore_request


def _board_context(board: Board, snapshot: Snapshot | None, newest: Snapshot | None, part: str = "") -> dict[str, Any]:
    return {
        "board": board,
        "snapshot": snapshot,
        "newest": newest,
        "is_newest": snapshot == newest,
        "part": part,
        "switches": board_switches(board),
        "links": board_links(board, snapshot, is_newest=snapshot == newest),
        "earlier": earlier_snapshots(board) if newest else [],
        "due": board_due(board.cycle, timezone.now()),
    }


def _board_part(board: Board, snapshot: Snapshot, query: BoardQuery) -> str:
    """The form and the table, which htmx swaps. Kept, unless somebody searches: searches are without number."""
    gone = withdrawn_entries(snapshot)
    parts = (snapshot.digest, get_language() or "", query.urlencode(), *sorted(gone))
    html = None if query.search else freshness.kept_html(parts)
    if html is None:
        context = {
            "board": board,
            "snapshot": snapshot,
            "query": query,
            "table": build_table(snapshot.payload, query, withdrawn_since=gone),
            "choices": column_choices(snapshot.payload, query),
        }
        html = render_to_string("leaderboard/board_part.html", context)
        if not query.search:
            freshness.keep_html(parts, html)
    return html


def _required(cycle: str, track: str, division: str, number: int | None) -> Snapshot:
    board = find_board(cycle=cycle, track=track, division=division)
    if board is None:
        raise Http404
    snapshot = latest_snapshot(board) if number is None else snapshot_as_of(board, str(number))
    if snapshot is None:
        raise Http404(_("This board has not been published yet."))
    return snapshot


def _download(
    request: HttpRequest, snapshot: Snapshot, form: str, number: int | None, text: Callable[[], str]
) -> HttpResponseBase:
    def make() -> HttpResponse:
        response = HttpResponse(text(), content_type=CONTENT_TYPES[form])
        name = "-".join(snapshot.payload[part] for part in ("cycle", "track", "division"))
        response["Content-Disposition"] = f'attachment; filename="{name}-{snapshot.number}.{form}"'
        if number is None:
            patch_cache_control(response, public=True, no_cache=True)
        else:  # a snapshot never changes
            patch_cache_control(response, public=True, max_age=365 * 24 * 3600, immutable=True)
        return response

    etag = freshness.snapshot_etag(snapshot, form)
    return freshness.answer(request, etag=etag, modified=snapshot.created_at, make=make)
