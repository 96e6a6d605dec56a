"""How long a browser that has nothing of ours takes to the first bars of a live run; printed.

From the beginning of the navigation until a frame of the page has painted bars, read back from the canvas. Each time
the browser's memory is empty. Beside it the same for a page of a few lines that asks for nothing.
"""

import statistics

from playwright.sync_api import Browser

from tests.bench.browser_stage import Watched, watched
from tests.bench.table import Row, conditions, show
from tests.e2e.browser import chromium

REPETITIONS = 5
# `painted` is the ms since the navigation began at which a lane first showed more than the lines of the grid.
WATCHING = """
const ask = window.requestAnimationFrame.bind(window);
const copy = document.createElement("canvas");
const context = copy.getContext("2d", { willReadFrequently: true });
const look = () => {
    const strip = document.querySelector("[data-part=strip]");
    if (!strip || window.painted || strip.width < 100) return;
    Object.assign(copy, { width: strip.width, height: 1 });
    context.drawImage(strip, 0, -11);
    const { data } = context.getImageData(0, 0, copy.width, 1);
    let count = 0;
    for (let x = 3; x < data.length; x += 4) if (data[x]) count += 1;
    if (count > 50) window.painted = performance.now();
};
window.requestAnimationFrame = (callback) => ask((time) => { callback(time); look(); });
"""


def first_paint(place: Watched, browser: Browser, address: str) -> float:
    """Ms to the first bars of a live page that nobody has opened before."""
    page = place.visitor(browser)
    page.add_init_script(WATCHING)
    page.goto(address)
    painted = float(page.wait_for_function("() => window.painted", timeout=30_000).json_value())
    page.context.close()
    return painted


def plain_paint(place: Watched, browser: Browser) -> float:
    """Ms to the first frame of a page that needs nothing."""
    page = place.visitor(browser)
    page.goto(f"{place.stage.url}/healthz")
    painted = page.evaluate("new Promise((done) => requestAnimationFrame(() => done(performance.now())))")
    page.context.close()
    return float(painted)


def main() -> None:
    """Print a row for each size of the run."""
    conditions("first paint", f"medians of {REPETITIONS}")
    rows = []
    with watched() as place, chromium() as browser:
        plain = statistics.median(plain_paint(place, browser) for _ in range(REPETITIONS))
        for lanes, spans in ((16, 2_000), (16, 100_000), (16, 200_000)):
            run = place.fill(lanes, spans)
            address = place.address(run, "?group=none&follow=all")
            first_paint(place, browser, address)  # the server's first answer compiles its templates
            median = statistics.median(first_paint(place, browser, address) for _ in range(REPETITIONS))
            rows.append(Row(name=f"{spans:,} phases: first bars", ours=median, unit="ms", most=800))
        rows.append(Row(name="a page without anything", ours=plain, unit="ms"))
    show(rows)


if __name__ == "__main__":
    main()
