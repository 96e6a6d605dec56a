"""A phase that is slow while it runs, in a real browser: its bar turns amber, then it is told of, without a reload."""

import time

import pytest
from playwright.sync_api import Browser, Page, expect

from ingest import watch_open
from tests.cast import Cast
from tests.e2e.training import Training, watching
from tests.ingest import scenarios
from tests.ingest.playing import playing

pytestmark = pytest.mark.e2e
expect.set_options(timeout=10_000)

SIXTEEN = scenarios.two_slow_encoders(4)
ENCODES_AT = SIXTEEN.rounds[-1][0] + 30.0
AMBER = """() => {
    const overlay = document.querySelector("[data-part=overlay]");
    const copy = document.createElement("canvas");
    Object.assign(copy, { width: overlay.width, height: overlay.height });
    const context = copy.getContext("2d", { willReadFrequently: true });
    context.drawImage(overlay, 0, 0);
    const { data } = context.getImageData(0, 0, overlay.width, overlay.height);
    const style = getComputedStyle(document.documentElement);
    const channels = (name) => [1, 3, 5].map((i) => parseInt(style.getPropertyValue(name).trim().slice(i, i + 2), 16));
    const [warn, text] = [channels("--warn"), channels("--text")];
    const amber = warn.map((value, i) => Math.round((value + text[i]) / 2));
    const ratio = overlay.height / overlay.clientHeight;
    const rows = new Set();
    for (let i = 0; i < data.length; i += 4) {
        if (data[i + 3] === 255 && amber.every((value, c) => Math.abs(value - data[i + c]) < 2)) {
            rows.add(Math.floor(Math.floor(i / 4 / overlay.width) / ratio / 22));
        }
    }
    return [...rows].sort((a, b) => a - b);
}"""


def amber_until(page: Page, rows: int) -> list[int]:
    """The rows that show amber outlines, once there are so many."""
    for _ in range(100):
        found: list[int] = page.evaluate(AMBER)
        if len(found) == rows:
            return found
        page.wait_for_timeout(100)
    raise AssertionError(f"not {rows} rows are amber but {found}")


def test_its_bar_turns_amber_before_it_is_told_of_and_it_is_told_of_while_it_runs(
    browser: Browser, web: str, people: Cast
) -> None:
    play = playing(people.team, SIXTEEN, at_s=ENCODES_AT + 4)
    play.upto(ENCODES_AT + 3.8)
    watcher = watch_open.OpenPhases(since_ns=time.time_ns())
    with watching(browser, Training(web, people), "?group=none&follow=120s") as page:
        expect(page.locator(".lane-name")).to_have_count(17)
        assert amber_until(page, 0) == []

        watcher.look()
        lanes = [page.locator(".lane-name").nth(row).text_content() for row in amber_until(page, 2)]
        assert lanes == ["rank-6", "rank-7"]
        assert page.locator(".inspector .finding").count() == 0

        play.upto(ENCODES_AT + 5.0)
        watch_open.OpenPhases().look()
        expect(page.locator(".inspector")).to_contain_text("encode still runs on rank-6 and rank-7 after 5.0 s")
        expect(page.locator(".lane-name.slow")).to_have_text(["rank-6", "rank-7"])
        assert len(amber_until(page, 2)) == 2
