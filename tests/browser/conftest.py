"""A portal and a browser for the tests that use it as people do."""

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext

from tests.chromium import chromium
from tests.portal_process import running_portal


@pytest.fixture(scope="module")
def portal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """A prepared portal on which nobody has asked for access yet."""
    with running_portal(tmp_path_factory.mktemp("portal"), "--only-prepare") as facts:
        yield facts


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    """A browser session of its own for each test."""
    context = browser.new_context()
    context.set_default_timeout(15_000)
    yield context
    context.close()
