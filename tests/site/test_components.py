"""The parts that pages are made of."""

import pytest
from django import forms
from django.core.paginator import Paginator
from django.template import engines
from django.test import RequestFactory

from aml.icons import ICONS, KINDS, SHAPES, STATE_KINDS
from evaluation.models import Item, Job, PublicationReview, Release
from submissions.models import AccessRequest, Cycle, Version
from tests.site.markup import Page


def draw(source: str, **context) -> Page:
    request = RequestFactory().get("/en/?q=a&page=2")
    return Page("<body>" + engines["django"].from_string(source).render(context, request) + "</body>")


class Form(forms.Form):
    name = forms.CharField(label="Name", help_text="As on the paper.")
    kind = forms.ChoiceField(label="Kind", choices=[("a", "A"), ("b", "B")], widget=forms.RadioSelect)
    agreed = forms.BooleanField(label="I agree")
    note = forms.CharField(label="Note", required=False, widget=forms.Textarea)


def test_a_bar_is_as_long_as_its_value_and_never_longer_than_its_track():
    page = draw("{% bar 0.6142 0.58 0.64 %}{% bar 1.7 %}{% bar None %}")
    assert [rect["width"] for rect in page.all("rect", **{"class": "bar-fill"})] == ["61.42", "100"]
    assert page.all("path", **{"class": "bar-whisker"})[0]["d"].startswith("M58 3H64")


def test_a_score_shows_number_and_interval():
    assert draw("{% score_cell 0.6142 0.58 0.64 %}").text() == "61.4258.00–64.00"
    assert draw("{% score_cell None %}").text() == "–"


def test_a_rank_tells_a_range_and_a_tie():
    assert draw("{% rank_cell 3 %}").text() == "3"
    assert draw("{% rank_cell 3 5 %}").text() == "3–5"
    assert draw("{% rank_cell 3 shared=True %}").text() == "3 shared"


@pytest.mark.parametrize(
    "states",
    [
        Job.State, PublicationReview.State, AccessRequest.State, Version.State, Cycle.State, Release.State, Item.State,
    ],
)  # fmt: skip
def test_every_state_has_a_shape_of_its_own_choice(states):
    assert set(states.values) <= set(STATE_KINDS)


def test_a_status_is_a_word_and_a_shape():
    page = draw('{% status "failed" word %}', word="Failed <b>")
    assert page.text() == "Failed <b>"
    assert page.all("span")[0]["class"] == "status status-bad"
    assert set(KINDS) == set(SHAPES)


def test_icons_are_hidden_from_readers_of_the_screen():
    for name in ICONS:
        assert draw("{% icon name %}", name=name).all("svg")[0]["aria-hidden"] == "true"


def test_fields_tie_label_hint_and_error_to_the_control():
    form = Form({"kind": "c"})
    page = draw("<form>{{ form }}</form>", form=form)
    control = page.all("input", name="name")[0]
    assert control["aria-invalid"] == "true"
    assert control["aria-describedby"].split() == ["id_name_helptext", "id_name_error"]
    assert {"id_name_helptext", "id_name_error", "id_kind_group"} <= set(page.ids())
    assert page.all("legend")[0]["text"] == "Kind"
    assert "Note optional" in [label["text"] for label in page.all("label")]


def test_the_summary_of_errors_leads_to_each_field():
    page = draw('{% include "components/error_summary.html" %}', form=Form({"kind": "c"}))
    assert page.all("h2")[0]["text"] == "3 things need a correction"
    assert [link["href"] for link in page.all("a")] == ["#id_name", "#id_kind_group", "#id_agreed"]
    assert not draw('{% include "components/error_summary.html" %}', form=Form()).elements[1:]


def test_progress_says_in_words_what_the_bar_shows():
    page = draw('{% include "components/progress.html" with label="Retrieval" done=1200 total=1986 %}')
    assert page.all("progress")[0] | {"text": ""} == {
        "aria-label": "Retrieval", "max": "1986", "value": "1200", "text": "",
    }  # fmt: skip
    assert "1,200 of 1,986" in page.text()


def test_stages_mark_the_one_at_work():
    stages = [
        {"title": "Ingestion", "state": "succeeded", "word": "done", "done": 5, "total": 5},
        {"title": "Retrieval", "state": "running", "word": "running", "done": 1, "total": 9, "is_current": True},
    ]
    page = draw('{% include "components/stage_list.html" %}', stages=stages)
    assert [item["text"].split()[0] for item in page.all("li", aria_current="step")] == ["Retrieval"]


def test_code_is_shown_as_it_is():
    page = draw('{% code_sample text name="s" language="json" %}', text='<script>"&"</script>')
    assert page.all("code")[0]["text"] == '<script>"&"</script>'
    assert not page.all("script")


def test_pages_of_a_list_keep_the_query():
    page = Paginator(range(100), 10).page(2)
    drawn = draw('{% include "components/pagination.html" %}', page=page)
    assert {link["rel"]: link["href"] for link in drawn.all("a")} == {"prev": "?q=a&page=1", "next": "?q=a&page=3"}
    assert "11 to 20 of 100" in drawn.text()
    assert not draw('{% include "components/pagination.html" %}', page=Paginator([1], 10).page(1)).elements[1:]


def test_frames_take_their_content_as_it_is_and_their_titles_escaped():
    page = draw(
        "{% callout title=t kind='warn' %}<p>x</p>{% endcallout %}{% disclosure summary=t %}y{% enddisclosure %}",
        t="<i>",
    )
    assert page.all("p")[1]["text"] == "x"
    assert page.all("summary")[0]["text"] == "<i>"
    assert not page.all("i")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("2026-10-31T15:59:00Z", "31 October 2026, 23:59 (UTC+8)"),
        ("2026-10-31", "31 October 2026"),
        (None, "–"),
        ("x", "–"),
    ],
)
def test_moments_come_from_objects_and_from_json(value, text):
    assert draw("{{ value|moment }}", value=value).text() == text


def test_a_figure_that_is_not_there_is_a_dash():
    assert draw("{{ missing|count }} {{ none|score }} {{ missing.deeper|duration }}", none=None).text() == "– – –"
    assert draw("{{ value|score:1 }}", value=0.61425).text() == "61.4"
