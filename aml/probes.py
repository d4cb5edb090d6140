"""Answers the probes of load balancers and supervisors.

They call a process by its own address and over plain http, so they are answered before the checks of host and scheme
that hold for people.
"""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

from aml.pages.machines import healthz, readyz

PROBES: dict[str, Callable[[HttpRequest], HttpResponse]] = {"/healthz": healthz, "/readyz": readyz}


def answer_probes(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Middleware that comes first: `/healthz` and `/readyz` need no host name and no https."""

    def middleware(request: HttpRequest) -> HttpResponse:
        probe = PROBES.get(request.path_info)
        return probe(request) if probe else get_response(request)

    return middleware
