"""How long a frame of the live page takes with very many phases in view, while somebody pans and zooms; printed.

The phases lie in Postgres, and the page loads them over HTTP as it always does; then a wheel event moves it in each
frame. Once in a browser that draws sixty frames a second, as people have it: how far apart frames are. Once in one that
draws as many as it can: what a frame costs in all, scripts, layout, painting and compositing. Between the frames the
page counts in a loop that has nothing to do with us.
"""

import statistics
from typing import TYPE_CHECKING

from playwright.sync_api import Browser

from tests.bench.browser_stage import SECOND, Watched, watched
from tests.bench.table import Row, conditions, percentile, show
from tests.e2e.browser import chromium

if TYPE_CHECKING:
    from tests.dashboard.live.stage import Stage as Run

REPETITIONS, FRAMES, OVER_S = 5, 120, 100
CASES = ((16, 100_000, 17.0), (1_024, 100_000, 17.0), (16, 500_000, 34.0))
WAYS = ("pan", "zoom", "hover")
FREE = ("--disable-frame-rate-limit", "--disable-gpu-vsync")

# `frames(count, way)` moves the page once a frame, and answers in ms: {between, scripts, counting}, a list each.
MOVING = """
const ask = window.requestAnimationFrame.bind(window);
let scripts = 0;
const timed = (act) => {
    const began = performance.now();
    act();
    return performance.now() - began;
};
window.requestAnimationFrame = (callback) => ask((time) => { scripts += timed(() => callback(time)); });
const counting = () => {
    const cells = new Float64Array(100000);
    for (let i = 0; i < cells.length; i++) cells[i] = Math.sqrt(i) * 1.5;
};
const MOVES = {
    pan: (at, there) => new WheelEvent("wheel", { ...at, deltaX: 23 * there }),
    zoom: (at, there) => new WheelEvent("wheel", { ...at, deltaY: -100 * there, ctrlKey: true }),
    hover: (at, there, count) => new PointerEvent("pointermove", { ...at, clientX: at.clientX + count, pointerId: 9 }),
};
window.frames = (wanted, way) => new Promise((done) => {
    const plot = document.querySelector("[data-part=plot]");
    const box = plot.getBoundingClientRect();
    const at = { clientX: box.left + box.width / 2, clientY: box.top + 100, bubbles: true, cancelable: true };
    const found = { between: [], scripts: [], counting: [] };
    let [count, last] = [0, null];
    const frame = (time) => {
        if (last !== null) {
            found.between.push(time - last);
            found.scripts.push(scripts);
            found.counting.push(timed(counting));
        }
        last = time;
        if (count++ === wanted) return done(found);
        scripts = timed(() => plot.dispatchEvent(MOVES[way](at, count % 60 < 30 ? 1 : -1, count)));
        ask(frame);
    };
    ask(frame);
});
"""


def measured(place: Watched, browser: Browser, run: "Run", spans: int) -> dict[str, dict[str, float]]:
    """By way of moving the p95 (ms) of each figure, the median of the repetitions; all phases are in view at first."""
    window = f"?group=none&from={run.begin_ns}&to={run.begin_ns + OVER_S * SECOND}"
    page = place.open(browser, run, window, script=MOVING)
    there = "spans => Number(document.querySelector('#live').dataset.spans) === spans"
    page.wait_for_function(there, arg=spans, timeout=60_000)
    repeated: dict[str, list[dict[str, list[float]]]] = {way: [] for way in WAYS}
    for _ in range(REPETITIONS):
        for way in WAYS:
            repeated[way].append(page.evaluate("([count, way]) => window.frames(count, way)", [FRAMES, way]))
    page.context.close()
    return {
        way: {name: statistics.median(percentile(one[name], 0.95) for one in found) for name in found[0]}
        for way, found in repeated.items()
    }


def main() -> None:
    """Print every case."""
    conditions("frames, p95 in ms", f"medians of {REPETITIONS} times {FRAMES} frames")
    rows: list[Row] = []
    with watched() as place:
        for lanes, wanted, most in CASES:
            spans = wanted // lanes * lanes
            run = place.fill(lanes, spans, over_s=OVER_S)
            with chromium() as browser:
                steady = measured(place, browser, run, spans)
            with chromium(*FREE) as browser:
                free = measured(place, browser, run, spans)
            for way in WAYS:
                what = f"{spans:,} phases, {lanes:,} lanes, {way}"
                rows += [
                    Row(name=f"{what}: between frames", ours=steady[way]["between"], unit="ms", most=most),
                    Row(name=f"{what}: a frame as fast as it can", ours=free[way]["between"], unit="ms"),
                    Row(name=f"{what}: scripts of it", ours=free[way]["scripts"], unit="ms"),
                    Row(name=f"{what}: counting beside it", ours=free[way]["counting"], unit="ms"),
                ]
    show(rows)


if __name__ == "__main__":
    main()
