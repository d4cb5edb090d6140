"""`make screenshots`: each page in both languages, both themes and two widths, into var/screenshots.

Fails when a page overflows sideways, when a character has no glyph, or when axe finds something.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import BrowserContext, Page

from tests.chromium import chromium
from tests.glyphs import Glyphs
from tests.portal_process import ROOT, running_portal

LANGUAGES = ("en", "zh-hans")
THEMES = ("light", "dark")
WIDTHS = (360, 1440)
OUTPUT = ROOT / "var" / "screenshots"


@dataclass(frozen=True, slots=True)
class Shot:
    """A page: `path` follows the language prefix."""

    name: str
    path: str
    has_axe: bool = True


def shots(facts: dict[str, Any]) -> list[Shot]:
    """Every page of the portal, in the state in which the demo leaves it."""
    return [
        Shot("home", "/"),
        Shot("leaderboard", "/leaderboard/"),
        Shot("board", facts["board"]),
        Shot("entry", facts["entry"]),
        Shot("guide", "/guide/"),
        Shot("documentation", "/documentation/"),
        Shot("api-guide", "/api-guide/"),
        Shot("benchmarks", "/benchmarks/"),
        Shot("request-access", "/request-access/"),
        Shot("request-status", facts["receipt"]),
        Shot("evaluation", "/evaluation/"),
        Shot("job", facts["job"]),
        Shot("status", "/status/"),
        Shot("privacy", "/privacy/"),
        Shot("not-found", "/no-such-page/"),
    ]


def organizer_shots() -> list[Shot]:
    """The organizers' pages are Django's admin; axe's findings in Django's own templates are not ours to mend."""
    return [
        Shot("admin", "/admin/", has_axe=False),
        Shot("admin-requests", "/admin/submissions/accessrequest/", has_axe=False),
        Shot("admin-reviews", "/admin/evaluation/publicationreview/", has_axe=False),
    ]


def findings(page: Page, shot: Shot, glyphs: Glyphs) -> Iterator[str]:
    """What is wrong with the page as it stands in the browser."""
    wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    if wide > 0:
        yield f"overflows sideways by {wide} px"
    if missing := glyphs.missing(page.evaluate("document.body.innerText")):
        yield f"characters without a glyph: {missing}"
    if shot.has_axe:
        for violation in Axe().run(page).response["violations"]:
            targets = [node["target"] for node in violation["nodes"]][:3]
            yield f"axe {violation['id']}: {violation['help']} {targets}"


def sign_in(context: BrowserContext, facts: dict[str, Any]) -> None:
    """Open the key session, and the organizer's."""
    page = context.new_page()
    page.goto(f"{facts['site']}/en/evaluation/")
    page.locator("input[name=key]").fill(facts["leaderboard_key"])
    page.locator("form:has(input[name=key]) button[type=submit]").click()
    page.goto(f"{facts['site']}/en/admin/login/")
    page.locator("input[name=username]").fill(facts["organizer"])
    page.locator("input[name=password]").fill(facts["organizer_password"])
    page.locator("input[type=submit]").click()
    page.close()


def main() -> int:
    """Take all pictures; the exit code is 1 when anything was found."""
    wrong: list[str] = []
    glyphs = Glyphs()
    with running_portal(OUTPUT / "run", "--stay") as facts, chromium() as browser:
        pages = [*shots(facts), *organizer_shots()]
        for theme in THEMES:
            context = browser.new_context(color_scheme=theme)  # type: ignore[arg-type]
            sign_in(context, facts)
            page = context.new_page()
            for language in LANGUAGES:
                for width in WIDTHS:
                    page.set_viewport_size({"width": width, "height": 900})
                    for shot in pages:
                        page.goto(f"{facts['site']}/{language}{shot.path}", wait_until="load")
                        picture = OUTPUT / f"{shot.name}.{language}.{theme}.{width}.png"
                        page.screenshot(path=picture, full_page=True)
                        wrong += [f"{picture.name}: {text}" for text in findings(page, shot, glyphs)]
            context.close()
    print(f"{len(list(OUTPUT.glob('*.png')))} pictures in {Path(OUTPUT).relative_to(ROOT)}, {len(wrong)} findings")
    print("\n".join(wrong))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
