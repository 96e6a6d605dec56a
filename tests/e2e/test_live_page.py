"""The live page in a real browser on a real server: it shows what happens, stays where it is put, and comes back."""

import datetime as dt
import itertools
import re
import threading
from collections.abc import Callable

import pytest
import redis
from django.conf import settings
from playwright.sync_api import Browser, Page, WebSocketRoute, expect

from ingest.feed import publisher
from ingest.models import Finding, Stream
from tests.cast import Cast
from tests.e2e.training import Training, painted, wait_for_spans, watching

pytestmark = pytest.mark.e2e
expect.set_options(timeout=10_000)
MARKUP = "<img src=x onerror=\"document.title='broken'\">"


@pytest.fixture
def training(web: str, people: Cast) -> Training:
    training = Training(web, people)
    training.steps(1, 10).say()
    return training


def until(page: Page, look: Callable[[], bool], what: str) -> None:
    """Asks again and again while the page goes on."""
    for _ in range(100):
        if look():
            return
        page.wait_for_timeout(100)
    raise AssertionError(f"not within 10 s: {what}")


def test_phases_appear_as_they_happen(browser: Browser, training: Training) -> None:
    with watching(browser, training) as page:
        wait_for_spans(page, 20)
        training.steps(20, 5).say()
        wait_for_spans(page, 30)


def test_the_first_picture_is_asked_for_beside_the_modules_and_once(browser: Browser, training: Training) -> None:
    with watching(browser, training) as page:
        wait_for_spans(page, 20)
        asked = page.evaluate(
            "performance.getEntriesByType('resource').filter(each => each.name.includes('/live/snapshot'))"
            ".map(each => each.initiatorType)"
        )
        assert asked == ["link"]


def test_an_open_bar_grows_until_it_ends(browser: Browser, training: Training) -> None:
    opened = training.recorders[0].open("encode", training.at(50), round=0)
    training.say()
    with watching(browser, training, "?group=none&follow=120s") as page:
        wait_for_spans(page, 20)
        before = painted(page, 0)
        until(page, lambda: painted(page, 0) > before + 5, "the open bar has grown")
        training.recorders[0].close(opened, training.at(55))
        training.say()
        wait_for_spans(page, 21)
        until(page, lambda: painted(page, 0) < before, "it ends where it ended")


def test_the_card_of_an_open_phase_goes_on_while_the_pointer_rests(browser: Browser, training: Training) -> None:
    training.recorders[0].open("encode", training.at(30), round=0)
    training.say()
    with watching(browser, training, "?group=none&follow=120s") as page:
        wait_for_spans(page, 20)
        plot, card = page.locator("[data-part=plot]"), page.locator(".tooltip")
        box = plot.bounding_box()
        assert box
        for share in (0.95, 0.9, 0.85, 0.8, 0.75):
            page.mouse.move(box["x"] + box["width"] * share, box["y"] + 11)
            if card.is_visible():
                break
        expect(card).to_contain_text("still open")
        before = card.text_content()
        until(page, lambda: card.text_content() != before, "the card has gone on")


def found(training: Training) -> None:
    """A finding on the first phase of trainer-1, published."""
    stream = Stream.objects.get(run=training.run, worker__name="trainer-1")
    now = dt.datetime.now(dt.UTC)
    finding = Finding.objects.create(
        run=training.run, kind="straggler", fingerprint="f", phase="train", workers=["trainer-1"], rounds=[0],
        opened_at=now, observed=f"trainer-1 took long {MARKUP}", updated_at=now, spans=[[stream.index, 1, 1, 0]],
    )  # fmt: skip
    publisher.publish_findings(training.run.pk, [finding])


def test_a_finding_marks_its_phase_and_its_round_at_once(browser: Browser, training: Training) -> None:
    with watching(browser, training) as page:
        wait_for_spans(page, 20)
        found(training)
        expect(page.locator(".inspector")).to_contain_text(f"trainer-1 took long {MARKUP}")
        expect(page.locator(".lane-name.slow")).to_have_text("trainer-1")


def test_in_the_card_beside_the_pointer_a_line_sets_the_finding_apart(browser: Browser, training: Training) -> None:
    with watching(browser, training, "?group=none&follow=all") as page:
        wait_for_spans(page, 20)
        found(training)
        expect(page.locator(".lane-name.slow")).to_have_text("trainer-1")
        row = page.locator(".lane-name.slow").bounding_box()
        plot = page.locator("[data-part=plot]").bounding_box()
        assert row
        assert plot
        told = page.locator(".tooltip .tip-finding")
        shares = itertools.cycle(range(1, 99))

        def over_it() -> bool:
            if told.is_visible():
                return True
            page.mouse.move(plot["x"] + plot["width"] * next(shares) / 100, row["y"] + 11)
            page.evaluate("new Promise(requestAnimationFrame)")
            return told.is_visible()

        until(page, over_it, "the pointer is on the phase")
        expect(told).to_have_text(f"trainer-1 took long {MARKUP}")
        expect(told).to_have_css("margin-top", "10px")
        expect(told).to_have_css("padding-top", "8px")
        expect(told).to_have_css("border-top-width", "1px")


def test_markup_in_names_is_text(browser: Browser, web: str, people: Cast) -> None:
    training = Training(web, people, names=(MARKUP,))
    training.recorders[0].phase(MARKUP, training.at(1), training.at(50), round=0, note=MARKUP)
    training.say()
    with watching(browser, training, "?group=none&follow=all") as page:
        wait_for_spans(page, 1)
        expect(page.locator(".lane-name")).to_have_text(MARKUP)
        page.locator("[data-part=plot] canvas").first.hover(position={"x": 300, "y": 11}, force=True)
        expect(page.locator(".tooltip")).to_contain_text(f"note: {MARKUP}")
        assert page.locator("#live img").count() == 0
        assert "broken" not in page.title()


def test_every_phase_is_reached_and_told_by_keyboard_and_the_link_keeps_it(
    browser: Browser, training: Training
) -> None:
    with watching(browser, training, "?group=none&follow=all") as page:
        wait_for_spans(page, 20)
        page.locator("[data-part=grid]").focus()
        page.keyboard.press("ArrowDown")
        told = page.locator("[aria-live]")
        expect(told).to_contain_text("train · trainer-0 · round 0")
        page.keyboard.press("ArrowDown")
        expect(told).to_contain_text("train · trainer-1 · round 0")
        before = told.text_content()
        page.keyboard.press("ArrowLeft")
        expect(told).not_to_have_text(before or "")
        expect(page.locator("[role=grid]")).to_have_attribute("aria-activedescendant", "phase-1-17")
        expect(page).to_have_url(re.compile(r"sel=1\.17"))
        page.reload()
        expect(page.locator(".inspector .phase h3")).to_have_text("train · trainer-1 · round 0")


def test_dragging_pauses_a_link_shows_the_same_and_l_follows_again(browser: Browser, training: Training) -> None:
    with watching(browser, training) as page:
        wait_for_spans(page, 20)
        follow = page.locator(".follow")
        expect(follow).to_have_attribute("aria-pressed", "true")
        page.mouse.move(600, 360)
        page.mouse.down()
        page.mouse.move(800, 360, steps=4)
        page.mouse.up()
        expect(follow).to_have_attribute("aria-pressed", "false")
        expect(page).to_have_url(re.compile("from=.*to="))
        url = page.url
        page.reload()
        page.wait_for_selector("[data-state=live]")
        expect(follow).to_have_attribute("aria-pressed", "false")
        assert page.url == url
        page.keyboard.press("l")
        expect(follow).to_have_attribute("aria-pressed", "true")
        expect(page).not_to_have_url(re.compile("from="))


def test_a_filter_and_the_table_show_the_same_phases(browser: Browser, training: Training) -> None:
    with watching(browser, training, "?follow=all") as page:
        wait_for_spans(page, 20)
        page.keyboard.press("/")
        page.keyboard.type("trainer-1")
        expect(page.locator(".lane-name:visible")).to_have_text(["trainer-1"])
        page.keyboard.press("Escape")
        page.keyboard.press("t")
        expect(page.locator(".phases tbody tr")).to_have_count(10)
        expect(page).to_have_url(re.compile("show=table.*q=trainer-1"))
        page.reload()
        expect(page.locator(".phases tbody th").first).to_have_text("trainer-1")


def test_a_filter_that_no_lane_matches_says_so_and_is_cleared(browser: Browser, training: Training) -> None:
    with watching(browser, training, "?group=none&follow=all") as page:
        wait_for_spans(page, 20)
        for by_key in (False, True):
            page.locator(".filter").fill("zzz")
            expect(page.locator(".unmatched")).to_be_visible()
            expect(page.locator(".unmatched")).to_contain_text("No lane matches “zzz”")
            if by_key:
                page.keyboard.press("Escape")
            else:
                page.get_by_role("button", name="Clear").click()
            expect(page.locator(".unmatched")).to_be_hidden()
            expect(page.locator(".lane-name:visible")).to_have_count(2)
            expect(page.locator(".filter")).to_have_value("")


def test_a_failed_run_says_why_in_its_head_and_its_panel(browser: Browser, training: Training) -> None:
    with watching(browser, training) as page:
        wait_for_spans(page, 20)
        expect(page.locator(".run-failure")).to_be_hidden()
        training.recorders[1].finish(training.at(55), "failed", error=f"ValueError: {MARKUP}")
        training.say()
        expect(page.locator(".run-failure")).to_have_text(f"failed: ValueError: {MARKUP} · trainer-1")
        expect(page.locator(".inspector > section").first).to_contain_text(f"trainer-1 failedValueError: {MARKUP}")


def test_a_browser_that_was_cut_off_says_so_and_catches_up(browser: Browser, training: Training) -> None:
    """Its socket is cut, and stays so for as long as `cut` is set."""
    cut, routes = threading.Event(), []

    def between(route: WebSocketRoute) -> None:
        if cut.is_set():
            route.close(code=1012)
            return
        routes.append(route)
        route.connect_to_server()

    with watching(browser, training) as page:
        page.route_web_socket("**/ws/**", between)
        page.reload()
        wait_for_spans(page, 20)
        place = page.locator(".live-body").bounding_box()
        cut.set()
        routes[-1].close(code=1012)
        expect(page.locator(".banner")).to_contain_text("No connection to the server")
        expect(page.locator(".banner")).to_be_in_viewport(ratio=1)
        assert page.locator(".live-body").bounding_box() == place, "nothing moves"
        training.steps(20, 12).say()
        page.wait_for_timeout(1500)
        assert page.locator("#live").get_attribute("data-spans") == "20"
        cut.clear()
        wait_for_spans(page, 44, seconds=20)
        expect(page.locator(".banner")).to_be_hidden()


def test_a_feed_that_lost_everything_is_repaired_without_doubling(browser: Browser, training: Training) -> None:
    with watching(browser, training) as page, redis.Redis.from_url(settings.REDIS_URL) as valkey:
        wait_for_spans(page, 20)
        for key in valkey.scan_iter(f"rw:feed:{training.run.pk}*"):
            valkey.delete(key)
        training.steps(20, 4).say()
        wait_for_spans(page, 28)
        page.wait_for_timeout(1500)
        assert page.locator("#live").get_attribute("data-spans") == "28"


def test_a_run_without_phases_teaches_how_to_name_them(browser: Browser, web: str, people: Cast) -> None:
    training = Training(web, people)
    training.say()
    with watching(browser, training) as page:
        expect(page.locator(".empty")).to_contain_text("No phases yet")
        expect(page.locator(".empty code").first).to_contain_text('project="digits"')
        training.steps(1, 1).say()
        expect(page.locator(".empty")).to_be_hidden()


def test_figures_open_their_definitions(browser: Browser, training: Training) -> None:
    with watching(browser, training) as page:
        page.get_by_role("button", name="GPU waiting").click()
        expect(page.locator(".definition:popover-open")).to_contain_text("in no compute phase")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_telephone_never_scrolls_sideways(browser: Browser, training: Training, scheme: str) -> None:
    with watching(browser, training, width=400) as page:
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        wait_for_spans(page, 20)
        assert page.evaluate("document.documentElement.scrollWidth") <= 400
        expect(page.locator(".inspector")).to_be_visible()
