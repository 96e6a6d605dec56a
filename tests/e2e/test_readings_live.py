"""What explains a slow phase, as a person sees it: in its card and panel, under its lane, on the page of conditions."""

import re

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.cast import Cast
from tests.e2e.training import Training, send, wait_for_spans, watching
from tests.ingest.batches import HostRecorder

pytestmark = pytest.mark.e2e
expect.set_options(timeout=10_000)
MARKUP = "<img src=x onerror=\"document.title='broken'\">"
QUERY = "?group=none&follow=all"


@pytest.fixture
def training(web: str, people: Cast) -> Training:
    """Two trainers of one machine, of which the second encodes for 30 s, throttled under a quota below its threads."""
    training = Training(web, people)
    shipper = HostRecorder(began_ns=training.begin_ns)
    for index, recorder in enumerate(training.recorders):
        quota = 6 if index else 32
        recorder.begin(conditions={"cpu_quota_cpus": quota, "visible_cpus": 32, MARKUP: MARKUP})
        recorder.phase("train", training.at(1), training.at(15), round=0)
        recorder.phase("encode", training.at(15), training.at(45 if index else 17), round=0)
        for second in range(2, 54, 2):
            held_back = 0.71 if index and 15 < second < 47 else 0.0
            recorder.sample("cgroup_cpu_throttled_ratio", held_back, training.at(second), unit="ratio")
            recorder.sample("cgroup_cpu_quota_cpus", quota, training.at(second), unit="cpus")
            recorder.sample("visible_cpus", 32, training.at(second), unit="cpus")
    for second in range(2, 54, 2):
        shipper.sample("host_pressure_cpu_waiting_ratio", 0.5, training.at(second), unit="ratio")
        shipper.sample(MARKUP, 1, training.at(second), unit="<b>", device=MARKUP)
    training.say()
    send(web, training.token, shipper.heartbeat(training.at(54)))
    return training


def over_the_slow_encode(page: Page) -> tuple[float, float]:
    """A point of its bar: the second lane's, where all of the run is in view."""
    box = page.locator("[data-part=plot]").bounding_box()
    assert box
    return box["x"] + box["width"] * 0.5, box["y"] + 22 + 11


def test_the_card_of_a_slow_phase_tells_what_held_it_back(browser: Browser, training: Training) -> None:
    with watching(browser, training, QUERY) as page:
        wait_for_spans(page, 4)
        page.mouse.move(*over_the_slow_encode(page))
        card = page.locator(".tooltip")
        expect(card).to_contain_text("encode · trainer-1")
        expect(card.locator("[data-tone=warn]").first).to_have_text("CPU throttledin 71\u00a0% of the periods")
        expect(card).to_contain_text("CPU quota6\u00a0CPUs · software sees 32")
        expect(card).to_contain_text("host waited forCPU 50\u00a0%")


def test_the_keyboard_alone_opens_what_was_sampled_in_the_panel(browser: Browser, training: Training) -> None:
    with watching(browser, training, QUERY) as page:
        wait_for_spans(page, 4)
        page.locator("[data-part=grid]").focus()
        for key in ("ArrowDown", "ArrowDown", "ArrowRight"):
            page.keyboard.press(key)
        told = page.get_by_label("While it ran")
        expect(page.locator(".inspector .phase h3")).to_contain_text("encode · trainer-1")
        expect(told.locator("[data-tone=warn]").first).to_contain_text("in 71\u00a0% of the periods")


def test_a_reading_is_chosen_by_keyboard_drawn_under_its_lanes_and_kept_by_the_link(
    browser: Browser, training: Training
) -> None:
    with watching(browser, training, QUERY) as page:
        wait_for_spans(page, 4)
        page.keyboard.press("u")
        expect(page.get_by_label("Reading under the lanes")).to_be_focused()
        page.keyboard.type("CPU thr")
        for _ in range(2):
            expect(page).to_have_url(re.compile("track=cgroup_cpu_throttled_ratio"))
            tracks = page.locator(".track-name:visible")
            expect(tracks).to_have_count(2)
            expect(tracks.nth(1).locator("small")).to_have_text("0\u00a0% to 71\u00a0%")
            expect(tracks.nth(0).locator("small")).to_have_text("0\u00a0% to 0\u00a0%")
            assert page.evaluate("document.documentElement.scrollWidth") <= 1400
            page.reload()
            wait_for_spans(page, 4)
        x, y = over_the_slow_encode(page)
        page.mouse.move(x, y + 40)
        expect(page.locator(".track-name b").nth(1)).to_have_text("71\u00a0%")


def test_a_machines_reading_stands_once_under_its_lanes_and_hostile_names_are_text(
    browser: Browser, training: Training
) -> None:
    with watching(browser, training, QUERY, width=400) as page:
        wait_for_spans(page, 4)
        for title in ("host waited for CPU", MARKUP):
            page.get_by_label("Reading under the lanes").select_option(label=title)
            expect(page.locator(".track-name:visible span")).to_have_text([title])
        assert page.locator("#live img").count() == 0
        assert page.evaluate("document.documentElement.scrollWidth") <= 400
        assert "broken" not in page.title()


@pytest.mark.parametrize("width", [400, 1600])
def test_the_page_of_conditions_is_one_step_away_and_says_what_differs(
    browser: Browser, training: Training, width: int
) -> None:
    with watching(browser, training, width=width) as page:
        page.get_by_role("link", name="Conditions").click()
        expect(page.get_by_role("region", name="What differs")).to_contain_text(
            re.compile("CPU quota.*6 CPUs.*trainer-1", re.DOTALL)
        )
        expect(page.get_by_role("region", name="Starved of CPU")).to_contain_text("the quota is worth 6")
        expect(page.get_by_role("region", name="The same everywhere")).to_contain_text(MARKUP)
        assert page.locator("main img").count() == 0
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        page.get_by_role("link", name="Timeline").click()
        page.wait_for_selector("[data-state=live]")
