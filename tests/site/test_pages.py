"""The site's own pages, each in both languages."""

from itertools import pairwise

import pytest
from django.conf import settings
from django.core.management import call_command
from django.test import Client

from aml.pages.urls import urlpatterns
from tests.site.markup import read_page

PATHS = [str(pattern.pattern) for pattern in urlpatterns if pattern.name != "theme"]
LANGUAGES = {"en": "en", "zh-hans": "zh-Hans"}


@pytest.fixture(params=LANGUAGES)
def language(request) -> str:
    return request.param


@pytest.fixture(params=PATHS)
def page(request, language, client, db):
    call_command("seed_cycles")
    response = client.get(f"/{language}/{request.param}")
    assert response.status_code == 200
    return response


def test_has_one_heading_of_the_first_level_and_skips_no_level(page):
    levels = [int(name[1]) for name, _attrs, _text in read_page(page).elements if name in {"h1", "h2", "h3", "h4"}]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(deeper - level <= 1 for level, deeper in pairwise(levels)), levels


def test_names_its_language_and_the_same_page_in_the_others(page, language):
    read = read_page(page)
    assert read.all("html")[0]["lang"] == LANGUAGES[language]
    alternates = {link["hreflang"]: link["href"] for link in read.all("link", rel="alternate")}
    path = page.request["PATH_INFO"].removeprefix(f"/{language}/")
    assert alternates == {tag: f"{settings.AML_SITE_URL}/{code}/{path}" for code, tag in LANGUAGES.items()}


def test_has_a_title_a_description_and_balanced_markup(page):
    read = read_page(page)
    assert read.all("title")[0]["text"].endswith("· Agent Memory Leaderboard")
    assert len(read.all("meta", name="description")[0]["content"]) > 20
    assert read.unbalanced == []


def test_gives_no_id_twice_and_labels_what_it_refers_to(page):
    read = read_page(page)
    ids = read.ids()
    assert len(ids) == len(set(ids))
    for _name, attrs, _text in read.elements:
        for reference in ("aria-labelledby", "aria-describedby", "for"):
            assert set(attrs.get(reference, "").split()) <= set(ids), attrs
        if attrs.get("href", "").startswith("#"):
            assert attrs["href"][1:] in ids


def test_runs_nothing_inline_and_takes_nothing_from_elsewhere(page):
    read = read_page(page)
    assert not read.all("style")
    assert all(script["src"].startswith("/static/") and not script["text"] for script in read.all("script"))
    assert all(link["href"].startswith("/static/") for link in read.all("link", rel="stylesheet"))
    for _name, attrs, _text in read.elements:
        assert "style" not in attrs
        assert not [name for name in attrs if name.startswith(("on", "hx-on"))]


def test_sends_a_policy_that_allows_own_files_only(page):
    policy = dict(part.split(" ", 1) for part in page.headers["Content-Security-Policy"].split("; "))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == "'self'"
    assert policy["frame-ancestors"] == "'none'"


def test_leads_only_to_pages_that_exist(page, client):
    hrefs = {link["href"].split("#")[0] for link in read_page(page).all("a") if link["href"].startswith("/")}
    assert len(hrefs) > 8
    for href in hrefs - {""}:
        assert client.get(href).status_code == 200, href


def test_sets_no_cookie_for_a_reader(page):
    assert not page.cookies


@pytest.mark.parametrize("path", PATHS)
def test_stands_without_any_cycle(path, language, client, db):
    assert client.get(f"/{language}/{path}").status_code == 200


@pytest.mark.parametrize("path", PATHS)
def test_takes_no_post(path, client, db):
    assert client.post(f"/en/{path}").status_code == 405


@pytest.mark.parametrize(
    ("accepted", "language"),
    [("zh-CN,zh;q=0.9,en;q=0.8", "zh-hans"), ("zh-TW", "zh-hans"), ("en-GB,en", "en"), ("fr", "en"), ("", "en")],
)
def test_the_bare_address_leads_to_the_readers_language(accepted, language, db):
    response = Client(headers={"accept-language": accepted}).get("/guide/?from=mail")
    assert (response.status_code, response.headers["Location"]) == (302, f"/{language}/guide/?from=mail")
    assert "Accept-Language" in response.headers["Vary"]
