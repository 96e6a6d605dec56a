"""A real browser that has the live page of one run open whatever happens: as many phases drawn as are stored."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from playwright.sync_api import Page

from tests.e2e.browser import chromium
from tests.faults.watched import SOON_S, Watched

OPENING_MS = 30_000


class OpenPage:
    """The page of a run that is watched. What a script of ours raised is in `raised`."""

    def __init__(self, page: Page, watched: Watched) -> None:
        self._page, self.watched = page, watched
        self.raised: list[str] = []
        page.on("pageerror", lambda error: self.raised.append(str(error)))
        page.goto(f"{watched.stage.product.ready['url']}/runs/{watched.run}/?follow=all")
        page.wait_for_selector("#live[data-state='live']", timeout=OPENING_MS)

    def drawn(self) -> int:
        return int(self._page.get_attribute("#live", "data-spans") or 0)

    def await_shown(self, within_s: float) -> float:
        """When the page was first as current as at other times (as Watched.await_shown); AssertionError if too late."""
        deadline = time.monotonic() + within_s
        while True:
            try:
                stored = len(self.watched.stored_spans())
            except psycopg.OperationalError:
                stored = 1 << 60
            asked = time.monotonic()
            while self.drawn() < stored and time.monotonic() < asked + SOON_S:
                self._page.wait_for_timeout(20)
            assert not self.raised, f"the page's script: {self.raised}"
            if self.drawn() >= stored:
                return time.monotonic()
            state = self._page.get_attribute("#live", "data-state")
            assert time.monotonic() < deadline, f"the page ({state}) shows {self.drawn()} of {stored} phases"

    def assert_nothing_invented(self) -> None:
        """Every phase is drawn once: more than are stored cannot be."""
        drawn, stored = self.drawn(), len(self.watched.stored_spans())
        assert drawn <= stored, f"the page shows {drawn} phases, {stored} are stored"


@contextmanager
def browsing(watched: Watched) -> Iterator[OpenPage]:
    """A browser of somebody who is signed in, with the run's page open."""
    with chromium() as browser, browser.new_context(viewport={"width": 1600, "height": 1000}) as context:
        name, _, value = watched.stage.cookie.partition("=")
        context.add_cookies([{"name": name, "value": value, "url": watched.stage.product.ready["url"]}])
        yield OpenPage(context.new_page(), watched)
