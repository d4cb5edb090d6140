"""Debian's Chromium in its headless build, driven by Playwright, without any connection of its own to the outside."""

import contextlib
import shutil
from collections.abc import Iterator

from playwright.sync_api import Browser, sync_playwright

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--font-render-hinting=none",
]


@contextlib.contextmanager
def chromium() -> Iterator[Browser]:
    """A headless browser for the length of a `with` block."""
    program = shutil.which("chromium-headless-shell")
    if program is None:
        raise RuntimeError("chromium-headless-shell is not installed; .ci/system-packages test installs it.")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=ARGUMENTS)
        try:
            yield browser
        finally:
            browser.close()
