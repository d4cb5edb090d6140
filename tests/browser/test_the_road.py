"""A participant and an organizer walk the road in a browser, in each language."""

import re
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, expect

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("portal")]


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_a_system_goes_from_request_to_result(language: str, portal: dict[str, Any], context: BrowserContext) -> None:
    participant, organizer = context.new_page(), context.new_page()
    site = f"{portal['site']}/{language}"

    status_page = request_access(participant, site, portal, system=f"Browser {language}")
    approve_in_admin(organizer, site, portal, system=f"Browser {language}")
    key = claim_key(participant, status_page)
    run = start_smoke(participant, site, key)
    watch_to_the_end(participant, language)

    assert participant.url == run
    expect(participant.locator("html")).to_have_attribute("lang", re.compile("en" if language == "en" else "zh"))
    result = participant.locator("#result")
    expect(result).to_be_visible()
    expect(result).to_contain_text(re.compile(r"\d{1,3}\.\d"))
    expect(result).to_contain_text("24")


def request_access(page: Page, site: str, portal: dict[str, Any], *, system: str) -> str:
    """Fill in and send the form; returns the address of the private status page."""
    page.goto(f"{site}/request-access/")
    texts = {
        "contact_name": "Ada Lovelace",
        "contact_email": "ada@example.org",
        "team": "Analytical Engines",
        "system": system,
        "version": "1.0",
        "add_url": f"{portal['server']}/add",
        "search_url": f"{portal['server']}/search",
        "memory_system_key": portal["server_key"],
        "add_concurrency": "8",
        "search_concurrency": "8",
        "method_description": "Looks turns up by their words.",
        "public_description": "A look-up by words",
        "run_notes": "Runs on one machine.",
    }
    for name, text in texts.items():
        page.locator(f"[name={name}]").fill(text)
    choose(page, "division", "commercial")
    choose(page, "tracks", "textual")
    choose(page, "auth_scheme", "bearer")
    page.locator("[name=allow_plain_http]").check()
    page.locator("[name=stays_reachable]").check()
    page.locator("main form button.button-primary").click()
    page.wait_for_url(re.compile(r"/request-access/status/"))
    return page.url


def choose(page: Page, name: str, value: str) -> None:
    """Choose `value` in a select, a radio group or a checkbox group."""
    field = page.locator(f"select[name={name}]")
    if field.count():
        field.select_option(value)
    else:
        page.locator(f"input[name={name}][value={value}]").check()


def approve_in_admin(page: Page, site: str, portal: dict[str, Any], *, system: str) -> None:
    page.goto(f"{site}/admin/login/?next=/{site.rpartition('/')[2]}/admin/submissions/accessrequest/")
    page.locator("input[name=username]").fill(portal["organizer"])
    page.locator("input[name=password]").fill(portal["organizer_password"])
    page.locator("input[type=submit]").click()
    page.locator("#result_list").get_by_role("link", name=re.compile(system)).first.click()
    page.locator("a[href$='/decide/approve/']").click()
    page.locator("[name=reason]").fill("Complete materials.")
    page.locator(".submit-row input[type=submit].default").click()
    page.wait_for_url(re.compile(r"/change/"))


def claim_key(page: Page, status_page: str) -> str:
    """Fetch the key from the status page, where it is shown once."""
    page.goto(status_page)
    page.locator("form[action*='/claim/'] button").click()
    found = re.search(r"aml_(live|test)_[0-9A-Za-z]{54}", page.locator("main").inner_text())
    assert found, page.locator("main").inner_text()
    page.goto(status_page)
    assert found[0] not in page.content()
    return found[0]


def start_smoke(page: Page, site: str, key: str) -> str:
    """Open the key and start a smoke test; returns the run's address."""
    page.goto(f"{site}/evaluation/")
    page.locator("input[name=key]").fill(key)
    page.locator("form:has(input[name=key]) button").click()
    page.locator("input[name=mode][value=smoke]").check()
    page.locator("form[action*='/evaluation/runs/'] button.button-primary").click()
    page.wait_for_url(re.compile(r"/evaluation/runs/[0-9a-f-]{36}/"))
    return page.url


def watch_to_the_end(page: Page, language: str) -> None:
    """The page updates itself; nothing is clicked and nothing reloaded until the run has ended."""
    word = "succeeded" if language == "en" else "成功"
    expect(page.locator("main")).to_contain_text(word, timeout=90_000)
    page.reload()
