"""A training played to a real server over HTTP, and what a person sees of it in a real browser."""

import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from playwright.sync_api import Browser, Page

from dashboard.teams import login_links, tokens
from dashboard.teams.models import User
from ingest.models import Run
from roundwatch import wire
from tests.cast import Cast
from tests.ingest.batches import SECOND, Recorder, request


def send(web: str, token: str, *batches: wire.Batch) -> None:
    """As an agent would, over HTTP."""
    headers = {"Authorization": f"Bearer {token}", "Content-Encoding": "gzip", "Content-Type": "application/json"}
    asked = urllib.request.Request(web + wire.PATH, wire.encode(request(*batches)), headers)
    with urllib.request.urlopen(asked, timeout=10) as answer:
        assert answer.status == 200


@dataclass
class Training:
    """Two trainers that began `ago_s` seconds ago and are heard of whenever `say` is called."""

    web: str
    cast: Cast
    ago_s: float = 60
    names: tuple[str, ...] = ("trainer-0", "trainer-1")
    recorders: list[Recorder] = field(init=False)

    def __post_init__(self) -> None:
        self.token = tokens.issue(self.cast.team, "test", ["ingest"])
        self.begin_ns = time.time_ns() // 1000 * 1000 - int(self.ago_s * SECOND)
        self.recorders = [
            Recorder(name, began_ns=self.begin_ns).begin(name="a training", rounds=20) for name in self.names
        ]

    def at(self, seconds: float) -> int:
        """Unix ns of so many seconds after the begin."""
        return self.begin_ns + round(seconds * 1e6) * 1000

    def steps(self, begin_s: float, count: int) -> "Training":
        """Each trainer computes `count` times for a second, round 0."""
        for recorder in self.recorders:
            for i in range(count):
                recorder.phase("train", self.at(begin_s + i), self.at(begin_s + i + 0.9), round=0)
        return self

    def say(self) -> None:
        """Sends what was recorded, and that all are alive now."""
        send(self.web, self.token, *[recorder.heartbeat(time.time_ns()) for recorder in self.recorders])

    @property
    def run(self) -> Run:
        return Run.objects.get(team=self.cast.team)


@contextmanager
def watching(
    browser: Browser, training: Training, query: str = "", width: int = 1400, who: User | None = None
) -> Iterator[Page]:
    """The owner's (or another's) live page of the training's run; at the end its console must have been silent."""
    with browser.new_context(viewport={"width": width, "height": 900}) as context:
        page = context.new_page()
        page.goto(training.web + login_links.make(who or training.cast.owner))
        said: list[str] = []
        page.on("console", lambda message: said.append(message.text) if message.type in {"error", "warning"} else None)
        page.on("pageerror", lambda error: said.append(str(error)))
        page.goto(f"{training.web}/runs/{training.run.pk}/{query}")
        page.wait_for_selector("[data-state=live]")
        yield page
        assert not said, said


def wait_for_spans(page: Page, count: int, seconds: float = 10) -> None:
    """Until exactly so many phases have come; more than that fails."""
    page.wait_for_function(
        "count => Number(document.querySelector('#live').dataset.spans) >= count", arg=count, timeout=seconds * 1000
    )
    assert page.locator("#live").get_attribute("data-spans") == str(count)


def painted(page: Page, row: int) -> int:
    """How many pixels of a lane's middle show a phase (not the grid), in the comfortable height without groups."""
    found: int = page.evaluate(
        """row => {
            const strip = document.querySelector("[data-part=strip]");
            const copy = document.createElement("canvas");
            Object.assign(copy, { width: strip.width, height: 1 });
            const context = copy.getContext("2d", { willReadFrequently: true });
            context.drawImage(strip, 0, -(row * 22 + 11));
            const { data } = context.getImageData(0, 0, strip.width, 1);
            const hex = getComputedStyle(document.documentElement).getPropertyValue("--line").trim();
            const line = [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16)).join();
            let count = 0;
            for (let i = 0; i < data.length; i += 4) {
                if (data[i + 3] && `${data[i]},${data[i + 1]},${data[i + 2]}` !== line) count += 1;
            }
            return count;
        }""",
        row,
    )
    return found
