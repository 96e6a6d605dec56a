"""A browser that was cut off for a minute shows exactly what Postgres holds once it is back."""

import datetime
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.e2e.browser import EVERYTHING, Row, chromium, open_live_page, table_rows
from tests.e2e.product import Product, free_port, reachable_folder, started, until
from tests.faults.proxy import Proxy
from tests.faults.training import Training

CUT_S = 60


@pytest.fixture
def proxy() -> Iterator[Proxy]:
    proxy = Proxy(free_port())
    yield proxy
    proxy.close()


@pytest.fixture
def product(proxy: Proxy) -> Iterator[Product]:
    """Known to browsers by the proxy's address, to the training by its own."""
    public = f"http://127.0.0.1:{proxy.port}"
    with (
        reachable_folder() as folder,
        started(folder / "data", "--public-url", public, port=proxy.target_port) as product,
    ):
        yield product


@pytest.mark.timeout(300)
def test_a_browser_cut_off_for_a_minute_catches_up_with_postgres(
    product: Product, proxy: Proxy, tmp_path: Path
) -> None:
    training = Training(product, tmp_path, "cut", pause_s=0.4)
    try:
        run = until(30, training.run, "the run is known")
        with chromium() as browser:
            page = browser.new_page(viewport={"width": 1600, "height": 1000}, timezone_id="UTC")
            open_live_page(page, product.ready["login_url"], run["id"], EVERYTHING)
            until(20, lambda: len(table_rows(page)) > 10, "bars arrive")
            proxy.cut()
            page.wait_for_selector("#live[data-state='away']", timeout=20_000)
            before = len(training.phases())
            page.wait_for_timeout(CUT_S * 1000)
            assert len(training.phases()) > before + 50
            proxy.heal()
            page.wait_for_selector("#live[data-state='live']", timeout=20_000)
            training.finish()
            stored = Counter(
                (
                    p["worker"],
                    p["name"],
                    "–" if p["round"] < 0 else str(p["round"]),
                    clock_of(p["start"]),
                    p["state"],
                )
                for p in training.settled()
            )
            with suppress(AssertionError):
                until(10, lambda: shown_phases(table_rows(page)) == stored, "the table equals the database")
            shown = shown_phases(table_rows(page))
            assert shown - stored == Counter(), "shown beside what is stored"
            assert stored - shown == Counter(), "stored and not shown"
            assert shown.total() > 100
            assert page.get_attribute("#live", "data-spans") == str(stored.total())
    finally:
        training.close()


def clock_of(time: str) -> str:
    """A time of the REST interface as the page writes it: to the millisecond, cut off."""
    return datetime.datetime.fromisoformat(time).strftime("%H:%M:%S.%f")[:-3]


def shown_phases(rows: list[Row]) -> Counter[tuple[str, ...]]:
    states = {"": "ok", "slow": "ok", "failed": "error", "aborted: its process is gone": "aborted"}
    return Counter(
        (row.worker, row.phase, row.round, row.start, states.get(row.standing, row.standing)) for row in rows
    )
