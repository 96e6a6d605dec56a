"""A data-parallel job as a person sees it: waits apart from transfers, who came last, and what was told beside it."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from dashboard.teams import tokens
from ingest.models import Event, Run, Stream
from tests.cast import Cast
from tests.e2e.training import Training, wait_for_spans, watching

pytestmark = pytest.mark.e2e
expect.set_options(timeout=10_000)
MARKUP = "<img src=x onerror=\"document.title='broken'\">"
DDP_TRAINING = Path(__file__).parents[1] / "agents/ddp_training.py"
LANE = 22


@pytest.fixture
def training(web: str, people: Cast) -> Training:
    """Three ranks, of which rank-1 loads for 20 s in each of two steps of 30 s; all end the all-reduce together."""
    training = Training(web, people, names=("rank-0", "rank-1", "rank-2"))
    for rank, recorder in enumerate(training.recorders):
        for step in (0, 1):
            begin = step * 30
            loaded = begin + (20 if rank == 1 else 1)
            recorder.begin_round(step, training.at(begin))
            recorder.phase("data", training.at(begin), training.at(loaded), round=step)
            recorder.phase("backward", training.at(loaded), training.at(loaded + 2), round=step)
            reduced: dict[str, Any] = {"process_group": "0", "seq": step}
            recorder.phase("allreduce", training.at(loaded + 2), training.at(begin + 26), round=step, **reduced)
            recorder.end_round(step, training.at(begin + 30))
    training.say()
    return training


def point(page: Page, lane: int, share: float, depth: float = 14) -> tuple[float, float]:
    """Where a lane, without groups, is at a share of the view's width, `depth` px below its top."""
    box = page.locator("[data-part=plot]").bounding_box()
    assert box
    return box["x"] + box["width"] * share, box["y"] + lane * LANE + depth


def test_a_ranks_wait_is_drawn_apart_and_its_card_says_for_whom(browser: Browser, training: Training) -> None:
    with watching(browser, training, "?group=none&follow=all") as page:
        wait_for_spans(page, 18)
        page.keyboard.press("]")
        card = page.locator(".tooltip")
        page.mouse.move(*point(page, 0, 0.5))
        expect(card).to_contain_text("allreduce · rank-0 · step 1")
        expect(card).to_contain_text("waited 19.0\u00a0s for rank-1, transferred 4.00\u00a0s")
        page.mouse.move(*point(page, 1, 0.78))
        expect(card).to_contain_text("allreduce · rank-1 · step 1")
        expect(card).to_contain_text("waited least: the others up to 19.0\u00a0s for it; transferred 4.00\u00a0s")
        colours = page.evaluate(COLOURS, [[0.4, 0], [0.78, 0], [0.78, 1]])
        assert colours == ["wait", "transfer", "transfer"]


COLOURS = """points => {
    const strip = document.querySelector("[data-part=strip]");
    const copy = document.createElement("canvas");
    Object.assign(copy, { width: strip.width, height: strip.height });
    const context = copy.getContext("2d", { willReadFrequently: true });
    context.drawImage(strip, 0, 0);
    const ratio = strip.width / strip.clientWidth;
    const style = getComputedStyle(document.documentElement);
    const kinds = ["compute", "input", "transfer", "wait"].map((kind) => {
        const hex = style.getPropertyValue(`--kind-${kind}`).trim();
        return [[1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16)).join(), kind];
    });
    return points.map(([share, lane]) => {
        const [x, y] = [share * strip.width, (lane * 22 + 11) * ratio].map(Math.round);
        const { data } = context.getImageData(x, y, 1, 1);
        return new Map(kinds).get(`${data[0]},${data[1]},${data[2]}`) ?? "";
    });
}"""


def test_the_keyboard_alone_leads_to_each_ranks_parts_and_a_link_keeps_them(
    browser: Browser, training: Training
) -> None:
    with watching(browser, training, "?follow=all") as page:
        expect(page.locator(".last-in")).to_contain_text("Waited least: rank-1; rank-0 waited 19.0\u00a0s longer")
        expect(page.locator(".inspector h2").first).to_have_text(re.compile(r"Where step \d went"))
        button = page.locator(".last-in").get_by_role("button", name="By rank")
        expect(button).to_have_attribute("aria-pressed", "false")
        page.keyboard.press("e")
        expect(button).to_have_attribute("aria-pressed", "true")
        button.press("Enter")
        expect(button).to_have_attribute("aria-pressed", "false")
        expect(button).to_be_focused()
        page.keyboard.press("Enter")
        expect(button).to_have_attribute("aria-pressed", "true")
        button.blur()
        ranks = page.get_by_role("region", name="What each rank did")
        for _ in range(2):
            page.keyboard.press("[")
            expect(ranks.locator("h2")).to_have_text("Step 0 by rank · 30.0\u00a0s")
            expect(ranks.locator(".verdict")).to_have_text(
                "Waited least: rank-1; rank-0 waited 19.0\u00a0s longer, 63\u00a0% of the step. "
                "Its data took 19.0\u00a0s more than the others’."
            )
            expect(ranks.locator("thead th")).to_have_text(
                ["rank", "data", "backward", "allreduce, waited", "allreduce, transferred"]
            )
            cells = ranks.locator("tbody tr").nth(1)
            expect(cells.locator("th")).to_have_text("rank-1waited least")
            expect(cells.locator("td")).to_have_text(["20.0\u00a0s", "2.00\u00a0s", "0\u00a0µs", "4.00\u00a0s"])
            expect(page).to_have_url(re.compile(r"show=ranks.*round=0"))
            page.reload()
            page.wait_for_selector("[data-state=live]")
        ranks.get_by_role("button", name="rank-1").focus()
        page.keyboard.press("Enter")
        expect(page.locator(".inspector .phase h3")).to_contain_text("rank-1 · step 0")


@pytest.mark.parametrize("width", [400, 1600])
def test_an_event_opens_what_it_told_and_hostile_words_are_text(
    browser: Browser, training: Training, width: int
) -> None:
    told = {"label": MARKUP, "rounds": 2, "type": "torch.Tensor", "held_by": "a cycle", "path": f"dict['{MARKUP}'][0]"}
    memory = {"memory_before_bytes": 3 << 30, "memory_after_bytes": 1 << 30}
    training.recorders[0].event("retained", training.at(15), round=0, container="list", key="[0]", **told)
    training.recorders[0].event("gc", training.at(45), round=1, seconds=0.25, collected=7, **memory)
    training.say()
    with watching(browser, training, "?group=none&follow=all", width=width) as page:
        wait_for_spans(page, 18)
        page.keyboard.press("[")
        page.locator("[data-part=plot]").scroll_into_view_if_needed()
        page.mouse.move(*point(page, 0, 0.5, depth=4))
        expect(page.locator(".tooltip")).to_contain_text("retained · rank-0 · step 0")
        expect(page.locator(".tooltip")).to_contain_text(f"path: dict['{MARKUP}'][0]")
        page.mouse.click(*point(page, 0, 0.5, depth=4))
        card = page.locator(".inspector .phase")
        expect(card).to_contain_text("held by a reference cycle: only the cyclic collector frees it")
        expect(card).to_contain_text("is still alive 2 steps later")
        expect(card).to_contain_text("in list, at [0]")
        expect(page).to_have_url(re.compile(r"sel=0\.\d+"))
        page.reload()
        expect(card).to_contain_text("held by a reference cycle")
        while "gc ·" not in card.locator("h3").inner_text():
            before = card.locator("h3").inner_text() + page.url
            page.keyboard.press("ArrowRight")
            page.wait_for_function(
                "before => document.querySelector('.inspector .phase h3').textContent + location.href !== before",
                arg=before,
            )
        expect(card).to_contain_text("paused the process for 250\u00a0ms")
        expect(card).to_contain_text("freed 2.0\u00a0GiB: memory fell from 3.0\u00a0GiB to 1.0\u00a0GiB")
        assert page.locator("#live img").count() == 0
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert "broken" not in page.title()


COUNTED = """
import torch, roundwatch
from roundwatch import census
census.LIMIT_S = 60  # on a busy machine what is looked at could be cut short
run = roundwatch.init("leak", run_id="leak")
kept = []
for index in range(3):
    with run.round(index):
        kept.append(torch.zeros(1 << 20, dtype=torch.int16))
        if index == 1:
            run.census()
"""


@pytest.mark.parametrize("width", [400, 1600])
def test_a_census_of_a_real_training_opens_with_a_row_for_each_sort_of_tensor(
    browser: Browser, web: str, people: Cast, tmp_path: Path, width: int
) -> None:
    pytest.importorskip("torch", reason="torch is not installed here")
    token = tokens.issue(people.team, "agent", ["ingest"])
    environment = {"ROUNDWATCH_URL": web, "ROUNDWATCH_TOKEN": token, "ROUNDWATCH_SPOOL": str(tmp_path)}
    subprocess.run(
        [sys.executable, "-m", "roundwatch", "run", "--", sys.executable, "-c", COUNTED],
        env={**os.environ, **environment, "PYTHONPATH": os.pathsep.join(sys.path)}, check=True, timeout=90,
    )  # fmt: skip
    event = Event.objects.get(run_id=Run.objects.get().pk, attrs__has_key="groups")
    attempt = Stream.objects.get(pk=event.stream_id).index
    with watching(browser, Training(web, people, names=()), f"?sel={attempt}.{event.number}", width=width) as page:
        card = page.locator(".inspector .phase")
        expect(card).to_contain_text(re.compile(r"a census of live tensors paused the process for \d"))
        expect(card).to_contain_text("it is the first: how many rounds they stay is known from the next on")
        row = card.locator("table.census tbody tr", has_text="int16 on cpu")
        expect(row.locator("td")).to_have_text(["4.0\u00a0MiB", "2 ×", "–"])
        expect(row).to_contain_text("256\u00a0KiB to 4.0\u00a0MiB")
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_real_torchrun_shows_the_slowed_rank_as_the_one_that_waits_least(
    browser: Browser, web: str, people: Cast, tmp_path: Path
) -> None:
    pytest.importorskip("torch", reason="torch is not installed here")
    token = tokens.issue(people.team, "agent", ["ingest"])
    environment = {"ROUNDWATCH_URL": web, "ROUNDWATCH_TOKEN": token, "ROUNDWATCH_SPOOL": str(tmp_path)}
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=4"]
    subprocess.run(
        [sys.executable, "-m", "roundwatch", "run", "--", *torchrun, str(DDP_TRAINING), "--steps=6", "--slow-rank=2",
         "--slow-s=0.4"],
        env={**os.environ, **environment, "PYTHONPATH": os.pathsep.join(sys.path)}, check=True, timeout=90,
    )  # fmt: skip
    training = Training(web, people, names=())
    assert Run.objects.get().key == "ddp"
    with watching(browser, training, "?show=ranks&round=4") as page:
        ranks = page.get_by_role("region", name="What each rank did")
        expect(ranks.locator(".verdict")).to_contain_text(
            re.compile(r"^Waited least: rank-2; rank-\d waited .* Its data")
        )
        heads = ranks.locator("thead th").all_inner_texts()
        assert [head for head in heads if head != "broadcast"] == [
            "rank", "data", "step", "forward", "backward", "allreduce, waited", "allreduce, transferred", "optimizer",
        ]  # fmt: skip
        cells = [row.locator("td").all_inner_texts() for row in ranks.locator("tbody tr").all()]
        assert len(cells) == 4
        assert all("–" not in row for row in cells), cells
