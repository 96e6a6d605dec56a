"""The list of runs in a real Chromium: narrowed, sorted, chosen from by keyboard, through its own refreshes."""

import re

import pytest
from django.utils import timezone
from playwright.sync_api import Browser, Page, expect

from dashboard.runs.models import Star
from ingest.models import Run
from tests.cast import Cast
from tests.dashboard.runs_of import add_finding, add_round, add_workers, kinds, make_run, settle
from tests.dashboard.test_in_a_browser import signed_in


def rows(page: Page) -> list[str]:
    return [text.strip() for text in page.locator("#runs .name a").all_inner_texts()]


@pytest.fixture
def history(people: Cast) -> Cast:
    for number in range(4):
        run = make_run(
            people.team, f"run-{number}", age_m=number, state="finished", ended_at=timezone.now(),
            tags=["even"] if number % 2 == 0 else [], config={"lr": 10.0**-number},
        )  # fmt: skip
        add_workers(run, ["m"] * (number + 1))
        add_round(run, 0, 10.0 + number, kind_seconds=kinds(compute=5.0, encode=2.0), gpu_waiting_share=0.4)
    add_finding(run, [0])
    settle()
    return people


def test_the_list_is_narrowed_by_menu_and_widened_by_chips(browser: Browser, web: str, history: Cast) -> None:
    with signed_in(browser, web, history) as page:
        page.get_by_text("+ filter").click()
        page.get_by_label("Configuration").fill("lr <= 0.01")
        page.get_by_label("Configuration").press("Enter")
        expect(page.locator("#runs .name a")).to_have_count(2)
        expect(page).to_have_url(f"{web}/?config=lr+%3C%3D+0.01")
        page.get_by_label("Tag", exact=True).fill("even")
        page.get_by_label("Tag", exact=True).press("Tab")
        expect(page.locator("#runs .name a")).to_have_count(1)
        assert rows(page) == ["run-2"]
        page.keyboard.press("Escape")
        page.get_by_role("link", name="Without config.lr <= 0.01").click()
        expect(page).to_have_url(f"{web}/?tag=even")
        assert rows(page) == ["run-0", "run-2"]
        page.get_by_role("link", name="Clear all").click()
        expect(page.locator("#runs .name a")).to_have_count(4)


def test_nonsense_is_answered_while_it_is_typed(browser: Browser, web: str, history: Cast) -> None:
    with signed_in(browser, web, history) as page:
        page.get_by_text("+ filter").click()
        page.get_by_label("Configuration").fill("lr <")
        page.get_by_label("Configuration").press("Enter")
        expect(page.get_by_text("is not understood")).to_be_visible()
        expect(page.locator("#runs .name a")).to_have_count(4)


def test_a_heading_sorts_and_the_order_outlives_a_filter(browser: Browser, web: str, history: Cast) -> None:
    with signed_in(browser, web, history) as page:
        page.get_by_role("link", name="Round time").click()
        expect(page).to_have_url(f"{web}/?sort=-round_time")
        assert rows(page) == ["run-3", "run-2", "run-1", "run-0"]
        page.get_by_role("combobox", name="Findings").select_option("open")
        expect(page.locator("#runs .name a")).to_have_count(1)
        expect(page).to_have_url(re.compile(r"findings=open&sort=-round_time"))


def test_runs_are_chosen_and_tagged_by_keyboard_alone(browser: Browser, web: str, history: Cast) -> None:
    with signed_in(browser, web, history) as page:
        page.keyboard.press("j")
        page.keyboard.press("x")
        page.keyboard.press("j")
        page.keyboard.press("j")
        page.keyboard.press("k")
        page.keyboard.press("x")
        expect(page.locator("#how-many")).to_have_text("2 chosen")
        # What is chosen outlives the list's own refresh.
        Run.objects.filter(name="run-3").update(name="renamed")
        expect(page.get_by_role("link", name="renamed")).to_be_visible()
        expect(page.locator("#how-many")).to_have_text("2 chosen")
        assert page.locator("#runs input:checked").count() == 2
        page.get_by_label("Tags, set apart by commas").fill("best")
        page.keyboard.press("Enter")
        expect(page.locator("#how-many")).to_have_text("0 chosen")
        assert sorted(Run.objects.filter(tags__contains="best").values_list("name", flat=True)) == ["run-0", "run-1"]


def test_a_star_is_set_without_a_reload(browser: Browser, web: str, history: Cast) -> None:
    with signed_in(browser, web, history) as page:
        page.evaluate("window.unchanged = true")
        star = page.get_by_role("button", name="Star run-1")
        star.click()
        expect(star).to_have_attribute("aria-pressed", "true")
        assert Star.objects.get().user == history.owner
        star.click()
        expect(star).to_have_attribute("aria-pressed", "false")
        assert page.evaluate("window.unchanged") is True


def test_a_rows_menu_stays_open_while_the_list_refreshes(browser: Browser, web: str, history: Cast) -> None:
    with signed_in(browser, web, history) as page:
        page.get_by_label("Edit run-0").click()
        archive = page.get_by_role("button", name="Archive", exact=True).locator("visible=true")
        expect(archive).to_be_visible()
        Run.objects.filter(name="run-3").update(name="renamed")
        with page.expect_response(lambda answer: "/alerts" in answer.url):  # the page has asked for something meanwhile
            pass
        archive.click()
        expect(page.locator("#runs .name a")).to_have_count(3)
        assert Run.objects.get(name="run-0").archived_at is not None


def test_several_runs_are_deleted_after_a_question(browser: Browser, web: str, history: Cast) -> None:
    with signed_in(browser, web, history) as page:
        for name in ("run-0", "run-3"):
            page.get_by_label(f"Choose {name}").check()
        page.get_by_role("button", name="Delete…").click()
        expect(page.get_by_role("heading", name="Delete 2 runs?")).to_be_visible()
        page.get_by_role("button", name="Delete", exact=True).click()
        expect(page.get_by_text("2 runs are deleted.")).to_be_visible()
        assert rows(page) == ["run-1", "run-2"]


def test_a_view_is_saved_and_columns_are_chosen(browser: Browser, web: str, history: Cast) -> None:
    with signed_in(browser, web, history) as page:
        page.goto(f"{web}/?tag=even")
        page.get_by_text("Save view").click()
        page.get_by_label("Name, for everybody in the team").fill("Even ones")
        page.keyboard.press("Enter")
        expect(page.locator(".views summary")).to_contain_text("Even ones")
        page.goto(f"{web}/")
        page.locator(".views summary").click()
        page.get_by_role("link", name="Even ones").click()
        expect(page.locator("#runs .name a")).to_have_count(2)
        page.get_by_text("Columns").click()
        page.get_by_label("GPU-hours").uncheck()
        page.get_by_label("Items/s").check()
        page.get_by_role("button", name="Show these").click()
        expect(page.get_by_role("columnheader", name="Items/s")).to_be_visible()
        expect(page.get_by_role("columnheader", name="GPU-hours")).to_have_count(0)
        expect(page).to_have_url(f"{web}/?tag=even")


@pytest.mark.parametrize("opened", ["+ filter", "Columns", "Views", None])
def test_nothing_of_the_list_is_wider_than_a_phone(
    browser: Browser, web: str, history: Cast, opened: str | None
) -> None:
    with signed_in(browser, web, history, width=400) as page:
        page.goto(f"{web}/?q=run&tag=even&config={'x' * 150}+%3C+3")
        if opened:
            page.locator("summary", has_text=opened).first.click()
        assert page.evaluate("document.documentElement.scrollWidth") <= 400
