"""`make screenshots`: each page in both languages, both themes and two widths, into var/screenshots.

Fails when a page overflows sideways, when a character has no glyph, when axe finds something, or when a page answers
otherwise than it should. Each theme is a process of its own: they share the cores, and a browser that hangs, which
no limit of Playwright's covers (closing a page waits for ever), ends with its process and is tried once more.
"""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, Page

from tests.chromium import chromium
from tests.glyphs import Glyphs
from tests.portal_process import ROOT, running_portal
from tests.shots import LANGUAGES, LISTS, THEMES, WIDTHS, Shot, organizer_shots, shots

OUTPUT = ROOT / "var" / "screenshots"
FACTS = OUTPUT / "run" / "pictures.json"
THEME_S = 420
ATTEMPTS = 2
AXE = Axe()


def findings(page: Page, glyphs: Glyphs, *, is_examined: bool) -> Iterator[str]:
    """What is wrong with the page as it stands in the browser."""
    wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    if wide > 0:
        yield f"overflows sideways by {wide} px"
    if missing := glyphs.missing(page.evaluate("document.body.innerText")):
        yield f"characters without a glyph: {missing}"
    if is_examined:
        for violation in AXE.run(page).response["violations"]:
            targets = [node["target"] for node in violation["nodes"]][:3]
            yield f"axe {violation['id']}: {violation['help']} {targets}"


def sign_in(context: BrowserContext, facts: dict[str, Any]) -> None:
    """Open the key session, and the organizer's."""
    page = context.new_page()
    page.goto(f"{facts['site']}/en/evaluation/")
    page.locator("input[name=key]").fill(facts["leaderboard_key"])
    with page.expect_navigation(wait_until="load"):
        page.locator("form:has(input[name=key]) button[type=submit]").click()
    page.goto(f"{facts['site']}/en/admin/login/")
    page.locator("input[name=username]").fill(facts["organizer"])
    page.locator("input[name=password]").fill(facts["organizer_password"])
    with page.expect_navigation(wait_until="load"):
        page.locator("input[type=submit]").click()
    page.goto("about:blank")


def prepare(context: BrowserContext, facts: dict[str, Any]) -> dict[str, str]:
    """Send a request and ask for changes of it, add its address to `facts`; return the page of a row of each list."""
    page, site = context.new_page(), facts["site"]
    body = {
        "contact_name": "Li Ming",
        "contact_email": "li@example.org",
        "team": "Second team",
        "system": "Second",
        "version": "2.0",
        "division": "commercial",
        "tracks": ["textual"],
        "auth_scheme": "none",
        "add_url": f"{facts['server']}/add",
        "search_url": f"{facts['server']}/search",
        "stays_reachable": True,
        "method_description": "Keeps all.",
        "public_description": "Keeps all.",
        "run_notes": "None.",
        "cycle": facts["cycle"],
    }
    answer = context.request.post(f"{site}/api/v1/access-requests", data=body)
    assert answer.status == 201, answer.text()
    facts["waiting"] = f"/request-access/status/{answer.json()['receipt']}/"
    page.goto(f"{site}/en/admin/submissions/accessrequest/{answer.json()['id']}/decide/request-changes/")
    page.locator("textarea[name=reason]").fill("Please add the regions of your servers.")
    with page.expect_navigation(wait_until="load"):
        page.locator("form:has(textarea[name=reason]) [type=submit]:not([name=look])").click()
    rows = {
        each: first_link(page, f"{site}/en/admin/{each}/", "#result_list tbody a[href*='/change/']") for each in LISTS
    }
    questions = site + "/en" + rows["evaluation/job"].replace("/change/", "/questions/")
    rows["question"] = first_link(page, questions, "#content a[href*='/questions/']:not([href$='/questions/'])")
    return rows


def first_link(page: Page, address: str, selector: str) -> str:
    """Where the first such link leads, without the language."""
    page.goto(address)
    found = page.evaluate("selector => document.querySelector(selector)?.pathname", selector)
    assert found, f"{address} has no {selector}"
    return str(found).removeprefix("/en")


def take(page: Page, shot: Shot, address: str, picture: Path) -> Iterator[str]:
    """Take one picture and yield what is wrong with the answer."""
    response = page.goto(address, wait_until="load")
    if shot.act:
        with page.expect_navigation(wait_until="load"):
            page.evaluate(shot.act)
    elif response is not None and response.status != shot.status:
        yield f"answers {response.status} instead of {shot.status}"
    page.screenshot(path=picture, full_page=True)


def take_all(browser: Browser, theme: str, facts: dict[str, Any], rows: dict[str, str], glyphs: Glyphs) -> list[str]:
    """All pictures of one theme; returns the findings."""
    wrong: list[str] = []
    signed_in = browser.new_context(color_scheme=theme)  # type: ignore[arg-type]
    sign_in(signed_in, facts)
    visitors = {"key": signed_in.new_page(), "nobody": browser.new_context(color_scheme=theme).new_page()}  # type: ignore[arg-type]
    for shot in [*shots(facts), *organizer_shots(rows)]:
        page = visitors[shot.visitor]
        for language in LANGUAGES:
            for width in WIDTHS:
                if shot.is_taken(theme, width):
                    page.set_viewport_size({"width": width, "height": 900})
                    picture = OUTPUT / f"{shot.title}.{language}.{theme}.{width}.png"
                    found = [*take(page, shot, f"{facts['site']}/{language}{shot.path}", picture)]
                    found += findings(page, glyphs, is_examined=shot.is_examined(theme, width))
                    wrong += [f"{picture.name}: {text}" for text in found]
    for page in visitors.values():
        page.context.close()
    return wrong


def take_theme(theme: str) -> int:
    """Take one theme's pictures with a browser of its own; the findings go to a file beside them."""
    facts = json.loads(FACTS.read_text())
    with chromium() as browser:
        wrong = take_all(browser, theme, facts, facts["rows"], Glyphs())
    _findings_of(theme).write_text(json.dumps(wrong))
    return 0


def take_themes() -> list[str]:
    """Take both themes side by side and return their findings; a theme that fails or hangs is tried once more."""
    waiting = list(THEMES)
    for _ in range(ATTEMPTS):
        running = {theme: subprocess.Popen([sys.executable, "-m", "tests.screenshots", theme]) for theme in waiting}
        deadline = time.monotonic() + THEME_S
        waiting = [theme for theme, process in running.items() if not _has_ended_well(process, deadline)]
        for theme in waiting:
            print(f"the {theme} theme's browser failed or took more than {THEME_S} s", flush=True)
        if not waiting:
            break
    done = [json.loads(_findings_of(theme).read_text()) for theme in THEMES if theme not in waiting]
    return [*(text for found in done for text in found), *(f"{theme}: no pictures" for theme in waiting)]


def _has_ended_well(process: subprocess.Popen[bytes], deadline: float) -> bool:
    try:
        return process.wait(max(1.0, deadline - time.monotonic())) == 0
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return False


def _findings_of(theme: str) -> Path:
    return OUTPUT / "run" / f"findings.{theme}.json"


def main() -> int:
    """Take all pictures; the exit code is 1 when anything was found."""
    for old in OUTPUT.glob("*.png"):
        old.unlink()
    with running_portal(OUTPUT / "run", "--stay") as facts:
        with chromium() as browser:
            context = browser.new_context()
            sign_in(context, facts)
            rows = prepare(context, facts)
        FACTS.write_text(json.dumps({**facts, "rows": rows}))
        wrong = take_themes()
    print(f"{len(list(OUTPUT.glob('*.png')))} pictures in {Path(OUTPUT).relative_to(ROOT)}, {len(wrong)} findings")
    print("\n".join(wrong))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(take_theme(sys.argv[1]) if len(sys.argv) > 1 else main())
