"""What every page's frame needs."""

from typing import Any

from django.conf import settings
from django.http import HttpRequest

THEMES = ("light", "dark")


def site(request: HttpRequest) -> dict[str, Any]:
    """`theme` is light, dark, or auto when the reader has not chosen; `site_url` stands before absolute addresses."""
    chosen = request.COOKIES.get("theme")
    return {"theme": chosen if chosen in THEMES else "auto", "site_url": settings.AML_SITE_URL}
