"""A browser without a screen that watches one run whatever happens: it comes back as the page's own script does."""

import asyncio
import contextlib
import random
import re
import threading
import time
from pathlib import Path
from typing import Any

import httpx
from websockets.exceptions import WebSocketException

from tests.dashboard.live.watcher import Span, Watcher
from tests.faults.oracle import Database
from tests.faults.picture import differences

SCRIPT = Path(__file__).resolve().parents[2] / "dashboard/live/static/live/js/connection.js"
LOAD_S = 10.0


def constant(name: str) -> float:
    """Seconds that the page's script says in milliseconds."""
    found = re.search(rf"const {name} = (\d+);", SCRIPT.read_text())
    assert found, f"{SCRIPT} has no {name}"
    return int(found[1]) / 1000


FIRST_WAIT_S, LONGEST_WAIT_S, SILENCE_S = map(constant, ("FIRST_WAIT_MS", "LONGEST_WAIT_MS", "SILENCE_MS"))


def signed_in(login_url: str) -> str:
    """The cookie of somebody who followed the login link, which works once."""
    with httpx.Client(timeout=30) as client:
        client.get(login_url, follow_redirects=True).raise_for_status()
        return f"sessionid={client.cookies['sessionid']}"


class _Page(Watcher):
    """Notes when the socket was heard, and keeps its picture while the next one is loaded."""

    def __init__(self, web: str, cookie: str, run_id: Any) -> None:
        super().__init__(web, None, run_id)
        self.cookie = cookie
        self.heard = time.monotonic()

    async def load(self) -> None:
        await asyncio.wait_for(super().load(), LOAD_S)

    async def _listen(self, socket: Any) -> None:
        async def noted() -> Any:
            async for message in socket:
                self.heard = time.monotonic()
                yield message

        await super()._listen(noted())


class Viewer:
    """Runs in a thread of its own. `spans` is what is drawn now."""

    def __init__(self, web: str, cookie: str, run_id: str, *, seed: int = 0) -> None:
        self._page = _Page(web, cookie, run_id)
        self._random = random.Random(seed)  # noqa: S311 - drawn from a seed
        self._stop = threading.Event()
        self.connects = 0
        self.troubles: dict[str, int] = {}
        self._thread = threading.Thread(target=lambda: asyncio.run(self._live()), daemon=True)
        self._thread.start()

    @property
    def resyncs(self) -> int:
        return self._page.resyncs

    def spans(self) -> set[Span]:
        """Identities of the phases that are drawn; empty while a snapshot is being loaded."""
        while True:
            with contextlib.suppress(RuntimeError):  # it grew meanwhile
                return set(self._page.spans)

    def differences(self, database: Database) -> list[str]:
        """What is wrong with the picture of a run that has ended; see picture.differences."""
        while True:
            with contextlib.suppress(RuntimeError):  # it grew meanwhile
                return differences(self._page, database, self._page.run_id)

    def close(self) -> None:
        self._stop.set()
        self._thread.join(15)

    async def _live(self) -> None:
        tries = 0
        while not self._stop.is_set():
            try:
                if self._page.cursor == (0, 0) and not self._page.spans:
                    await self._page.load()
                await self._page.greet()
                self.connects += 1
                tries = 0
                await self._until_silent()
            except (OSError, AssertionError, httpx.HTTPError, WebSocketException, TimeoutError) as trouble:
                name = type(trouble).__name__
                self.troubles[name] = self.troubles.get(name, 0) + 1
            await self._leave()
            wait = min(LONGEST_WAIT_S, FIRST_WAIT_S * 2**tries) * self._random.uniform(0.75, 1.25)
            tries += 1
            for _ in range(round(wait / 0.05)):
                if not self._stop.is_set():
                    await asyncio.sleep(0.05)

    async def _until_silent(self) -> None:
        """Returns when the socket is closed, or said nothing for 5 s."""
        self._page.heard = time.monotonic()
        task = self._page._task
        while not self._stop.is_set() and task and not task.done():
            if time.monotonic() - self._page.heard > SILENCE_S:
                return
            await asyncio.sleep(0.05)
        if task and task.done() and not task.cancelled() and (trouble := task.exception()):
            raise trouble

    async def _leave(self) -> None:
        with contextlib.suppress(Exception):
            await asyncio.wait_for(self._page.cut(), 1)
