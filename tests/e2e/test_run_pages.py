"""A run's pages as a person uses them: key figures and their definitions, rounds, charts of metrics, links to a bar."""

import re

import pytest
from playwright.sync_api import Browser, Page, expect

from ingest.models import Run
from tests.cast import Cast
from tests.dashboard.runs_of import add_finding
from tests.e2e.hostile import DOCUMENT_BREAKS, hostile_run
from tests.e2e.test_heat_map import encoded, looking
from tests.e2e.test_hostile_pages import sound, visiting
from tests.e2e.training import Training
from tests.ingest.batches import SECOND

pytestmark = pytest.mark.e2e
expect.set_options(timeout=10_000)
WIDTHS = [1600, 400]
LOSSES = (3.0, 2.0, 1.5, 1.25)
LAYERED = (
    "() => [...document.querySelectorAll('.main-svg')].every((one) => getComputedStyle(one).position === 'absolute')"
)


@pytest.fixture
def logged(web: str, people: Cast) -> Run:
    """Two trainers that log a loss in each of four rounds, one of them under a hostile name."""
    training = Training(web, people, names=("trainer-0", DOCUMENT_BREAKS))
    for rank, recorder in enumerate(training.recorders):
        for index, loss in enumerate(LOSSES):
            at = training.at(index * 10)
            recorder.begin_round(index, at).phase("train", at, at + 8 * SECOND, round=index)
            recorder.sample("loss", loss + rank, at + 9 * SECOND, source="training", round=index, unit="<i>nats</i>")
            recorder.end_round(index, at + 9 * SECOND)
    training.say()
    return training.run


def drawn(page: Page) -> None:
    expect(page.locator(".chart[data-chart=ready] .scatterlayer .trace")).to_have_count(2)


@pytest.mark.parametrize("width", WIDTHS)
def test_metrics_are_drawn_under_the_policy_and_names_in_them_are_text(
    browser: Browser, web: str, people: Cast, logged: Run, width: int
) -> None:
    with visiting(browser, web, people, width) as page:
        page.goto(f"{web}/runs/{logged.pk}/metrics/?metric=loss")
        drawn(page)
        assert page.evaluate(LAYERED)
        expect(page.locator(".chart .legendtext").nth(1)).to_have_text(DOCUMENT_BREAKS)
        assert page.locator(".chart :is(img, i), .chart a[href]").count() == 0
        page.locator(".chart").hover()
        buttons = page.locator(".chart .modebar-btn").evaluate_all("all => all.map((one) => one.dataset.title)")
        assert buttons == ["Zoom", "Pan", "Zoom in", "Zoom out", "Reset axes"]
        sound(page, width)
        page.get_by_text("Table", exact=True).focus()
        page.keyboard.press("Enter")
        row = page.locator(".metric tbody tr").nth(1)
        expect(row).to_contain_text(DOCUMENT_BREAKS)
        expect(row.locator("td")).to_have_text(["4", "2.25", "2.25", "2.9375", "4"])
        sound(page, width)


def test_a_chart_follows_the_theme_and_the_choice_of_workers_and_rounds(
    browser: Browser, web: str, people: Cast, logged: Run
) -> None:
    ink = "() => getComputedStyle(document.querySelector('.chart .xtick text')).fill"
    with looking(browser, web, people, f"/runs/{logged.pk}/metrics/?metric=loss") as page:
        drawn(page)
        before = page.evaluate(ink)
        page.evaluate("document.documentElement.dataset.theme = 'dark'")
        page.wait_for_function(f"(before) => ({ink})() !== before", arg=before)
        page.get_by_text(re.compile("Workers: all")).focus()
        page.keyboard.press("Enter")
        page.get_by_label("trainer-0").check()
        page.get_by_label("Over").select_option("round")
        page.get_by_role("button", name="Show", exact=True).click()
        expect(page).to_have_url(re.compile("worker=trainer-0&x=round"))
        expect(page.locator(".chart[data-chart=ready] .scatterlayer .trace")).to_have_count(1)
        expect(page.locator(".chart .xtitle")).to_have_text("round")


@pytest.mark.parametrize("width", WIDTHS)
def test_from_the_overview_by_keys_to_a_definition_a_setting_and_the_slowest_round(
    browser: Browser, web: str, people: Cast, width: int
) -> None:
    run = encoded(web, people, 2)
    run.config = {"optimizer": {"name": "adamw", "lr": 0.1}, "seed": 7}
    run.save()
    add_finding(run, [4])
    with looking(browser, web, people, f"/runs/{run.pk}/overview/", width) as page:
        page.get_by_text("Round time, median", exact=True).focus()
        page.keyboard.press("Enter")
        expect(page.locator(".definition[open] p")).to_contain_text("Of the 11 closed rounds, warm-up left out.")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        page.keyboard.press("Escape")
        expect(page.locator(".definition[open]")).to_have_count(0)
        page.get_by_label("Search the configuration").fill("OPT adam")
        expect(page.locator("[data-setting]:visible")).to_have_count(1)
        expect(page.locator("[data-part=said]")).to_have_text("1 match")
        expect(page.locator(".stories a").first).to_have_attribute("href", re.compile(r"from=\d+&to=\d+&round=4"))
        page.get_by_role("link", name="as a table").focus()
        page.keyboard.press("Enter")
        page.get_by_role("link", name="Slowest first").focus()
        page.keyboard.press("Enter")
        expect(page).to_have_url(re.compile("sort=slowest"))
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        page.locator(".rounds-table a").first.focus()
        page.keyboard.press("Enter")
        page.wait_for_selector("[data-state=live]")
        expect(page.locator("[data-part=inspector] h2").first).to_have_text(re.compile(r"Where (round|step) \d+ went"))


def test_a_copied_link_opens_the_same_bar(browser: Browser, web: str, people: Cast) -> None:
    run = encoded(web, people, 2)
    with looking(browser, web, people, f"/runs/{run.pk}/?follow=all") as page:
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        page.wait_for_selector("[data-state=live]")
        page.locator("[data-part=grid]").focus()
        page.keyboard.press("ArrowRight")
        title = page.locator(".inspector .phase h3")
        expect(title).to_contain_text("host-")
        told = title.text_content() or ""
        page.keyboard.press("c")
        expect(page.get_by_role("button", name="Copied")).to_be_visible()
        link = page.evaluate("navigator.clipboard.readText()")
        assert re.fullmatch(rf"{web}/runs/{run.pk}/\?.*from=\d+&to=\d+&round=\d+&sel=\d+\.\d+", link), link
        page.goto("about:blank")
        page.goto(link)
        expect(title).to_have_text(told)


@pytest.mark.parametrize("width", WIDTHS)
def test_hostile_names_are_text_on_the_pages_of_a_run(browser: Browser, web: str, people: Cast, width: int) -> None:
    hostile_run(web, people)
    run = Run.objects.get(key=DOCUMENT_BREAKS)
    with visiting(browser, web, people, width) as page:
        for path in ("overview/", "rounds/", "rounds/?sort=slowest", "metrics/", f"metrics/?metric={DOCUMENT_BREAKS}"):
            page.goto(f"{web}/runs/{run.pk}/{path}")
            expect(page.locator("h1")).to_have_count(1)
            sound(page, width)
