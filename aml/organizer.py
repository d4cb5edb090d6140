"""The organizers' admin site: its index is the queue of what waits for a decision."""

from typing import Any

from django.conf import settings
from django.contrib import admin
from django.contrib.admin.forms import AdminAuthenticationForm
from django.contrib.auth import REDIRECT_FIELD_NAME
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.utils.translation import gettext_lazy as _
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters

from aml.workqueue import waiting_work
from submissions.refusals import Refusal
from submissions.throttle import LOGIN_ATTEMPTS, LOGIN_FAILURES, client_address, count_hit, is_exhausted


class OrganizerSite(admin.AdminSite):
    """Django's admin with a queue for an index and a login that can't be tried without end."""

    site_title = _("Agent Memory Leaderboard")
    site_header = _("Agent Memory Leaderboard")
    index_title = _("Organizers' desk")
    empty_value_display = "–"

    def register(self, model_or_iterable: Any, admin_class: Any = None, **options: Any) -> None:
        """Leave the task queue's tables out: a schedule that somebody writes there would run as code."""
        models = model_or_iterable if isinstance(model_or_iterable, list | tuple) else [model_or_iterable]
        ours = [model for model in models if model._meta.app_label != "django_q"]
        super().register(ours, admin_class, **options)

    def index(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> TemplateResponse:
        at = timezone.now()
        work = [(item, item.age_s(at)) for item in waiting_work(request.user, at)]
        context = {"work": work, "private_targets": settings.AML_ALLOWED_PRIVATE_TARGETS, **(extra_context or {})}
        return super().index(request, context)

    @method_decorator([sensitive_post_parameters("password"), never_cache])
    def login(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Sign in; beyond so many tries from an address, or failures of a name from there, only time helps."""
        if request.method != "POST":
            return super().login(request, extra_context)
        at, address = timezone.now(), client_address(request)
        subject = f"{request.POST.get('username', '').strip().casefold()[:150]}|{address}"
        try:
            count_hit(LOGIN_ATTEMPTS, address, at=at)
            if is_exhausted(LOGIN_FAILURES, subject, at=at):
                count_hit(LOGIN_FAILURES, subject, at=at)
        except Refusal as refusal:
            return self._throttled(request, refusal)
        response = super().login(request, extra_context)
        if response.status_code == 200:  # the form again, with its errors
            _count_failure(subject)
        return response

    def _throttled(self, request: HttpRequest, refusal: Refusal) -> TemplateResponse:
        context = {
            **self.each_context(request),
            "title": _("Log in"),
            "subtitle": None,
            "app_path": request.get_full_path(),
            "username": request.user.get_username(),
            "form": AdminAuthenticationForm(request),
            REDIRECT_FIELD_NAME: request.POST.get(REDIRECT_FIELD_NAME, ""),
            "throttled": refusal.message,
        }
        response = TemplateResponse(request, "admin/login.html", context, status=refusal.status)
        response["Retry-After"] = str(refusal.retry_after_s)
        return response


def _count_failure(subject: str) -> None:
    try:
        count_hit(LOGIN_FAILURES, subject, at=timezone.now())
    except Refusal:
        return  # counted by another try at the same moment; the next one is told
