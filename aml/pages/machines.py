"""What machines ask a site for: whether it is well, and where crawlers may go."""

from django.conf import settings
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.db.utils import DatabaseError
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import reverse
from django.utils import translation
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

_PAGES = ("site:home", "leaderboard:index", "site:guide", "site:documentation", "site:api_guide", "benchmarks:index")


@never_cache
@require_safe
def healthz(request: HttpRequest) -> JsonResponse:
    """The process answers. Asks nothing of the database, so that a slow one does not get web servers restarted."""
    return JsonResponse({"status": "ok"})


@never_cache
@require_safe
def readyz(request: HttpRequest) -> JsonResponse:
    """Whether the site can serve: the database answers and has all migrations. 503 when not."""
    try:
        executor = MigrationExecutor(connection)
        waiting = len(executor.migration_plan(executor.loader.graph.leaf_nodes()))
    except DatabaseError:
        return JsonResponse({"status": "not ready", "database": False}, status=503)
    ready = waiting == 0
    body = {"status": "ready" if ready else "not ready", "database": True, "migrations_waiting": waiting}
    return JsonResponse(body, status=200 if ready else 503)


@require_safe
def robots(request: HttpRequest) -> HttpResponse:
    """Everything public may be read; what belongs to a team or to organizers is not for crawlers."""
    closed = [f"Disallow: /*/{part}/" for part in (settings.AML_ADMIN_PATH, "evaluation", "request-access")]
    lines = ["User-agent: *", *closed, "Disallow: /api/", f"Sitemap: {settings.AML_SITE_URL}/sitemap.xml", ""]
    return HttpResponse("\n".join(lines), content_type="text/plain; charset=utf-8")


@require_safe
def sitemap(request: HttpRequest) -> HttpResponse:
    """The public pages in each language."""
    addresses = []
    for language, _name in settings.LANGUAGES:
        with translation.override(language):
            addresses += [f"<url><loc>{settings.AML_SITE_URL}{reverse(page)}</loc></url>" for page in _PAGES]
    body = '<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{}</urlset>'
    return HttpResponse(body.format("".join(addresses)), content_type="application/xml")
