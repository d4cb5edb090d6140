"""The reviewer's pages in the admin of runs: the questions of a run, and each of them on a page of its own."""

from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils.translation import gettext as _

from evaluation.models import Item, Job
from evaluation.questionpage import PAGE, open_question, questions_after


class QuestionPages(admin.ModelAdmin):
    """Adds a list of questions and a page for each to the admin of jobs; who may view the job may read them."""

    def get_urls(self) -> list[URLPattern]:
        wrap = self.admin_site.admin_view
        return [
            path("<uuid:job_id>/questions/", wrap(self.questions_view), name="evaluation_job_questions"),
            path("<uuid:job_id>/questions/<int:item_id>/", wrap(self.question_view), name="evaluation_job_question"),
            *super().get_urls(),
        ]

    def questions_view(self, request: HttpRequest, job_id: Any) -> HttpResponse:
        """The questions of a run in their order, fifty on a page."""
        job = self._job(request, job_id)
        after = request.GET.get("after", "0")
        state, key = request.GET.get("state", ""), request.GET.get("q", "").strip()[:200]
        items = questions_after(job, after=int(after) if after.isdecimal() else 0, state=state, key=key)
        context = {
            "title": _("Questions"),
            "items": items[:PAGE],
            "next": items[PAGE - 1].pk if len(items) > PAGE else None,
            "states": Item.State.choices,
            "state": state,
            "key": key,
        }
        return self._page(request, "evaluation/admin/questions.html", job, context)

    def question_view(self, request: HttpRequest, job_id: Any, item_id: int) -> HttpResponse:
        """One question with its receipts, memories, prompts, answer and votes."""
        job = self._job(request, job_id)
        page = open_question(job, item_id)
        if page is None:
            raise Http404
        context = {"title": page.item.question_key, "page": page, "item": page.item}
        return self._page(request, "evaluation/admin/question.html", job, context)

    def _job(self, request: HttpRequest, job_id: Any) -> Job:
        job = get_object_or_404(Job.objects.select_related("release", "version__system"), pk=job_id)
        if not self.has_view_permission(request, job):
            raise PermissionDenied
        return job

    def _page(self, request: HttpRequest, template: str, job: Job, context: dict[str, Any]) -> HttpResponse:
        site = self.admin_site.each_context(request)
        return TemplateResponse(request, template, {**site, "opts": self.opts, "job": job, **context})
