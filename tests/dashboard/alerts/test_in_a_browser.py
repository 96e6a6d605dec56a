"""The inbox in a real Chromium: worked through by keyboard, current by itself, and without anything inline."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from playwright.sync_api import Browser, Page, expect

from dashboard.alerts.models import Alert, AlertState
from dashboard.alerts.tasks import tell
from ingest.models import Run
from tests.cast import Cast
from tests.dashboard.alerts.telling import SLOW, judged, slow_run
from tests.dashboard.test_in_a_browser import signed_in

PHASES = ("apply", "encode", "upload")


@pytest.fixture
def run(people: Cast) -> Run:
    """A run with an alert for each phase, the first of them opened last."""
    run = slow_run(people.team)
    judged(run, *(
        replace(SLOW, phase=phase, fingerprint=f"straggler:{phase}", opened_ns=SLOW.opened_ns - at * 10**9)
        for at, phase in enumerate(PHASES)
    ))  # fmt: skip
    tell()
    return run


@pytest.fixture
def inbox(browser: Browser, web: str, people: Cast, run: Run) -> Iterator[Page]:
    with signed_in(browser, web, people) as page:
        page.get_by_role("link", name="Alerts").click()
        expect(page.get_by_role("heading", name="Alerts")).to_be_visible()
        page.wait_for_load_state()  # its keys are heard once its module has run
        yield page


def state(phase: str) -> str:
    return str(Alert.objects.get(phase=phase).state)


def selected(page: Page, what: str) -> None:
    expect(page.locator("[data-alert]:focus")).to_have_text(what)


def test_the_inbox_is_worked_through_by_keyboard(inbox: Page) -> None:
    inbox.keyboard.press("j")
    selected(inbox, "slow apply")
    inbox.keyboard.press("j")
    inbox.keyboard.press("k")
    selected(inbox, "slow apply")
    inbox.keyboard.press("r")
    expect(inbox.locator("tbody tr").last).to_contain_text("resolved")
    assert state("apply") == AlertState.RESOLVED
    selected(inbox, "slow encode")
    inbox.keyboard.press("a")
    expect(inbox.locator("tbody tr").nth(1)).to_contain_text("acknowledged")
    assert state("encode") == AlertState.ACKNOWLEDGED
    selected(inbox, "slow upload")
    inbox.keyboard.press("s")
    expect(inbox.locator("tbody tr").nth(1)).to_contain_text("silenced")
    assert state("upload") == AlertState.SILENCED
    selected(inbox, "slow encode")
    inbox.keyboard.press("Enter")
    expect(inbox.get_by_text("What was sent")).to_be_visible()


def test_what_is_opened_again_stays_looked_at(inbox: Page) -> None:
    inbox.keyboard.press("j")
    inbox.keyboard.press("r")
    expect(inbox.locator("tbody tr").last).to_contain_text("slow apply")
    selected(inbox, "slow encode")
    inbox.keyboard.press("j")
    inbox.keyboard.press("j")
    selected(inbox, "slow apply")
    inbox.keyboard.press("o")
    expect(inbox.locator("tbody tr").first).to_contain_text("slow apply")
    selected(inbox, "slow apply")


def test_keys_typed_into_a_field_do_nothing(inbox: Page) -> None:
    inbox.keyboard.press("j")
    inbox.locator("select[name=state]").focus()
    inbox.keyboard.press("a")
    assert {state(phase) for phase in PHASES} == {AlertState.OPEN}


def test_what_opens_appears_by_itself_and_keeps_the_place(inbox: Page, run: Run) -> None:
    inbox.keyboard.press("j")
    judged(run, *(
        replace(SLOW, phase=phase, fingerprint=f"straggler:{phase}", opened_ns=SLOW.opened_ns - at * 10**9)
        for at, phase in enumerate(("newest", *PHASES), start=-1)
    ))  # fmt: skip
    tell()
    expect(inbox.get_by_text("slow newest")).to_be_visible(timeout=20_000)
    selected(inbox, "slow apply")


@pytest.mark.parametrize(("width", "scheme"), [(1600, "dark"), (400, "light")])
def test_no_page_is_wider_than_its_window(
    browser: Browser, web: str, people: Cast, run: Run, width: int, scheme: str
) -> None:
    alert = Alert.objects.get(phase="encode")
    with signed_in(browser, web, people, width, scheme) as page:
        for path in ("", "rules/", "channels/", "deliveries/", f"{alert.pk}/"):
            page.goto(f"{web}/alerts/{path}")
            assert page.evaluate("document.documentElement.scrollWidth") <= width, path
