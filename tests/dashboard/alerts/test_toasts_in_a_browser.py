"""Toasts in a real Chromium: what opens while a page is open, beside the controls, and by the system if allowed."""

from dataclasses import replace

import pytest
from playwright.sync_api import Browser, Page, expect

from dashboard.alerts.tasks import tell
from ingest.models import Run
from tests.cast import Cast
from tests.dashboard.alerts.telling import SLOW, judged, slow_run
from tests.dashboard.test_in_a_browser import signed_in

NOTED = """
window.noted = [];
window.asked = 0;
class Noted extends EventTarget {
    static permission = "default";
    static async requestPermission() { window.asked += 1; return (Noted.permission = "granted"); }
    constructor(title, options) { super(); window.noted.push([title, options.tag]); }
}
window.Notification = Noted;
window.hide = (hidden) => {
    Object.defineProperty(document, "hidden", { configurable: true, get: () => hidden });
    document.dispatchEvent(new Event("visibilitychange"));
};
"""
# What is clicked at the middle of each control in sight, where that is not the control itself or a part of it.
COVERED = """() => [...document.querySelectorAll("a, button, input, select, summary")].filter((control) => {
    const { left, top, width, height } = control.getBoundingClientRect();
    const [x, y] = [left + width / 2, top + height / 2];
    if (!control.checkVisibility()) return false; // as in a menu that is closed
    if (!width || x < 0 || y < 0 || x >= innerWidth || y >= innerHeight || control.closest(".toast")) return false;
    return Boolean(document.elementFromPoint(x, y)?.closest(".toast"));
}).map((control) => control.outerHTML)"""


@pytest.fixture
def run(people: Cast) -> Run:
    return slow_run(people.team)


def opened(run: Run, *phases: str) -> None:
    judged(run, *(replace(SLOW, phase=phase, fingerprint=f"straggler:{phase}") for phase in phases))
    tell()


def holds(page: Page, condition: str) -> None:
    """Wait for it; Playwright's own way is one that the page's policy forbids."""
    for _ in range(200):
        if page.evaluate(condition):
            return
        page.wait_for_timeout(100)
    raise AssertionError(condition)


def look_again(page: Page) -> None:
    """As who comes back to the tab does; else it asks every five seconds."""
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")


def asked_once(page: Page) -> None:
    """The page knows from when on it asks."""
    holds(page, "sessionStorage.getItem('roundwatch.news') !== null")


@pytest.mark.parametrize(("width", "scheme"), [(1600, "dark"), (400, "light")])
def test_what_opens_is_said_in_one_line_beside_all_controls_until_it_is_dismissed(
    browser: Browser, web: str, people: Cast, run: Run, width: int, scheme: str
) -> None:
    opened(run, "before")
    with signed_in(browser, web, people, width, scheme) as page:
        asked_once(page)
        toasts = page.locator("#toasts")
        expect(toasts).to_have_attribute("role", "status")
        opened(run, "before", "encode", "upload", "apply")
        expect(toasts).to_contain_text("and 2 more")
        expect(toasts.locator("p")).to_have_count(1)
        expect(toasts).not_to_contain_text("before")
        for path in ("/", "/alerts/", "/thresholds/", f"/runs/{run.pk}/"):
            if page.url != web + path:
                page.goto(web + path)
                asked_once(page)
                opened(run, "before", "encode", "upload", "apply", path.strip("/").split("/")[0])
                look_again(page)
                expect(toasts.locator("p")).to_have_count(1)
            assert page.evaluate(COVERED) == [], path
            assert page.evaluate("document.documentElement.scrollWidth") <= width, path
        close = toasts.get_by_role("button", name="Dismiss")
        close.focus()
        page.keyboard.press("Enter")
        expect(toasts).to_be_empty()
        expect(page.locator("#content")).to_be_focused()


def test_a_toast_leads_to_its_incident(browser: Browser, web: str, people: Cast, run: Run) -> None:
    with signed_in(browser, web, people) as page:
        asked_once(page)
        opened(run, "<b>encode</b>")
        page.get_by_role("link", name="slow <b>encode</b> on host-07").click()
        expect(page.get_by_role("heading", name="slow <b>encode</b>")).to_be_visible()
        asked_once(page)
        expect(page.locator("#toasts")).to_be_empty()


def test_the_system_notifies_only_who_has_asked_for_it_and_once_however_many_open(
    browser: Browser, web: str, people: Cast, run: Run
) -> None:
    with signed_in(browser, web, people) as page:
        page.add_init_script(NOTED)
        page.reload()
        asked_once(page)
        page.evaluate("hide(true)")
        opened(run, "first")
        page.evaluate("hide(false)")
        expect(page.locator("#toasts")).to_contain_text("slow first")
        assert page.evaluate("[window.asked, window.noted]") == [0, []]

        page.get_by_label("Account of olga").click()
        switch = page.get_by_role("button", name="Notifications")
        expect(switch).to_have_text("Notifications: off")
        switch.click()
        expect(switch).to_have_text("Notifications: on")
        page.evaluate("hide(true)")
        opened(run, "first", "second", "third")
        holds(page, "window.noted.length === 1")
        ((title, tag),) = page.evaluate("window.noted")
        assert title.startswith("slow ")
        assert tag.startswith("/alerts/")

        page.evaluate("hide(false)")
        switch.click()
        expect(switch).to_have_text("Notifications: off")
        assert page.evaluate("window.asked") == 1
