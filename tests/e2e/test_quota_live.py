"""A quota below a training's threads, from the kernel to the page: a real cgroup, agent, server and browser."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from ingest.models import Series
from tests.agents import cgroups
from tests.agents.conftest import Site
from tests.cast import Cast
from tests.e2e.product import until
from tests.e2e.training import Training, watching

pytestmark = pytest.mark.e2e
expect.set_options(timeout=15_000)
QUERY = "?group=none&follow=all"
STARVED = """
import os, sys, threading
from pathlib import Path
Path(sys.argv[1], "cgroup.procs").write_text(str(os.getpid()))
import roundwatch
run = roundwatch.init("p", run_id="r", worker="trainer-0")
stop = Path(sys.argv[2])
def work():
    while not stop.exists():
        sum(range(10_000))
with run.round(0), run.phase("encode"):
    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
"""


@pytest.fixture
def group() -> Iterator[Path]:
    """A cgroup with a quota of a fifth of a CPU."""
    with cgroups.group("cpu", cgroups.QUOTA, {}) as folder:
        yield folder


@pytest.fixture
def training(group: Path, web: str, people: Cast) -> Training:
    return Training(web, people, names=("trainer-0",))


@pytest.fixture
def site(tmp_path: Path, training: Training) -> Iterator[Site]:
    """A host with a real shipper, which samples as often as it may."""
    site = Site(tmp_path / "spool", training.web, training.token)
    site.environment["ROUNDWATCH_SAMPLE_S"] = "0.5"
    site.shipper()
    yield site
    site.close()


def test_a_phase_that_a_quota_holds_back_says_so_in_its_panel(
    browser: Browser, group: Path, training: Training, site: Site, tmp_path: Path
) -> None:
    stop = tmp_path / "stop"
    process = site.python(STARVED, str(group), str(stop))
    throttled = Series.objects.filter(metric="cgroup_cpu_throttled_ratio", worker__name="trainer-0")
    until(40, throttled.exists, "throttling is told")
    with watching(browser, training, QUERY) as page:
        stop.touch()
        assert process.wait(40) == 0
        page.locator("[data-part=grid]").focus()
        page.keyboard.press("ArrowDown")
        expect(page.locator(".inspector .phase h3")).to_contain_text("encode · trainer-0")
        told = page.get_by_label("While it ran")
        expect(told).to_contain_text("CPU throttled")
        expect(told.locator("[data-tone=warn]").first).to_contain_text("of the periods")
        expect(told).to_contain_text("held back")
        expect(told).to_contain_text("0.2\u00a0CPUs")
