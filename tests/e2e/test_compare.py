"""Comparing as a person does: runs added by keys, rounds that move together, an investigation begun from a finding."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, Page, expect

from dashboard.teams import login_links
from ingest.models import Run
from tests.cast import Cast
from tests.dashboard.runs.compared import told_run
from tests.dashboard.runs_of import add_finding

pytestmark = pytest.mark.e2e
expect.set_options(timeout=10_000)


@pytest.fixture
def runs(web: str, people: Cast) -> list[Run]:
    """One run that encodes for 12 s, and one that does for 2 s."""
    return [told_run(people.team, key, encode=encode).run for key, encode in (("slow", 12.0), ("quick", 2.0))]


@contextmanager
def looking(browser: Browser, web: str, cast: Cast, path: str, width: int = 1600) -> Iterator[Page]:
    """A member's page; at the end its console must have been silent."""
    with browser.new_context(viewport={"width": width, "height": 900}) as context:
        page = context.new_page()
        page.goto(web + login_links.make(cast.member))
        said: list[str] = []
        page.on("console", lambda message: said.append(message.text) if message.type in {"error", "warning"} else None)
        page.on("pageerror", lambda error: said.append(str(error)))
        page.goto(web + path)
        yield page
        assert said == []


def boxes(page: Page) -> list[list[float]]:
    """What stretch each picture shows: its begin and its length in milliseconds."""
    found = page.locator(".bars").evaluate_all("all => all.map((one) => one.getAttribute('viewBox'))")
    return [[float(part) for part in one.split()[::2]] for one in found]


@pytest.mark.parametrize("width", [400, 1600])
def test_runs_are_found_by_keys_and_rounds_move_in_step(
    browser: Browser, web: str, people: Cast, runs: list[Run], width: int
) -> None:
    with looking(browser, web, people, "/", width) as page:
        page.get_by_role("navigation", name="Main").get_by_role("link", name="Compare").focus()
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name="Compare runs")).to_be_visible()
        for name, letter in (("slow", "A"), ("quick", "B")):
            page.get_by_role("searchbox").fill(name)
            page.keyboard.press("Enter")
            expect(page.get_by_role("searchbox")).to_have_value(name)
            page.get_by_role("link", name=f"Add as {letter}: {name}").focus()
            page.keyboard.press("Enter")
            expect(page.get_by_role("link", name=f"Take {letter} out")).to_be_visible()
        expect(page.get_by_role("heading", name="No speed-up is said")).to_be_visible()
        expect(page).to_have_url(re.compile(rf"\?run={runs[0].pk}&run={runs[1].pk}$"))
        whole = boxes(page)
        assert whole[0] == whole[1]
        page.locator("[data-part=together]").focus()
        page.keyboard.press("w")
        page.keyboard.press("ArrowRight")
        zoomed = boxes(page)
        assert zoomed[0] == zoomed[1]
        assert zoomed[0][0] > 0
        assert zoomed[0][1] == pytest.approx(0.8 * whole[0][1])
        expect(page.locator("[data-part=said]")).to_contain_text(" to ")
        assert page.locator("[data-part=axis] text").first.text_content() != "0\u00a0s"
        page.keyboard.press("0")
        assert boxes(page) == whole
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        expect(page.get_by_text("Wall time of a round")).to_be_hidden()
        page.get_by_text("Round time", exact=True).first.click()
        expect(page.get_by_text("Wall time of a round")).to_be_visible()
        page.get_by_role("link", name="Take B out").click()
        expect(page.get_by_role("heading", name="No speed-up is said")).to_have_count(0)


def test_dragging_pans_all_rounds(browser: Browser, web: str, people: Cast, runs: list[Run]) -> None:
    with looking(browser, web, people, f"/compare/?run={runs[0].pk}&run={runs[1].pk}") as page:
        page.locator("[data-part=together]").focus()
        page.keyboard.press("w")
        before = boxes(page)[0]
        picture = page.locator(".bars").nth(1)
        picture.scroll_into_view_if_needed()
        place = picture.bounding_box()
        assert place
        page.mouse.move(place["x"] + 300, place["y"] + 10)
        page.mouse.down()
        page.mouse.move(place["x"] + 250, place["y"] + 10)
        page.mouse.up()
        after = boxes(page)
        assert after[0] == after[1]
        assert after[0][0] == pytest.approx(before[0] + 50 / place["width"] * before[1], rel=0.02)


def test_a_finding_in_the_timeline_leads_to_an_investigation(
    browser: Browser, web: str, people: Cast, runs: list[Run]
) -> None:
    add_finding(runs[0], [1])
    with looking(browser, web, people, f"/runs/{runs[0].pk}/?round=1") as page:
        page.get_by_role("link", name=re.compile("Investigate: Slow")).first.click()
        page.get_by_label("What was changed?").fill("A thread for each CPU of the quota")
        page.get_by_role("button", name="Open the investigation").click()
        expect(page.get_by_role("heading", name="slow encode")).to_be_visible()
        expect(page.get_by_text("The investigation is open.")).to_be_visible()
        page.get_by_label("Add a run").select_option(str(runs[1].pk))
        page.get_by_role("button", name="Add", exact=True).click()
        row = page.get_by_role("row").filter(has_text="quick")
        expect(row.locator("[data-answer=passed]")).to_be_visible()
        page.get_by_role("link", name="Compare them").click()
        expect(page.get_by_role("heading", name="Compare runs")).to_be_visible()
