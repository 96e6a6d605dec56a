"""Trends and the wait for a first record in a real Chromium: charts that lead to runs, tabs by key, no shifting."""

import re

import pytest
from playwright.sync_api import Browser, Page, expect

from ingest.models import Token
from tests.cast import Cast
from tests.dashboard.runs_of import add_figures, make_run
from tests.dashboard.test_in_a_browser import MARKUP, signed_in
from tests.ingest import scenarios
from tests.ingest.storing import Story

GIB = 1 << 30


def some_runs(people: Cast) -> None:
    for at in range(8):
        run = make_run(people.team, f"run-{at}" if at else MARKUP, age_m=1440 * (8 - at), model_bytes=GIB)
        more = {"device": "Tesla T4"} if at % 3 == 2 else {}
        add_figures(
            run, 40.0 + at, waiting_share=0.4, comm_share=0.1, encode_s_p95=3.0, memory_peak_bytes=(4 + at) * GIB,
            **more,
        )  # fmt: skip


def first_point(page: Page, measure: str) -> None:
    """Click on the first point of a chart."""
    chart = page.locator(f"[data-measure={measure}]")
    expect(chart).to_have_attribute("data-chart", "ready")
    box = chart.locator(".point").first.bounding_box()
    assert box
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)


@pytest.mark.parametrize(("width", "scheme"), [(1600, "dark"), (400, "light")])
def test_charts_are_drawn_and_lead_to_their_runs(
    browser: Browser, web: str, people: Cast, width: int, scheme: str
) -> None:
    some_runs(people)
    with signed_in(browser, web, people, width, scheme) as page:
        page.get_by_role("link", name="Trends").click()
        expect(page.locator("[data-chart=failed]")).to_have_count(0)
        expect(page.get_by_role("list", name="Conditions").get_by_role("listitem")).to_have_count(2)
        charts = page.locator("[data-measure]")
        for at in range(charts.count()):
            charts.nth(at).scroll_into_view_if_needed()
            expect(charts.nth(at)).to_have_attribute("data-chart", "ready")
        assert page.title() != "broken"
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        page.evaluate("scrollTo(0, 0)")
        first_point(page, "round_s")
        expect(page).to_have_url(re.compile("/runs/[0-9a-f-]{36}/"))


def test_a_choice_stays_in_the_address_and_needs_no_button(browser: Browser, web: str, people: Cast) -> None:
    some_runs(people)
    with signed_in(browser, web, people) as page:
        page.goto(f"{web}/trends/")
        drawn = page.locator("[data-chart]").first  # the script is there
        expect(drawn).to_be_attached()
        page.get_by_label("Device").select_option("Tesla T4")
        expect(page).to_have_url(f"{web}/trends/?project=vit-pets&device=Tesla+T4")
        expect(page.locator("tbody tr")).to_have_count(2)
        expect(drawn).to_be_attached()
        page.get_by_label("Over").select_option("weeks")
        expect(page.get_by_role("columnheader", name="Week")).to_be_visible()
        page.go_back()
        expect(page.get_by_role("columnheader", name="Run", exact=True)).to_be_visible()


def test_ways_to_connect_are_chosen_by_key(browser: Browser, web: str, people: Cast) -> None:
    with signed_in(browser, web, people) as page:
        page.goto(f"{web}/connect/")
        expect(page.locator("#plain")).to_be_visible()
        expect(page.locator("#lightning")).to_be_hidden()
        page.get_by_role("radio", name="Plain loop").focus()
        page.keyboard.press("ArrowRight")
        expect(page.locator("#torchrun")).to_be_visible()
        expect(page.locator("#plain")).to_be_hidden()
        page.keyboard.press("ArrowRight")
        expect(page.locator("#lightning")).to_be_visible()


def test_the_page_turns_into_the_timeline_when_the_first_record_is_there(
    browser: Browser, web: str, people: Cast
) -> None:
    with signed_in(browser, web, people) as page:
        page.goto(f"{web}/connect/")
        page.get_by_role("button", name="Make token").click()
        expect(page.get_by_text("Waiting for the first record")).to_be_visible()
        Token.objects.update(last_used_at="2026-03-01T12:00:00Z")
        story = Story(people.team, scenarios.healthy(2, 1))
        story.tell(0)
        expect(page).to_have_url(f"{web}/runs/{story.run.pk}/")
