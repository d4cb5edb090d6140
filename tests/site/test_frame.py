"""What surrounds every page: the other language, the choice of colours, and the pages for what goes wrong."""

import pytest
from django.contrib.messages import get_messages
from django.http import HttpRequest
from django.template import engines
from django.test import Client, RequestFactory
from django.views.defaults import bad_request, permission_denied, server_error

from aml import nav
from aml.templatetags.look import in_language
from tests.site.markup import Page, read_page

pytestmark = pytest.mark.django_db


def test_the_language_switch_keeps_the_page_and_its_query(client):
    (link,) = read_page(client.get("/en/guide/?a=1&b=%E4%BA%8C")).all("a", lang="zh-Hans")
    assert link["href"] == "/zh-hans/guide/?a=1&b=%E4%BA%8C"
    (back,) = read_page(client.get(link["href"])).all("a", lang="en")
    assert back["href"] == "/en/guide/?a=1&b=%E4%BA%8C"


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("/en/", "/zh-hans/"),
        ("/zh-hans/?q=1", "/zh-hans/?q=1"),
        ("/en/no/such/page/", "/zh-hans/no/such/page/"),
        ("/healthz", "/zh-hans/"),
        ("//evil.example/en/", "/zh-hans/"),
        ("/en//evil.example/", "/zh-hans//evil.example/"),
    ],
)
def test_an_address_in_another_language_stays_on_this_site(address, expected):
    request = HttpRequest()
    request.path = address.partition("?")[0]
    request.META["QUERY_STRING"] = address.partition("?")[2]
    assert in_language(request, "zh-hans") == expected


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_chosen_theme_is_kept_and_comes_back_to_the_page(client, theme):
    response = client.post("/en/theme/", {"theme": theme, "next": "/en/guide/?a=1"})
    assert (response.status_code, response.headers["Location"]) == (302, "/en/guide/?a=1")
    cookie = response.cookies["theme"]
    assert (cookie.value, cookie["samesite"], cookie["httponly"]) == (theme, "Lax", True)
    page = read_page(client.get("/en/guide/"))
    assert page.all("html")[0]["data-theme"] == theme
    assert {button["value"] for button in page.all("button", aria_pressed="true")} == {theme}


def test_automatic_colours_forget_the_choice(client):
    client.post("/en/theme/", {"theme": "dark"})
    client.post("/en/theme/", {"theme": "auto"})
    assert "data-theme" not in read_page(client.get("/en/")).all("html")[0]


@pytest.mark.parametrize("theme", ['dark"><script>', "", "blue"])
def test_a_theme_that_is_none_changes_nothing(client, theme):
    client.cookies["theme"] = theme
    assert "data-theme" not in read_page(client.get("/en/")).all("html")[0]
    assert client.post("/en/theme/", {"theme": theme}).cookies["theme"].value == ""


@pytest.mark.parametrize("target", ["https://evil.example/", "//evil.example/", "javascript:alert(1)", ""])
def test_the_choice_of_colours_never_leads_off_the_site(client, target):
    assert client.post("/zh-hans/theme/", {"theme": "dark", "next": target}).headers["Location"] == "/zh-hans/"


def test_the_choice_of_colours_needs_no_token():
    assert Client(enforce_csrf_checks=True).post("/en/theme/", {"theme": "dark"}).status_code == 302


def test_the_head_leads_to_every_room_and_marks_where_the_reader_is(client):
    links = read_page(client.get("/en/guide/")).all("a")
    hrefs = [link["href"] for link in links]
    for place in nav.PLACES:
        assert {link["url"].replace("/zh-hans/", "/en/") for link in nav.links(place)} <= set(hrefs)
    marked = [link["href"] for link in links if "aria-current" in link]
    assert set(marked) == {"/en/guide/"}


def test_the_menu_works_without_scripts(client):
    page = read_page(client.get("/en/"))
    assert len(page.all("details", **{"class": "menu menu-narrow"})) == 1
    assert page.all("a", **{"class": "skip"})[0]["href"] == "#content"
    assert page.all("main")[0]["id"] == "content"


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_an_address_without_a_page_gets_one_that_leads_on(client, language):
    response = client.get(f"/{language}/no/such/page/")
    page = read_page(response)
    assert response.status_code == 404
    assert len(page.all("h1")) == 1
    assert f"/{language}/guide/" in [link["href"] for link in page.all("a")]


@pytest.mark.parametrize(
    ("view", "status"),
    [
        (lambda request: server_error(request), 500),
        (lambda request: permission_denied(request, PermissionError()), 403),
        (lambda request: bad_request(request, ValueError()), 400),
    ],
)
def test_pages_for_what_goes_wrong_stand_alone(view, status):
    response = view(RequestFactory().get("/en/"))
    page = Page(response.content.decode())
    assert response.status_code == status
    assert len(page.all("h1")) == 1
    assert page.unbalanced == []


def test_a_form_without_its_token_gets_a_page_that_says_what_to_do():
    response = Client(enforce_csrf_checks=True).post("/en/request-access/", {})
    assert response.status_code == 403
    assert "Load the page again" in read_page(response).text()


def test_notices_are_shown_in_a_polite_live_region():
    template = engines["django"].get_template("components/messages.html")
    notice = type("Notice", (), {"level_tag": "success", "__str__": lambda self: "Kept <b>it</b>"})()
    page = Page(template.render({"messages": [notice]}))
    assert page.all("div", role="status", aria_live="polite")[0]["text"] == "Kept <b>it</b>"
    assert get_messages(HttpRequest()) == []
