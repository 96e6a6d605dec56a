"""Invitations, tokens, second factors and single sign-on in a real Chromium, under the real policy of content."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from dashboard.teams import login_links
from dashboard.teams.models import Membership, User
from tests.cast import PASSWORD, Cast
from tests.dashboard.teams.codes import code
from tests.dashboard.teams.provider import providing
from tests.serving import serving

expect.set_options(timeout=20_000)
TROUBLE = {"error", "warning"}


@contextmanager
def a_page(browser: Browser, width: int = 1600) -> Iterator[Page]:
    """A browser of its own, whose console must have been silent at the end."""
    context = browser.new_context(viewport={"width": width, "height": 900})
    page = context.new_page()
    said: list[tuple[str, str]] = []
    pages: set[str] = set()
    page.on("framenavigated", lambda frame: pages.add(frame.url))
    page.on("console", lambda told: said.append((told.text, told.location["url"])) if told.type in TROUBLE else None)
    page.on("pageerror", lambda error: said.append((str(error), "")))
    try:
        yield page
        # Chromium also reports the status of a page that is an error page on purpose.
        assert [one for one in said if one[1] not in pages] == []
    finally:
        context.close()


def test_an_owner_invites_somebody_who_makes_an_account_and_is_in(browser: Browser, web: str, people: Cast) -> None:
    with a_page(browser) as page, a_page(browser) as theirs:
        page.goto(web + login_links.make(people.owner))
        page.get_by_label("Team: Vision team").click()
        page.get_by_role("link", name="Members").click()
        page.get_by_label("As").select_option("viewer")
        page.get_by_role("button", name="Make the link").click()
        link = page.locator("#link").inner_text()
        assert link.startswith(f"{web}/join/")

        theirs.goto(link)
        theirs.get_by_label("Name").fill("nora")
        theirs.get_by_label("Password").fill(PASSWORD)
        theirs.get_by_role("button", name="Make account and join").click()
        expect(theirs.get_by_text("You belong to “Vision team” now.")).to_be_visible()
        theirs.goto(link)
        expect(theirs.get_by_role("heading", name="This invitation no longer works.")).to_be_visible()

        page.goto(f"{web}/team/")
        assert link not in page.content()
        expect(page.get_by_role("row", name="nora")).to_contain_text("viewer")
        page.get_by_role("link", name="nora").click()
        page.get_by_label("What they may do").select_option("member")
        page.get_by_role("button", name="Change role").click()
        expect(page.get_by_role("row", name="nora")).to_contain_text("member")
        page.get_by_role("link", name="Audit").click()
        expect(page.get_by_role("row", name="made nora member (was viewer)")).to_contain_text("127.0.0.1")
    assert Membership.objects.get(team=people.team, user__username="nora").role == "member"


def test_an_app_is_added_and_its_recovery_code_asked_for(browser: Browser, web: str, people: Cast) -> None:
    with a_page(browser) as page:
        page.goto(web + login_links.make(people.member))
        page.get_by_label("Account of mika").click()
        page.get_by_role("link", name="Account", exact=True).click()
        page.get_by_role("link", name="Add an authenticator app").click()
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Continue").click()
        picture = page.get_by_role("img", name="The secret below, for scanning")
        assert picture.evaluate("image => image.complete && image.naturalWidth > 0")
        page.get_by_label("Code").fill(code(page.locator("main code").inner_text()))
        page.get_by_role("button", name="Add").click()
        expect(page.get_by_role("heading", name="Recovery codes")).to_be_visible()
        recovery = page.locator(".codes code").first.inner_text()
    with a_page(browser) as page:
        page.goto(f"{web}/accounts/login/")
        page.get_by_label("Name or e-mail address").fill("mika")
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Sign in").click()
        page.get_by_label("Code").fill(recovery)
        page.keyboard.press("Enter")
        expect(page).to_have_url(f"{web}/")


def test_single_sign_on_leads_there_and_back(browser: Browser, web: str, people: Cast, tmp_path: Path) -> None:
    with (
        providing() as provider,
        serving(tmp_path / "web.log", **provider.environment) as url,
        a_page(browser) as page,
    ):
        provider.person = {"sub": "n-1", "email": "nina@example.org", "preferred_username": "nina"}
        page.goto(url)
        page.get_by_role("button", name="Sign in with Campus login").click()
        expect(page.get_by_role("heading", name="You belong to no team yet")).to_be_visible()
        page.goto(f"{url}/account/")
        expect(page.get_by_text("Connected: it signs you in.")).to_be_visible()
    assert not User.objects.get(username="nina").has_usable_password()


@pytest.mark.parametrize("path", ["/team/", "/team/tokens/", "/team/audit/", "/team/new/", "/account/", "member"])
def test_no_page_of_people_is_wider_than_a_phone(browser: Browser, web: str, people: Cast, path: str) -> None:
    User.objects.filter(pk=people.viewer.pk).update(username="v" * 150, email=f"{'v' * 60}@example.org")
    people.team.name = "t" * 128
    people.team.save()
    with a_page(browser, width=400) as page:
        page.goto(web + login_links.make(people.owner))
        page.goto(f"{web}/team/")
        page.get_by_label("E-mail address").fill(f"{'x' * 60}@example.org")
        page.get_by_role("button", name="Make the link").click()
        expect(page.locator("#link")).to_be_visible()
        if path == "member":
            page.get_by_role("link", name=re.compile("^v+$")).click()
            expect(page.get_by_role("heading", name=re.compile("^v+$"))).to_be_visible()
        elif path != "/team/":
            page.goto(web + path)
        page.wait_for_load_state()  # with its styles
        assert page.evaluate("document.documentElement.scrollWidth") <= 400


def test_the_keyboard_alone_makes_a_token(browser: Browser, web: str, people: Cast) -> None:
    with a_page(browser) as page:
        page.goto(web + login_links.make(people.owner))
        _tab_to(page, "document.activeElement.ariaLabel === 'Team: Vision team'")
        page.keyboard.press("Enter")
        _tab_to(page, "document.activeElement.textContent === 'Tokens'")
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name="Make a token")).to_be_visible()
        _tab_to(page, "document.activeElement.name === 'name'")
        page.keyboard.type("by hand")
        page.keyboard.press("Enter")
        assert page.locator("#token").inner_text().startswith("rw_")
        expect(page.get_by_role("row", name="by hand")).to_contain_text("by olga")


def _tab_to(page: Page, there: str) -> None:
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate(there):
            return
    raise AssertionError(f"the keyboard does not reach where {there}")
