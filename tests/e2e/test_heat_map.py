"""The heat map as a person reads it: by colour, by keys cell by cell, and as a table of figures."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, Page, expect

from dashboard.teams import login_links
from ingest.models import Round, Run
from ingest.store.rounds import close_ended
from tests.cast import Cast
from tests.dashboard.live.test_heat import HOSTILE
from tests.e2e.hostile import DOCUMENT_BREAKS, hostile_run, large_run
from tests.e2e.training import Training
from tests.ingest.batches import SECOND

pytestmark = pytest.mark.e2e
expect.set_options(timeout=10_000)
ROUNDS = 12


@pytest.fixture
def run(web: str, people: Cast) -> Run:
    """Four hosts encode 0.4 s in each of twelve rounds, but host-3 3.6 s in round 4."""
    return encoded(web, people, 4)


def encoded(web: str, people: Cast, hosts: int) -> Run:
    """So many hosts encode 0.4 s in each of twelve rounds, but the last of them 3.6 s in round 4."""
    names = tuple(f"host-{rank}" for rank in range(hosts))
    training = Training(web, people, names=names)
    for name, recorder in zip(names, training.recorders, strict=True):
        for index in range(ROUNDS):
            at = training.at(index * 4)
            seconds = 3.6 if (name, index) == (names[-1], 4) else 0.4
            recorder.begin_round(index, at).phase("train", at, at + SECOND // 5, round=index)
            recorder.phase("encode", at + SECOND // 5, at + int(seconds * SECOND) + SECOND // 5, round=index)
            recorder.end_round(index, training.at(index * 4 + 4))
    training.say()
    run = Run.objects.get()
    close_ended(run.pk)
    Round.objects.update(closed=True)
    return run


@contextmanager
def looking(browser: Browser, web: str, cast: Cast, path: str, width: int = 1600) -> Iterator[Page]:
    """A viewer's page; at the end its console must have been silent."""
    with browser.new_context(viewport={"width": width, "height": 900}) as context:
        page = context.new_page()
        page.goto(web + login_links.make(cast.viewer))
        said: list[str] = []
        page.on("console", lambda message: said.append(message.text) if message.type in {"error", "warning"} else None)
        page.on("pageerror", lambda error: said.append(str(error)))
        page.goto(web + path)
        yield page
        assert said == []


def colour(page: Page, hosts: int, row: int, column: int) -> list[int]:
    """Red, green, blue and opacity in the middle of a cell of the map."""
    return list(
        page.locator("[data-part=cells]").evaluate(
            "(canvas, [hosts, row, column, rounds]) => {"
            "const gutter = Math.min(120, canvas.clientWidth / 3);"
            "const scale = canvas.width / canvas.clientWidth;"
            "const x = gutter + (column + 0.5) * Math.min(480, (canvas.clientWidth - gutter) / rounds);"
            "const y = (row + 0.5) * canvas.clientHeight / hosts;"
            "const context = document.createElement('canvas').getContext('2d');"
            "context.drawImage(canvas, x * scale, y * scale, 1, 1, 0, 0, 1, 1);"
            "return [...context.getImageData(0, 0, 1, 1).data]; }",
            [hosts, row, column, ROUNDS],
        )
    )


def painted(page: Page, name: str) -> list[int]:
    """What a colour of the theme is on a canvas."""
    return list(
        page.locator("#heat").evaluate(
            "(root, name) => { const context = document.createElement('canvas').getContext('2d');"
            "context.fillStyle = getComputedStyle(root).getPropertyValue(name).trim(); context.fillRect(0, 0, 1, 1);"
            "return [...context.getImageData(0, 0, 1, 1).data]; }",
            name,
        )
    )


def pixels(page: Page) -> int:
    """How many colours the map has."""
    return int(
        page.locator("[data-part=cells]").evaluate(
            "canvas => new Set(new Uint32Array(canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height)"
            ".data.buffer)).size"
        )
    )


@pytest.mark.parametrize("width", [400, 1600])
def test_keys_lead_from_the_timeline_to_the_slow_cell_and_back_to_its_round(
    browser: Browser, web: str, people: Cast, run: Run, width: int
) -> None:
    with looking(browser, web, people, f"/runs/{run.pk}/", width) as page:
        page.wait_for_selector("[data-state=live]")
        page.get_by_role("link", name="Heat map").focus()
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name="encode of 4 workers in rounds 0 to 11")).to_be_visible()
        cells, said = page.locator("[data-part=cells]"), page.locator("[data-part=said]")
        cells.focus()
        for key in ["ArrowDown"] * 3 + ["Home"] + ["ArrowRight"] * 4:
            page.keyboard.press(key)
        expect(said).to_have_text(
            "host-3, round 4: 3.60\u00a0s, 9.00\u00a0× the lower median 400\u00a0ms of the 3 others"
        )
        even, slowest = painted(page, "--line"), painted(page, "--bad")
        assert [colour(page, 4, 3, column) for column in (3, 4, 5)] == [even, slowest, even]
        assert [colour(page, 4, row, 4) for row in range(4)] == [even, even, even, slowest]
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        page.get_by_role("button", name="what it means").focus()
        page.keyboard.press("Enter")
        told = page.locator(".definition:popover-open")
        expect(told).to_contain_text("the lower median of the others")
        expect(told).to_have_css("width", "328px")
        expect(page.locator(".page-head")).to_have_css("display", "flex")
        expect(page.locator(".page-head [aria-current]")).to_have_text("Heat map")
        page.keyboard.press("Escape")
        cells.focus()
        page.keyboard.press("Enter")
        expect(page).to_have_url(re.compile(rf"/runs/{run.pk}/\?round=4"))


def test_of_two_workers_the_slow_one_is_seen(browser: Browser, web: str, people: Cast) -> None:
    run = encoded(web, people, 2)
    with looking(browser, web, people, f"/runs/{run.pk}/heat/") as page:
        expect(page.get_by_role("heading", name="encode of 2 workers")).to_be_visible()
        even, slowest, quickest = (painted(page, name) for name in ("--line", "--bad", "--kind-apply"))
        assert [colour(page, 2, row, 4) for row in range(2)] == [quickest, slowest]
        assert [colour(page, 2, row, 3) for row in range(2)] == [even, even]
        expect(page.locator("[data-part=legend]")).to_contain_text("times the lower median of the others")
        page.locator("[data-part=cells]").focus()
        for key in ["ArrowDown", "Home"] + ["ArrowRight"] * 4:
            page.keyboard.press(key)
        expect(page.locator("[data-part=said]")).to_have_text(
            "host-1, round 4: 3.60\u00a0s, 9.00\u00a0× the 400\u00a0ms of the other"
        )


def test_the_table_has_the_figures_and_a_phase_chosen_is_in_the_address(
    browser: Browser, web: str, people: Cast, run: Run
) -> None:
    with looking(browser, web, people, f"/runs/{run.pk}/heat/") as page:
        page.get_by_role("button", name="Table", exact=True).focus()
        page.keyboard.press("Enter")
        table = page.locator("[data-part=table]")
        expect(table.locator("caption")).to_contain_text("Workers 1 to 4 of 4, rounds 10 to 11")
        table.get_by_role("button", name="Earlier rounds here").click()
        slow = table.locator("tr", has_text="host-3")
        expect(slow.locator("td").nth(4)).to_have_text("3.60\u00a0s 9.00\u00a0×")
        expect(table.locator(".heat-medians td").nth(4)).to_have_text("400\u00a0ms of 4")
        expect(table.get_by_role("link", name="Round 4 in the timeline")).to_have_attribute(
            "href", re.compile("round=4")
        )
        page.locator("[data-part=order]").select_option("slowest")
        expect(table.locator("tbody tr").nth(1)).to_contain_text("host-3")
        page.locator("[data-part=phase]").select_option("train")
        expect(page).to_have_url(re.compile("phase=train"))
        expect(table).to_contain_text("seconds in “train”")
        page.reload()
        expect(page.get_by_role("heading", name="train of 4 workers")).to_be_visible()


@pytest.mark.parametrize("width", [400, 1600])
def test_hostile_names_are_text_in_it(browser: Browser, web: str, people: Cast, width: int) -> None:
    hostile_run(web, people)
    run = Run.objects.get(key=DOCUMENT_BREAKS)
    Round.objects.update(closed=True, end_ns=1)
    with looking(browser, web, people, f"/runs/{run.pk}/heat/?phase={HOSTILE}", width) as page:
        expect(page.locator("[data-part=said]")).to_contain_text(f"Nobody was in “{HOSTILE}”")
        page.locator("[data-part=phase]").select_option("train")
        page.get_by_role("button", name="Table", exact=True).click()
        expect(page.locator("[data-part=table] tbody tr").filter(has_text=DOCUMENT_BREAKS)).to_have_count(1)
        assert page.locator("main :is(img, script, iframe)").count() == 0
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_thousand_workers_are_a_map_that_scrolls_by_itself(browser: Browser, web: str, people: Cast) -> None:
    large_run(web, people)
    run = Run.objects.get(key="large")
    close_ended(run.pk)
    with looking(browser, web, people, f"/runs/{run.pk}/heat/?phase=train") as page:
        expect(page.locator("h2")).to_contain_text("of 1,000 workers")
        box = page.locator("[data-part=scroll]")
        assert box.evaluate("one => one.scrollHeight > one.clientHeight && one.scrollWidth <= one.clientWidth")
        page.locator("[data-part=cells]").focus()
        for _ in range(60):
            page.keyboard.press("PageDown")
        assert box.evaluate("one => one.scrollTop") > 0
        assert pixels(page) > 1
