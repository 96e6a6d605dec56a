"""What a live page holds after 3.6 million phases have passed through it; printed.

The page and its first picture come from the server; what follows over its socket is sent by this program, encoded as
the server encodes it, for no server here could store as much in the time. Counted are the objects of JavaScript and the
memory behind its arrays, after a collection.
"""

import json
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from playwright.sync_api import CDPSession, Page, WebSocketRoute

from tests.bench.browser_stage import SECOND, watched
from tests.bench.table import Row, conditions, show
from tests.e2e.browser import chromium

if TYPE_CHECKING:
    from tests.dashboard.live.stage import Stage as Run

TOTAL, EACH, LANES = 3_600_000, 20_000, 16
MIB = 1 << 20


def held(browser: CDPSession) -> float:
    """MiB of objects and arrays that are in use."""
    browser.send("HeapProfiler.collectGarbage")
    usage = browser.send("Runtime.getHeapUsage")
    return float(usage["usedSize"] + usage.get("backingStorageSize", 0) + usage.get("embedderHeapUsedSize", 0)) / MIB


def spans(run: "Run", number: int) -> bytes:
    """The message of that number: the next phases of every lane."""
    from ingest.feed import messages

    each = EACH // LANES
    rows = np.arange(EACH, dtype=np.int64)
    place, lane = number * each + rows // LANES, rows % LANES
    begin = run.begin_ns + 120 * SECOND + place * 1_000_000
    same = np.ones(EACH, np.int64)
    return messages.spans(
        messages.Spans(
            begin_ns=begin, end_ns=begin + 900_000, start_number=1_000_000 + 2 * place, parent=-same,
            round=place // 1000, lane=lane, attempt=lane, phase=place % 6, state=same * 0, thread=same * 0,
        )
    )  # fmt: skip


def feed(page: Page, address: str) -> Callable[[bytes], None]:
    """Opens the page with a socket that this program is the other end of; returns how to send it a message."""
    routes: list[WebSocketRoute] = []

    def opened(route: WebSocketRoute) -> None:
        route.on_message(lambda _: None)
        route.send(json.dumps({"now_ns": str(time.time_ns())}))
        routes.append(route)

    page.route_web_socket("**/ws/**", opened)
    page.goto(address)
    page.wait_for_selector("#live[data-state=live]")
    return routes[-1].send


def passed_through(page: Page, run: "Run", send: Callable[[bytes], None]) -> tuple[float, float]:
    """MiB held after all messages have passed, and the most that was in between."""
    session = page.context.new_cdp_session(page)
    most = after = 0.0
    for number in range(TOTAL // EACH):
        send(spans(run, number))
        # Each message is taken before the next, as acknowledging makes it.
        page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        if number % 10 == 9:
            after = held(session)
            most = max(most, after)
    return after, most


def modules(page: Page) -> tuple[float, float]:
    """kB of the page's scripts as they were sent, and unpacked."""
    sizes = page.evaluate(
        "performance.getEntriesByType('resource').filter((one) => one.name.endsWith('.js'))"
        ".map((one) => [one.encodedBodySize, one.decodedBodySize])"
    )
    return sum(one[0] for one in sizes) / 1000, sum(one[1] for one in sizes) / 1000


def main() -> None:
    """Print what is held before, at the highest, and after."""
    conditions("page memory", f"{TOTAL:,} phases in messages of {EACH:,}")
    with watched() as place, chromium() as browser:
        run = place.fill(LANES, 2_000)
        page = place.visitor(browser)
        send = feed(page, place.address(run, "?follow=all"))
        before, began = held(page.context.new_cdp_session(page)), time.monotonic()
        after, most = passed_through(page, run, send)
        took = time.monotonic() - began
        kept = page.evaluate("Number(document.querySelector('#live').dataset.spans)")
        sent, unpacked = modules(page)
    show([
        Row(name="with 2,000 phases", ours=before, unit="MiB"),
        Row(name=f"after {TOTAL:,} phases, {kept:,} of them kept", ours=after, unit="MiB", most=150),
        Row(name="the most in between", ours=most, unit="MiB", most=150),
        Row(name="taken a second", ours=TOTAL / took, unit="phases"),
        Row(name="own modules as sent", ours=sent, unit="kB", most=100),
        Row(name="own modules unpacked", ours=unpacked, unit="kB"),
    ])  # fmt: skip


if __name__ == "__main__":
    main()
