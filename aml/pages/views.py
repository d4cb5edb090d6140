"""The site's own pages."""

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST, require_safe

from aml.context_processors import THEMES

_YEAR_S = 365 * 24 * 3600


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    return render(request, "site/home.html")


# Exempt, so that public pages carry no token and can be cached; the worst that another site could do is change colours.
@csrf_exempt
@require_POST
def choose_theme(request: HttpRequest) -> HttpResponse:
    """Remember light, dark or auto in a cookie and go back to the page."""
    target = request.POST.get("next", "")
    if not url_has_allowed_host_and_scheme(target, {request.get_host()}, require_https=request.is_secure()):
        target = reverse("site:home")
    response = HttpResponseRedirect(target)
    if (theme := request.POST.get("theme")) in THEMES:
        response.set_cookie("theme", theme, max_age=_YEAR_S, samesite="Lax", secure=request.is_secure(), httponly=True)
    else:
        response.delete_cookie("theme", samesite="Lax")
    return response
