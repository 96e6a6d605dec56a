"""What the page paints is what Postgres holds: every pixel of every lane equals the reference raster."""

import datetime as dt
import time
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from dashboard.teams import login_links, tokens
from ingest.models import Finding, Run, Stream
from roundwatch import wire
from tests.cast import Cast
from tests.e2e.raster_reference import SECOND, Bar, busy_hour, paint
from tests.e2e.training import send
from tests.ingest.batches import Recorder

# The pixels of one lane's middle, as "r,g,b" or "" where nothing is painted, and the colours to know them by.
READ_BACK = """() => {
    const strip = document.querySelector("[data-part=strip]");
    const copy = document.createElement("canvas");
    Object.assign(copy, { width: strip.width, height: strip.height });
    const context = copy.getContext("2d", { willReadFrequently: true });
    context.drawImage(strip, 0, 0);
    const ratio = strip.width / strip.clientWidth;
    const colour = (data, i) => (data[i + 3] ? `${data[i]},${data[i + 1]},${data[i + 2]}` : "");
    const lane = (y) => {
        const { data } = context.getImageData(0, Math.round(y * ratio), strip.width, 1);
        return Array.from({ length: strip.width }, (_, x) => colour(data, x * 4));
    };
    const style = getComputedStyle(document.documentElement);
    const token = (name) => {
        const hex = style.getPropertyValue(name).trim();
        return [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16)).join();
    };
    const kinds = ["compute", "input", "encode", "transfer", "aggregate", "persist", "apply", "wait", "other"];
    return {
        lanes: [0, 1, 2, 3].map((row) => lane(row * 22 + 11)),
        kinds: Object.fromEntries(kinds.map((kind) => [kind, token(`--kind-${kind}`)])),
        failed: token("--bad"), grid: token("--line"),
    };
}"""


def record(web: str, token: str, scenario: dict[str, list[Bar]], start_ns: int) -> Run:
    """The scenario sent by one worker per lane, and the finding that marks its slow bars."""
    for name, bars in scenario.items():
        recorder = Recorder(name, began_ns=start_ns, machine=f"of-{name}").begin(name="busy hour")
        for bar in sorted(bars, key=lambda bar: bar.begin_ns):
            recorder.phase(bar.name, bar.begin_ns, bar.end_ns, state=bar.state, thread=bar.thread)
        send(web, token, recorder.finish(start_ns + 60 * SECOND).batch())
    run = Run.objects.get()
    marks = []
    for stream in Stream.objects.filter(run=run).select_related("worker"):
        assert stream.worker is not None
        # The begin of the lifecycle took number 0; a phase takes one for its start and one for its end.
        bars = scenario[stream.worker.name]
        marks += [[stream.index, 1 + 2 * i, stream.worker.index, -1] for i, bar in enumerate(bars) if bar.slow]
    now = dt.datetime.now(dt.UTC)
    Finding.objects.create(
        run=run, kind="straggler", fingerprint="slow", observed="slow", spans=marks, opened_at=now, updated_at=now
    )
    return run


def read_back(page: Page, web: str, run: Run, from_ns: int, to_ns: int) -> dict[str, Any]:
    page.goto(f"{web}/runs/{run.pk}/?group=none&rows=comfortable&from={from_ns}&to={to_ns}")
    page.wait_for_selector("[data-state=live]")
    # Two frames after the last of the data, all of it is painted.
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    found: dict[str, Any] = page.evaluate(READ_BACK)
    return found


WINDOWS = {
    "everything": (0, 60 * SECOND),
    "a part, at an odd place": (7 * SECOND + 1_234_000, 19 * SECOND + 5_678_000),
    "less than a pixel each": (-600 * SECOND, 1800 * SECOND),
    "single milliseconds": (20 * SECOND, 20 * SECOND + 400_000_000),
}


@pytest.mark.e2e
@pytest.mark.parametrize("scale", [1, 2])
def test_every_pixel_of_the_strip_equals_the_reference(browser: Browser, web: str, people: Cast, scale: int) -> None:
    start_ns = (time.time_ns() // SECOND - 3600) * SECOND
    scenario = busy_hour(start_ns)
    run = record(web, tokens.issue(people.team, "test", ["ingest"]), scenario, start_ns)
    with browser.new_context(viewport={"width": 1403, "height": 900}, device_scale_factor=scale) as context:
        page = context.new_page()
        page.goto(web + login_links.make(people.owner))
        for what, (begin, end) in WINDOWS.items():
            seen = read_back(page, web, run, start_ns + begin, start_ns + end)
            for bars, pixels in zip(scenario.values(), seen["lanes"], strict=True):
                expected = paint(bars, start_ns + begin, start_ns + end, len(pixels))
                assert any(expected), f"{what}: a window without any bar proves nothing"
                assert wrong(expected, pixels, seen) == [], what


def wrong(expected: list[str | None], pixels: list[str], seen: dict[str, Any]) -> list[tuple[int, str | None, str]]:
    """Pixels that show something else: where, what is right, and their colour. Between bars the grid may show."""

    def right(name: str | None, colour: str) -> bool:
        if name is None:
            return colour in {"", seen["grid"]}
        return bool(colour == (seen["failed"] if name == "failed" else seen["kinds"][wire.kind_of(name)]))

    both = enumerate(zip(expected, pixels, strict=True))
    return [(x, name, colour) for x, (name, colour) in both if not right(name, colour)]
