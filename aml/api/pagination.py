"""Lists in pages: a cursor that stays right while rows are added."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from rest_framework.exceptions import NotFound
from rest_framework.pagination import CursorPagination
from rest_framework.request import Request

if TYPE_CHECKING:
    from rest_framework.views import APIView  # imports this module by way of the settings


class CursorPages(CursorPagination):
    """`{"next", "previous", "results"}`, newest first; `page_size` up to 200. A view may set its own `ordering`."""

    page_size = 50
    page_size_query_param = "page_size"
    max_page_size = 200
    ordering = "-created_at"

    def paginate_queryset(self, queryset: Any, request: Request, view: APIView | None = None) -> Any:
        """The page's rows. A cursor whose position is no value of the ordering's field is not found, like any other."""
        try:
            return super().paginate_queryset(queryset, request, view)
        except (ValueError, ValidationError) as error:
            raise NotFound(self.invalid_cursor_message) from error

    def get_page_size(self, request: Request) -> int | None:
        """`limit`, which many APIs call it, is understood as `page_size`."""
        if "page_size" not in request.query_params and "limit" in request.query_params:
            self.page_size_query_param = "limit"
        return super().get_page_size(request)

    def get_ordering(self, request: Request, queryset: QuerySet[Any], view: APIView) -> tuple[str, ...]:
        ordering = getattr(view, "ordering", None) or self.ordering
        return (ordering,) if isinstance(ordering, str) else tuple(ordering)
