"""Thread stacks as a person takes them: of a real training in a long call, by keyboard, from the panel of its phase."""

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from ingest.models import Stream
from tests.agents.conftest import Site
from tests.cast import Cast
from tests.e2e.product import until
from tests.e2e.training import Training, watching

pytestmark = pytest.mark.e2e
expect.set_options(timeout=10_000)
QUERY = "?group=none&follow=all"
MARKUP = "<img src=x onerror=\"document.title='broken'\">"
# Its main thread is in a call that holds the interpreter's lock.
HELD = """
import ctypes, threading, roundwatch
threading.Thread(target=threading.Event().wait, daemon=True).start()
def encode_all():
    libc, never = ctypes.PyDLL(None), ctypes.create_string_buffer(64)
    libc.sem_init(never, 0, 0)
    libc.sem_wait(never)
run = roundwatch.init("p", run_id="r", worker="trainer-0")
with run.round(0), run.phase("encode"):
    encode_all()
"""


@pytest.fixture
def training(web: str, people: Cast) -> Training:
    return Training(web, people, names=("trainer-0",))


@pytest.fixture
def site(tmp_path: Path, training: Training) -> Iterator[Site]:
    """A host with a real shipper."""
    site = Site(tmp_path / "spool", training.web, training.token)
    site.shipper()
    yield site
    site.close()


def select_the_open_phase(page: Page) -> None:
    page.locator("[data-part=grid]").focus()
    page.keyboard.press("ArrowDown")
    expect(page.locator(".inspector .phase h3")).to_contain_text("encode · trainer-0")


def take(page: Page) -> None:
    """By keyboard alone."""
    button = page.get_by_role("button", name="Take thread stacks")
    expect(button).to_be_visible()
    page.keyboard.press("Tab")
    for _ in range(20):
        if button.evaluate("element => element === document.activeElement"):
            break
        page.keyboard.press("Tab")
    expect(button).to_be_focused()
    page.keyboard.press("Enter")


def test_the_keyboard_alone_takes_the_stacks_of_a_training_in_a_long_call(
    browser: Browser, training: Training, site: Site
) -> None:
    process = site.python(HELD)
    until(20, lambda: Stream.objects.filter(worker__isnull=False).exclude(opens=[]).first(), "the phase is open")
    with watching(browser, training, QUERY) as page:
        select_the_open_phase(page)
        take(page)
        told = page.get_by_role("region", name="Thread stacks")
        main = told.locator("details")
        expect(main.locator("summary")).to_have_text("main · encode_all (<string>:7)")
        expect(main.locator("li").nth(0)).to_have_text("encode_all <string>:7")
        expect(main).to_have_attribute("open", "")
        expect(told).to_contain_text("into the phase, at")
        expect(told).to_contain_text("Its other threads could not be asked")
        expect(page.locator("[data-part=live]")).to_have_text("Thread stacks taken: 1 thread")
        main.locator("summary").focus()
        page.keyboard.press("Enter")
        expect(main).not_to_have_attribute("open", "")
        page.locator("[data-part=grid]").focus()
        page.keyboard.press("ArrowRight")
        expect(page.locator(".inspector .phase h3")).to_contain_text("stacks · trainer-0")
        expect(page.locator(".inspector .phase")).to_contain_text("its thread stacks were taken: main · encode_all")
        expect(main.locator("summary")).to_have_text("main · encode_all (<string>:7)")
    assert process.poll() is None


def opened(training: Training) -> int:
    """A phase that is open, and nobody there to ask about it."""
    (recorder,) = training.recorders
    start = recorder.open("encode", training.at(30), round=0)
    training.say()
    return start


def test_silence_is_said_with_how_long_its_host_was_not_heard(browser: Browser, training: Training) -> None:
    opened(training)
    with watching(browser, training, QUERY) as page:
        select_the_open_phase(page)
        expect(page.get_by_role("button", name="Take thread stacks")).to_be_visible()
        page.clock.install()
        take(page)
        told = page.get_by_role("region", name="Thread stacks")
        expect(told.get_by_role("button")).to_have_text("Asked …")
        page.clock.fast_forward(10_500)
        expect(told).to_contain_text(re.compile("Not answered within 10 s.*was last heard"))
        expect(told.get_by_role("button")).to_have_text("Take thread stacks")


def test_whatever_a_process_says_is_text_and_viewers_see_it_without_asking(
    browser: Browser, training: Training
) -> None:
    start = opened(training)
    threads = [{"name": MARKUP, "frames": [[MARKUP, 7, MARKUP]] * 3, "more": 9}, {"name": "b", "frames": []}]
    (recorder,) = training.recorders
    recorder.event("stacks", training.at(31), round=0, start=start, threads=threads, left_out=3)
    recorder.event("stacks", training.at(32), round=0, start=start + 1, failed="of another phase")
    training.say()
    with watching(browser, training, QUERY, width=400, who=training.cast.viewer) as page:
        select_the_open_phase(page)
        told = page.get_by_role("region", name="Thread stacks")
        expect(told.locator("li").nth(0)).to_contain_text(MARKUP)
        expect(told).to_contain_text("9 frames more")
        expect(told).to_contain_text("b · no Python code")
        expect(told).to_contain_text("3 threads more")
        expect(told.get_by_role("button")).to_have_count(0)
        assert page.evaluate("document.documentElement.scrollWidth") <= 400
        assert page.locator("#live img").count() == 0
        assert "broken" not in page.title()
        recorder.event("stacks", time.time_ns(), round=0, start=start, failed=MARKUP)
        training.say()
        expect(told).to_contain_text(f"This process cannot tell its stacks: {MARKUP}.")
