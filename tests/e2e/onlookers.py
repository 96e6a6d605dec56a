"""A browser, and people beside a running server: fixtures for tests that look at pages."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from tests.cast import Cast, make_cast
from tests.e2e.browser import chromium


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A headless browser. Playwright keeps a loop in this thread for as long as it is open."""
    with chromium() as found:
        yield found


@pytest.fixture
def people(web: str, monkeypatch: pytest.MonkeyPatch) -> Cast:
    """The cast beside a running server, in a thread that Django would refuse to block for the browser's loop in it."""
    monkeypatch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "1")
    return make_cast()
