"""Every page of the product in a real browser, over a run whose every name is hostile: all of it is text."""

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from playwright.sync_api import Browser, Dialog, Page, expect

from dashboard.teams import login_links, tokens
from dashboard.teams.names import legible
from ingest.models import Run, Token
from tests.cast import Cast
from tests.e2e.hostile import DOCUMENT_BREAKS, NAMES, hostile_run, large_run

pytestmark = pytest.mark.e2e
WIDTHS = [1600, 400]
LISTEN = """
    window.violations = [];
    addEventListener("securitypolicyviolation", ({ violatedDirective: what }) => violations.push(what));
"""
# Elements that only markup from outside could have made.
FOREIGN = "main :is(img, script, iframe, [onload], [onerror]), main a[href^='javascript:']"


@contextmanager
def visiting(browser: Browser, web: str, cast: Cast, width: int) -> Iterator[Page]:
    """The owner's page; at the end nothing was run, reported or refused."""
    with browser.new_context(viewport={"width": width, "height": 900}) as context:
        page = context.new_page()
        page.add_init_script(LISTEN)
        page.goto(web + login_links.make(cast.owner))
        said: list[str] = []

        def opened(dialog: Dialog) -> None:
            said.append(f"a dialog: {dialog.message}")
            dialog.dismiss()

        page.on("dialog", opened)
        page.on("console", lambda message: said.append(message.text) if _is_trouble(message, page) else None)
        page.on("pageerror", lambda error: said.append(str(error)))
        yield page
        assert said == []


def _is_trouble(message: Any, page: Page) -> bool:
    """Chromium also reports the status of a page that is an error page on purpose."""
    return message.type in {"error", "warning"} and message.location["url"] != page.url


def sound(page: Page, width: int) -> None:
    """Nothing of the page came out of a name, and nothing is wider than the screen."""
    assert page.locator(FOREIGN).count() == 0, page.locator(FOREIGN).first.evaluate("(one) => one.outerHTML")
    assert page.evaluate("violations") == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width, page.url


def plain(names: Iterable[str]) -> set[str]:
    """As people read them: white space is a space."""
    return {" ".join(name.split()) for name in names}


def texts(page: Page, selector: str) -> set[str]:
    return plain(page.locator(selector).evaluate_all("all => all.map((one) => one.textContent)"))


SHOWN = plain(map(legible, NAMES))


@pytest.mark.parametrize("width", WIDTHS)
def test_hostile_names_are_text_on_every_page(browser: Browser, web: str, people: Cast, width: int) -> None:
    hostile_run(web, people)
    people.team.name = DOCUMENT_BREAKS
    people.team.save()
    for text in NAMES:
        tokens.issue(people.team, text, ["read"])
    with visiting(browser, web, people, width) as page:
        page.goto(f"{web}/")
        assert texts(page, "td.name a") == SHOWN
        sound(page, width)
        for query in ("?project=", "?q=", "?state=", "?after="):
            page.goto(f"{web}/{query}{DOCUMENT_BREAKS}")
            sound(page, width)
        page.goto(f"{web}/connect/")
        assert texts(page, "table bdi") >= SHOWN
        sound(page, width)
        page.goto(f"{web}/connect/tokens/{Token.objects.get(name=NAMES[1]).pk}/revoke/")
        expect(page.locator("h1")).to_contain_text(NAMES[1])
        sound(page, width)
        page.goto(f"{web}/{DOCUMENT_BREAKS}")
        sound(page, width)
        page.goto(f"{web}/accounts/login/?next={DOCUMENT_BREAKS}")
        sound(page, width)


@pytest.mark.parametrize("width", WIDTHS)
def test_hostile_names_are_text_in_every_part_of_the_live_page(
    browser: Browser, web: str, people: Cast, width: int
) -> None:
    hostile_run(web, people)
    run = Run.objects.get(key=DOCUMENT_BREAKS)
    with visiting(browser, web, people, width) as page:
        page.goto(f"{web}/runs/{run.pk}/?group=none&rows=comfortable&follow=all")
        page.wait_for_selector("[data-state=live]")
        expect(page.locator("h1")).to_have_text(NAMES[1])
        assert page.title() == f"{NAMES[1]} · Roundwatch"
        assert texts(page, ".lane-name") <= SHOWN
        sound(page, width)
        plot = page.locator("[data-part=plot]")
        for row in range(4):
            plot.hover(position={"x": width / 4, "y": row * 22 + 11}, force=True)
            expect(page.locator(".tooltip")).to_be_visible()
            plot.click(position={"x": width / 4, "y": row * 22 + 11}, force=True)
            expect(page.locator(".inspector .card.phase")).to_be_visible()
            sound(page, width)
        for query in (
            "?show=table&follow=all",
            "?show=ranks&round=0",
            "?group=machine&follow=all",
            "?rows=overview&follow=all",
            f"?q={DOCUMENT_BREAKS}&pin={DOCUMENT_BREAKS}",
            f"?track={DOCUMENT_BREAKS}&follow=all",
            "?track=__proto__&follow=all",
        ):
            page.goto(f"{web}/runs/{run.pk}/{query}")
            page.wait_for_selector("[data-state=live]")
            sound(page, width)
        page.goto(f"{web}/runs/{run.pk}/conditions/")
        assert page.title() == f"Conditions of {NAMES[1]} · Roundwatch"
        configured, said = ".card[aria-label=Configuration]", ".card:not([aria-label=Configuration])"
        for card, between in ((configured, "."), (said, " ")):
            assert texts(page, f"{card} .fact dt bdi") == plain(
                legible(f"{name}{between}{part}") for name in NAMES for part in ("key", name)
            )
        sound(page, width)
        page.goto(f"{web}/runs/{run.pk}/?show=table&follow=all")
        expect(page.locator(".phases tbody tr")).to_have_count(2 * len(NAMES))
        assert texts(page, ".phases tbody th") == SHOWN
        assert texts(page, ".phases tbody td:nth-child(2)") == {"train", *SHOWN}
        page.goto(f"{web}/runs/{run.pk}/?show=ranks&round=0")
        expect(page.locator(".ranks tbody tr")).to_have_count(len(NAMES))
        assert texts(page, ".rank-name") == SHOWN
        assert texts(page, ".ranks thead th") == {"worker", "train", *SHOWN}
        sound(page, width)


@pytest.mark.parametrize("width", WIDTHS)
def test_a_thousand_lanes_and_512_phase_names_are_shown(browser: Browser, web: str, people: Cast, width: int) -> None:
    large_run(web, people)
    run = Run.objects.get(key="large")
    with visiting(browser, web, people, width) as page:
        page.goto(f"{web}/runs/{run.pk}/?follow=all")
        page.wait_for_function("() => document.querySelector('#live').dataset.spans === '2000'")
        expect(page.locator("[data-part=facts]")).to_contain_text("1,000 trainers · 250 machines")
        sound(page, width)
        page.goto(f"{web}/runs/{run.pk}/?follow=all&show=table")
        expect(page.locator(".phases caption")).to_have_text("The newest 500 of 2,000 phases in view")
        sound(page, width)
        page.goto(f"{web}/runs/{run.pk}/?show=ranks&round=0")
        expect(page.locator(".ranks caption")).to_contain_text(
            re.compile(r"^500 of 1,000 workers.* 480 shorter phases")
        )
        expect(page.locator(".ranks tbody tr")).to_have_count(500)
        sound(page, width)
