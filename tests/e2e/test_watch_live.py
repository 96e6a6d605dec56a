"""A person watches the demo: rounds appear, open bars grow, and the starved encoder is marked."""

import datetime
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page

from tests.e2e.browser import EVERYTHING, chromium, open_live_page, rounds_shown, seconds_of, table_rows
from tests.e2e.product import REPOSITORY, Product, reachable_folder, started, until

STARVED = "trainer-2"
pytestmark = pytest.mark.alone  # only the starved one may be slow, and the mark be there in time


@pytest.fixture(scope="module")
def product() -> Iterator[Product]:
    with (
        reachable_folder() as folder,
        started(folder / "data", "--demo", "--demo-args", f"--starve-encoder {STARVED[-1]}") as product,
    ):
        yield product


@pytest.fixture(scope="module")
def run(product: Product) -> dict[str, Any]:
    return until(30, lambda: product.get("/api/v1/runs")["items"], "the demo's run is listed")[0]


@pytest.fixture(scope="module")
def page(product: Product, run: dict[str, Any]) -> Iterator[Page]:
    with chromium() as browser:
        page = browser.new_page(viewport={"width": 1600, "height": 1000})
        open_live_page(page, product.ready["login_url"], run["id"], EVERYTHING)
        yield page


def test_bars_of_three_rounds_are_on_the_screen_within_a_minute(product: Product, page: Page) -> None:
    left = 60 - (time.monotonic() - product.started - product.ready_after)
    until(left, lambda: len(rounds_shown(page)) >= 3, "bars of three rounds")


def test_open_bars_grow_between_two_looks(page: Page) -> None:
    def open_bars() -> dict[tuple[str, ...], float]:
        return {
            (row.worker, row.phase, row.round, row.start): seconds_of(row.duration)
            for row in table_rows(page)
            if row.standing == "still open"
        }

    def grown() -> bool:
        before = open_bars()
        page.wait_for_timeout(700)
        after = open_bars()
        both = before.keys() & after.keys()
        assert all(after[bar] >= before[bar] for bar in both)
        return any(after[bar] > before[bar] + 0.3 for bar in both)

    until(30, grown, "an open bar grows")


@pytest.mark.timeout(240)
def test_the_starved_encoder_is_marked_within_three_seconds_and_nobody_who_waits(
    product: Product, page: Page, run: dict[str, Any]
) -> None:
    slow = until(120, lambda: [row for row in table_rows(page) if row.standing == "slow"], "a bar is marked slow")
    seen = time.time()

    def ends() -> list[str]:
        rounds = {str(one["index"]): one for one in product.items(f"/api/v1/runs/{run['id']}/rounds")}
        found = [rounds[row.round]["end"] for row in slow]
        return found if all(found) else []

    # While it is still open a phase may be called slow, too.
    ended = until(60, ends, "the rounds of what is slow have ended")
    assert seen - max(datetime.datetime.fromisoformat(end).timestamp() for end in ended) <= 3
    assert (STARVED, "encode") in {(row.worker, row.phase) for row in slow}
    assert {row.worker for row in slow if row.phase == "encode"} == {STARVED}
    assert not [row for row in slow if row.kind == "wait"]
    page.goto(page.url.split("?")[0] + f"?round={slow[0].round}")
    page.wait_for_selector("#live[data-state='live']")
    panel = page.locator("[data-part='inspector']")
    until(10, lambda: "observed" in panel.inner_text().lower(), "the panel says what was observed")


def test_five_rounds_are_explained_by_recorded_phases(product: Product, run: dict[str, Any]) -> None:
    def judged() -> list[dict[str, Any]]:
        rounds = list(product.items(f"/api/v1/runs/{run['id']}/rounds"))
        done = [one for one in rounds if one["coverage"] is not None]
        return done if len(done) >= 5 else []

    rounds = until(150, judged, "five rounds are judged")[:5]
    shares = [one["coverage"] for one in rounds]
    wall = sum(one["wall_s"] for one in rounds)
    explained = sum(one["coverage"] * one["wall_s"] for one in rounds)
    assert explained / wall >= 0.95, shares


def test_the_model_learns(product: Product, run: dict[str, Any]) -> None:
    def accuracies() -> list[float]:
        found = list(product.items(f"/api/v1/runs/{run['id']}/samples?metric=accuracy"))
        return [sample["value"] for sample in sorted(found, key=lambda sample: sample["time"])]

    values = until(60, lambda: found if len(found := accuracies()) >= 8 else [], "accuracies are logged")
    assert values[-1] > values[0]


def test_another_login_link_leads_to_the_same_server(product: Product) -> None:
    environment = {"PATH": os.environ["PATH"], "ROUNDWATCH_DATA": str(product.data)}
    command = [sys.executable, str(REPOSITORY / "manage.py"), "login_url"]
    link = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.strip()
    assert link.startswith(f"{product.url}/login/")


def test_sigterm_leaves_no_process_within_ten_seconds(product: Product) -> None:
    assert product.processes()
    assert product.terminate(10) == set()
