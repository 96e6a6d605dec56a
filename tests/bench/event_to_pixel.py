"""How long it takes from an event in a training process until a pixel of the live page shows it; printed.

A training process records phases with the SDK, its shipper sends them, and a page whose window stands still reads its
own canvas back after each frame that it drew. The pixel of a phase's begin is known from its time, so that a pixel
tells which phase has come. All clocks are this machine's. Then the same from when the server has answered a request.
"""

import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Page

from roundwatch import locks
from tests.bench.browser_stage import SECOND, Watched, watched
from tests.bench.table import Row, conditions, percentile, show
from tests.e2e.browser import chromium
from tests.e2e.product import until
from tests.ingest.batches import Recorder

PHASES, POSTS, HOSTS = 120, 60, 16
TRAINING = """
import random, sys, time, roundwatch
run = roundwatch.init("bench", run_id=sys.argv[1], worker="rank-0")
with run.phase("train"):
    time.sleep(0.2)
sys.stdin.readline()
for number in range(int(sys.argv[2])):
    time.sleep(random.uniform(0.5, 0.8))
    began = time.time_ns()
    with run.phase("train"):
        print(number % 2, began, flush=True)
        time.sleep(0.3 * (number % 2))
run.finish()
"""
# `shown` has the Unix ms at which each column of the first lane was first painted, by column.
READING = """
window.shown = {};
const ask = window.requestAnimationFrame.bind(window);
const copy = document.createElement("canvas");
const context = copy.getContext("2d", { willReadFrequently: true });
const look = () => {
    const strip = document.querySelector("[data-part=strip]");
    if (!strip || strip.width < 100) return;
    if (copy.width !== strip.width) Object.assign(copy, { width: strip.width, height: 1 });
    context.clearRect(0, 0, copy.width, 1);
    context.drawImage(strip, 0, -11);
    const { data } = context.getImageData(0, 0, copy.width, 1);
    const now = performance.timeOrigin + performance.now();
    for (let x = 0; x < copy.width; x++) if (data[x * 4 + 3]) window.shown[x] ??= now;
};
window.requestAnimationFrame = (callback) => ask((time) => { callback(time); look(); });
"""


class Window:
    """The live page of a run, with a window that begins now."""

    def __init__(self, place: Watched, page: Page, run: Any, seconds: float) -> None:
        """`run` is the stored run."""
        self._from, self._page = time.time_ns(), page
        self._to = self._from + round(seconds * SECOND)
        page.add_init_script(READING)
        page.goto(f"{place.stage.url}/runs/{run.pk}/?group=none&rows=comfortable&from={self._from}&to={self._to}")
        page.wait_for_selector("#live[data-state=live]")
        page.wait_for_timeout(1_000)
        self._before = set(page.evaluate("Object.keys(window.shown)"))

    def delays(self, events: Sequence[tuple[int, int]]) -> list[float]:
        """Ms from each event's second time to the pixel of its first; without those on a line of the grid."""
        self._page.wait_for_timeout(1_500)
        shown = {int(x): at for x, at in self._page.evaluate("window.shown").items() if x not in self._before}
        per_pixel = (self._to - self._from) / self._page.evaluate("document.querySelector('[data-part=strip]').width")
        found = []
        for begin, told in events:
            column = int((begin - self._from) / per_pixel)
            if seen := [shown[x] for x in (column - 1, column, column + 1) if x in shown]:
                found.append(min(seen) - told / 1e6)
        if len(found) < 0.8 * len(events):
            raise SystemExit(f"{len(events)} phases began, and {len(found)} were seen")
        return found


@contextmanager
def training(place: Watched, spool: Path, run_id: str) -> Iterator[subprocess.Popen[str]]:
    """A training process that waits for a line; its shipper ends with it."""
    from django.conf import settings

    source = Path(settings.BASE_DIR) / "agents/src"
    environment = {
        "ROUNDWATCH_URL": place.stage.url, "ROUNDWATCH_TOKEN": place.stage.token, "ROUNDWATCH_SPOOL": str(spool),
        "PYTHONPATH": str(source), "PATH": "/usr/bin:/bin",
    }  # fmt: skip
    command = [sys.executable, "-c", TRAINING, run_id, str(PHASES)]
    with subprocess.Popen(command, env=environment, stdin=-1, stdout=-1, text=True) as process:
        try:
            yield process
        finally:
            process.kill()
            for lock in spool.rglob("lock"):
                if (pid := locks.holder_of(lock)) > 0:
                    subprocess.run(["kill", str(pid)], check=False)


def from_trainings(place: Watched, page: Page) -> tuple[list[float], list[float]]:
    """Delays of phases that end as they begin, and of those that stay open for a while."""
    from ingest.models import Run

    with tempfile.TemporaryDirectory() as folder, training(place, Path(folder), "pixels") as process:
        run = until(30, lambda: Run.objects.filter(key="pixels").first(), "the run is known")
        window = Window(place, page, run, PHASES * 0.9)
        assert process.stdin
        assert process.stdout
        process.stdin.write("\n")
        process.stdin.flush()
        lines = [tuple(map(int, process.stdout.readline().split())) for _ in range(PHASES)]
        events = [[(begin, begin) for kind, begin in lines if kind == which] for which in (0, 1)]
        return window.delays(events[0]), window.delays(events[1])


def from_server(place: Watched, page: Page, key: str, hosts: int) -> list[float]:
    """Delays from the answer to a request that tells of a phase, beside so many hosts that send five times a second."""
    from ingest.models import Run

    recorder = Recorder("rank-0", run=key, began_ns=time.time_ns()).begin()
    place.send(recorder.batch())
    done = threading.Event()
    others = [threading.Thread(target=_chatting, args=(place, key, number, done)) for number in range(1, hosts)]
    for other in others:
        other.start()
    window = Window(place, page, Run.objects.get(key=key), POSTS * 0.65)
    events = []
    for _ in range(POSTS):
        time.sleep(random.uniform(0.4, 0.7))  # noqa: S311
        begin = time.time_ns() // 1000 * 1000
        recorder.phase("train", begin, begin + 1_000_000)
        place.send(recorder.batch())
        events.append((begin, time.time_ns()))
    found = window.delays(events)
    done.set()
    for other in others:
        other.join()
    return found


def _chatting(place: Watched, key: str, number: int, done: threading.Event) -> None:
    recorder = Recorder(f"rank-{number}", run=key, began_ns=time.time_ns()).begin()
    while not done.wait(0.2):
        begin = time.time_ns() // 1000 * 1000
        recorder.phase("encode", begin - 100_000_000, begin)
        place.send(recorder.batch())


def figures(name: str, delays: Sequence[float], p50: float | None, p95: float | None) -> list[Row]:
    """Two rows."""
    return [
        Row(name=f"{name}, p50", ours=statistics.median(delays), unit="ms", most=p50),
        Row(name=f"{name}, p95", ours=percentile(delays, 0.95), unit="ms", most=p95),
    ]


def main() -> None:
    """Print every row."""
    conditions("event to pixel", f"{PHASES} phases, {POSTS} requests", "sent every 200 ms")
    with watched() as place, chromium() as browser:
        at_once, open_ones = from_trainings(place, place.visitor(browser))
        rows = figures("a phase that ended at once", at_once, 300, 500)
        rows += figures("a phase that is still open", open_ones, 300, 500)
        for hosts in (1, HOSTS):
            delays = from_server(place, place.visitor(browser), f"server-{hosts}", hosts)
            rows += figures(f"answer to pixel, {hosts} senders", delays, None, 50)
    show(rows)


if __name__ == "__main__":
    main()
