"""The frame and the list in a real Chromium: themes, menus, keys, live rows, narrow screens, and nothing inline."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, expect

from dashboard.teams import login_links
from ingest.models import Run
from tests.cast import Cast
from tests.dashboard.runs_of import add_finding, add_round, add_workers, kinds, make_run

# The list refreshes itself every 3 s, on cores that other tests may keep busy.
expect.set_options(timeout=20_000)
MARKUP = "<img src=x onerror=\"document.title='broken'\">"


@contextmanager
def signed_in(browser: Browser, web: str, cast: Cast, width: int = 1600, scheme: str = "dark") -> Iterator[Page]:
    """A page of the owner, at the list of runs; at the end its console must have been silent."""
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)  # type: ignore[arg-type]
    page = context.new_page()
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text) if _is_trouble(message, page) else None)
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(web + login_links.make(cast.owner))
    expect(page).to_have_url(f"{web}/")
    try:
        yield page
        assert said == []
    finally:
        context.close()


def _is_trouble(message: ConsoleMessage, page: Page) -> bool:
    """Chromium also reports the status of a page that is an error page on purpose."""
    return message.type in {"error", "warning"} and message.location["url"] != page.url


def ground(page: Page) -> str:
    return str(page.evaluate("getComputedStyle(document.documentElement).backgroundColor"))


DARK, LIGHT = "rgb(15, 18, 22)", "rgb(246, 247, 249)"


def open_menu(page: Page) -> None:
    page.get_by_label("Account of olga").click()


def test_the_theme_follows_the_system_until_chosen_and_is_there_before_any_script(
    browser: Browser, web: str, people: Cast
) -> None:
    with signed_in(browser, web, people, scheme="light") as page:
        assert ground(page) == LIGHT
        open_menu(page)
        page.get_by_role("button", name="Dark").click()
        assert ground(page) == DARK
        page.goto(f"{web}/connect/")
        assert ground(page) == DARK
        assert 'data-theme="dark"' in page.request.get(f"{web}/connect/").text()
        open_menu(page)
        expect(page.get_by_role("button", name="Dark")).to_have_attribute("aria-pressed", "true")
        page.get_by_role("button", name="System").click()
        assert ground(page) == LIGHT
        assert "data-theme=" not in page.request.get(f"{web}/connect/").text()


def test_a_menu_closes_by_escape_and_by_a_click_elsewhere(browser: Browser, web: str, people: Cast) -> None:
    with signed_in(browser, web, people) as page:
        sign_out = page.get_by_role("button", name="Sign out")
        open_menu(page)
        expect(sign_out).to_be_visible()
        page.keyboard.press("Escape")
        expect(sign_out).to_be_hidden()
        open_menu(page)
        page.get_by_role("heading", name="Runs").click()
        expect(sign_out).to_be_hidden()
        open_menu(page)
        sign_out.click()
        expect(page).to_have_url(re.compile(r"/accounts/login/\?next=/$"))


def test_a_run_and_its_rounds_appear_without_a_reload(browser: Browser, web: str, people: Cast) -> None:
    with signed_in(browser, web, people) as page:
        expect(page.get_by_text("No run yet")).to_be_visible()
        page.evaluate("window.unchanged = true")
        run = make_run(people.team, "vit-b16")
        row = page.get_by_role("row", name="vit-b16")
        expect(row).to_be_visible()
        expect(page.locator("#totals")).to_contain_text("1 in Vision team · 1 running")
        add_round(run, 0, 52.3, kind_seconds=kinds(compute=30.0), gpu_waiting_share=0.43)
        expect(row).to_contain_text("52.3 s")
        Run.objects.update(state="failed")
        expect(row).to_contain_text("failed")
        assert page.evaluate("window.unchanged") is True


def test_focus_and_what_is_typed_survive_the_lists_own_refreshes(browser: Browser, web: str, people: Cast) -> None:
    run = make_run(people.team, "vit-b16")
    with signed_in(browser, web, people) as page:
        link = page.get_by_role("link", name="vit-b16")
        link.focus()
        add_round(run, 0, 52.3)
        expect(page.get_by_role("row", name="vit-b16")).to_contain_text("52.3 s")
        expect(link).to_be_focused()


def test_filters_narrow_the_list_and_stay_in_the_address(browser: Browser, web: str, people: Cast) -> None:
    make_run(people.team, "alpha", project="pets")
    make_run(people.team, "beta", project="words", state="finished")
    with signed_in(browser, web, people) as page:
        rows = page.locator("tbody tr")
        expect(rows).to_have_count(2)
        page.keyboard.press("/")
        expect(page.get_by_label("Search")).to_be_focused()
        page.keyboard.type("bet")
        expect(rows).to_have_count(1)
        expect(page).to_have_url(f"{web}/?q=bet")
        page.get_by_role("combobox", name="State").select_option("finished")
        expect(page).to_have_url(f"{web}/?q=bet&state=finished")
        page.reload()
        expect(rows).to_have_count(1)
        expect(page.get_by_role("combobox", name="State")).to_have_value("finished")
        page.get_by_label("Search").fill("")
        page.get_by_role("combobox", name="State").select_option("")
        expect(rows).to_have_count(2)
        expect(page).to_have_url(f"{web}/")
        page.get_by_label("Project").select_option("pets")
        expect(page.get_by_role("row", name="alpha")).to_be_visible()
        expect(rows).to_have_count(1)
        page.go_back()
        expect(rows).to_have_count(2)


def test_markup_in_names_is_shown_and_not_run(browser: Browser, web: str, people: Cast) -> None:
    run = make_run(people.team, MARKUP, project=MARKUP)
    add_finding(run, [0], phase=MARKUP)
    people.team.name = MARKUP
    people.team.save()
    with signed_in(browser, web, people) as page:
        expect(page.get_by_role("link", name=MARKUP).first).to_be_visible()
        assert page.locator("img").count() == 0
        assert page.title() == f"Runs of {MARKUP} · Roundwatch"


def test_the_keyboard_alone_opens_a_run(browser: Browser, web: str, people: Cast) -> None:
    run = make_run(people.team, "alpha")
    with signed_in(browser, web, people) as page:
        for _ in range(60):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement.id") == f"run-{run.pk}":
                break
        with page.expect_request(f"{web}/runs/{run.pk}/"):
            page.keyboard.press("Enter")


@pytest.mark.parametrize("path", ["/", "/connect/", "/accounts/password/change/", "/nothing/here/"])
def test_no_page_is_wider_than_a_phone(browser: Browser, web: str, people: Cast, path: str) -> None:
    run = make_run(people.team, "long-" + "x" * 120, project="p" * 120)
    add_workers(run, ["m"])
    for index in range(5):
        add_round(run, index, 10.0, kind_seconds=kinds(compute=9.0))
    add_finding(run, [1])
    with signed_in(browser, web, people, width=400) as page:
        page.goto(web + path)
        assert page.evaluate("document.documentElement.scrollWidth") <= 400


def test_a_token_is_made_shown_once_and_copied(browser: Browser, web: str, people: Cast) -> None:
    with signed_in(browser, web, people) as page:
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        page.get_by_role("link", name="Connect a run", exact=True).click()
        page.get_by_role("button", name="Make token").click()
        text = page.locator("#token").inner_text()
        assert text.startswith("rw_")
        page.locator("[data-copy=token]").click()
        expect(page.get_by_role("button", name="Copied")).to_be_visible()
        assert page.evaluate("navigator.clipboard.readText()") == text
        expect(page.get_by_role("cell", name="training hosts", exact=True)).to_be_visible()
        page.goto(f"{web}/connect/")
        assert text not in page.content()
