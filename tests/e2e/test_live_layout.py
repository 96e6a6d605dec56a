"""The live page keeps its text whole on wide and narrow screens."""

import time

import pytest
from playwright.sync_api import Browser, expect

from tests.cast import Cast
from tests.e2e.training import Training, wait_for_spans, watching

pytestmark = pytest.mark.e2e
# Of each label of the bars of a round: whether it is in sight, and whether all of it is.
LABELS = """
    () => [...document.querySelectorAll(".segment span")].map((label) => {
        const [own, box] = [label.getBoundingClientRect(), label.parentElement.getBoundingClientRect()];
        const seen = own.top < box.bottom;
        return [label.textContent, seen, own.left >= box.left && own.right <= box.right + 0.5];
    })
"""
PARTS = [("train", 1, 7), ("encode", 7, 16), ("wait", 16, 41), ("apply", 41, 44), ("upload", 44, 49)]


@pytest.fixture
def training(web: str, people: Cast) -> Training:
    """Of one closed round with parts of very different size."""
    training = Training(web, people)
    for recorder in training.recorders:
        recorder.begin_round(0, training.at(1))
        for name, begin, end in PARTS:
            recorder.phase(name, training.at(begin), training.at(end), round=0)
        recorder.end_round(0, training.at(49))
    training.say()
    return training


@pytest.mark.parametrize("width", [400, 1000, 1600])
def test_a_label_in_a_bar_of_a_round_is_whole_or_not_there(browser: Browser, training: Training, width: int) -> None:
    with watching(browser, training, width=width) as page:
        wait_for_spans(page, 10)
        expect(page.locator(".kept-waiting .segment span").first).to_have_text("encode")
        labels = page.evaluate(LABELS)
        shown = [text for text, seen, _ in labels if seen]
        assert "encode" in shown
        assert [text for text, seen, whole in labels if seen and not whole] == []
        assert len(shown) < len(labels)


def test_on_a_narrow_screen_rows_of_the_table_are_lines(browser: Browser, training: Training) -> None:
    with watching(browser, training, "?show=table&follow=all", width=400) as page:
        wait_for_spans(page, 10)
        expect(page.locator(".phases tbody tr")).to_have_count(10)
        heights = page.evaluate("[...document.querySelectorAll('.phases tr')].map((row) => row.offsetHeight)")
        assert max(heights) < 30
        assert page.evaluate("document.documentElement.scrollWidth") == 400


def test_on_a_narrow_screen_the_coordinators_name_is_whole(browser: Browser, web: str, training: Training) -> None:
    other = Training(web, training.cast, names=("coordinator",))
    other.recorders[0].phase("aggregate", time.time_ns() - 10**9, time.time_ns(), round=0)
    other.say()
    with watching(browser, training, "?group=none", width=400) as page:
        name = page.locator(".lane-name", has_text="coordinator")
        expect(name).to_be_visible()
        assert name.evaluate("(one) => one.scrollWidth <= one.clientWidth")
