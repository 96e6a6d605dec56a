"""A page of a run with very many phases begins with the newest, in their place, and fills up behind them."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from dashboard.live.snapshot import FIRST_SPANS
from dashboard.teams import login_links
from ingest.models import Run
from tests.cast import Cast
from tests.dashboard.live.stage import SECOND, Stage
from tests.e2e.training import painted, wait_for_spans

pytestmark = pytest.mark.e2e
ALL = FIRST_SPANS * 6 // 5


@pytest.fixture
def page(browser: Browser, web: str, people: Cast) -> Iterator[Page]:
    """An empty tab of the team's owner."""
    with browser.new_context(viewport={"width": 1400, "height": 900}) as context:
        page = context.new_page()
        page.goto(web + login_links.make(people.owner))
        yield page


@pytest.fixture
def run(people: Cast) -> Run:
    """A run of one worker whose phases follow each other without a pause, a few more than a page begins with."""
    stage = Stage(people.team)
    stage.begin_ns -= ALL // 10 * SECOND
    part = stage.worker("trainer-0")
    stage.store(part, stage.spans(part, ALL))
    return stage.run


def test_the_newest_phases_are_drawn_in_their_place_before_the_older_come(page: Page, web: str, run: Run) -> None:
    held: list[Route] = []
    page.route("**/live/spans?*", lambda route: held.append(route))  # noqa: PLW0108 - it takes no built-in
    page.goto(f"{web}/runs/{run.pk}/?group=none&follow=all")
    wait_for_spans(page, FIRST_SPANS)
    first = painted(page, 0)
    assert not page.locator("[data-part=empty]").is_visible()
    while not held:
        page.wait_for_timeout(20)
    held[0].continue_()
    wait_for_spans(page, ALL)
    assert first / painted(page, 0) == pytest.approx(FIRST_SPANS / ALL, abs=0.01)
    assert len(held) == 1


def test_phases_that_nobody_looks_at_come_too_so_that_a_link_to_one_finds_it(page: Page, web: str, run: Run) -> None:
    page.goto(f"{web}/runs/{run.pk}/?group=none&follow=30s&sel=0.0")
    wait_for_spans(page, ALL)
    expect(page.locator(".inspector .phase h3")).to_contain_text("train · trainer-0")
