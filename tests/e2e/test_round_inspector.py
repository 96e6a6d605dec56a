"""What a round waited for, as a person reads it: two bars that sum, what-ifs, intervals, and the way to each bar."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from dashboard.teams import login_links, tokens
from ingest.models import Finding, Round, Run
from ingest.store.rounds import close_ended
from ingest.tasks import judge_intervals, judge_round
from roundwatch.lab.catalogue import scenarios
from roundwatch.lab.playing import Player, Wishes
from roundwatch.lab.telling import Teller
from tests.cast import Cast
from tests.e2e.browser import seconds_of
from tests.e2e.hostile import DOCUMENT_BREAKS, NAMES, hostile_run, large_run

pytestmark = pytest.mark.e2e
expect.set_options(timeout=10_000)
SECOND = 10**9


@pytest.fixture
def run(web: str, people: Cast) -> Run:
    """The study's run 6, played by the lab, its rounds closed and judged."""
    teller = Teller(web, tokens.issue(people.team, "lab", ["ingest"]), patience_s=10)
    Player(scenarios()["run-6"], teller, Wishes(project="lab", run="run-6", speed=float("inf"))).play()
    teller.close()
    run = Run.objects.get()
    close_ended(run.pk)
    for row in Round.objects.filter(run=run, closed=True).order_by("index"):
        judge_round(str(run.pk), row.index, row.generation)
    return run


@contextmanager
def looking(browser: Browser, web: str, cast: Cast, run: Run, query: str, width: int = 1600) -> Iterator[Page]:
    """The owner's live page of the run; at the end its console must have been silent."""
    with browser.new_context(viewport={"width": width, "height": 1000}) as context:
        page = context.new_page()
        page.goto(web + login_links.make(cast.owner))
        said: list[str] = []
        page.on("console", lambda message: said.append(message.text) if message.type in {"error", "warning"} else None)
        page.on("pageerror", lambda error: said.append(str(error)))
        page.goto(f"{web}/runs/{run.pk}/{query}")
        page.wait_for_selector("[data-state=live]")
        yield page
        assert said == []


def shares(section: Locator) -> tuple[list[int], int]:
    """The exact figures of a table's rows, and that of its last row, their sum."""
    *rows, total = section.locator("tr").evaluate_all("rows => rows.map((row) => Number(row.dataset.ns))")
    return rows, total


def test_round_four_says_what_it_waited_for_in_two_bars_that_sum_and_what_would_save_time(
    browser: Browser, web: str, people: Cast, run: Run
) -> None:
    with looking(browser, web, people, run, "?round=4&follow=all") as page:
        waiting, path = page.locator(".kept-waiting"), page.locator(".critical-path")
        expect(waiting.locator("h3")).to_contain_text("What kept GPUs waiting in round 4")
        rows, total = shares(path)
        row = Round.objects.get(run=run, index=4)
        assert row.end_ns is not None
        assert sum(rows) == total == row.end_ns - row.begin_ns
        lost, all_lost = shares(waiting)
        assert sum(lost) == all_lost
        assert row.gpu_waiting_share == pytest.approx(all_lost / 16 / total)
        names = [text.split(" · ")[0] for text in path.locator("tbody th").all_inner_texts()]
        assert names == ["train", "encode", "upload", "aggregate", "apply", "wall time"]
        expect(path.locator("tr").nth(1)).to_contain_text("encode · host-07")
        expect(waiting.locator("tr").first).to_contain_text("encode · mostly host-07")
        what_if = page.locator(".what-if tr")
        expect(what_if.first).to_contain_text(re.compile("encode of host-0[67] and host-0[67]"))
        assert seconds_of(what_if.first.locator("td").inner_text().removeprefix("−\u00a0")) == pytest.approx(
            15.7, abs=0.3
        )
        alone = page.locator(".what-if tr", has_text="encode of host-07 alone").locator("td")
        assert seconds_of(alone.inner_text().removeprefix("−\u00a0")) == pytest.approx(0.2, abs=0.05)
        card = page.locator(".inspector .finding", has_text="Slow encode")
        expect(card.locator(".observed")).to_have_count(1)
        expect(card.locator(".hypothesis")).to_have_count(1)
        card.get_by_role("button", name="To the bar of host-06").click()
        expect(page.locator(".inspector .phase h3")).to_have_text("encode · host-06 · round 4")


def test_a_part_leads_to_its_bar_by_keyboard_and_each_figure_opens_what_it_means(
    browser: Browser, web: str, people: Cast, run: Run
) -> None:
    with looking(browser, web, people, run, "?round=4&group=none&q=host-01") as page:
        expect(page.locator(".lane-name:visible")).to_have_count(1)
        page.locator(".critical-path").get_by_role("button", name="encode, host-07").focus()
        page.keyboard.press("Enter")
        expect(page.locator(".inspector .phase h3")).to_have_text("encode · host-07 · round 4")
        expect(page.locator(".lane-name:visible", has_text="host-07")).to_have_count(1)
        expect(page).to_have_url(re.compile(r"round=4&sel="))
        assert page.evaluate("document.activeElement.getAttribute('aria-label')").startswith("encode, host-07")
        for name, said in (
            ("What kept GPUs waiting in round 4", "the mean of 16 trainers"),
            ("Critical path", "sum to the wall time"),
            ("What if", "at their peers’ pace"),
        ):
            page.locator(".analysis").get_by_role("button", name=f"{name}: what it means").focus()
            page.keyboard.press("Enter")
            card = page.locator(".definition:popover-open")
            expect(card).to_contain_text(said)
            expect(card).to_contain_text("One round.")
            assert card.evaluate(
                "one => { const box = one.getBoundingClientRect(); "
                "return box.top >= 0 && box.left >= 0 && box.bottom <= innerHeight && box.right <= innerWidth; }"
            )
            page.keyboard.press("Escape")
            expect(card).to_have_count(0)


def test_a_segment_pressed_in_the_bar_selects_its_phase_and_other_rounds_follow(
    browser: Browser, web: str, people: Cast, run: Run
) -> None:
    with looking(browser, web, people, run, "?round=4&follow=all") as page:
        page.locator(".critical-path .segment").nth(1).click()
        expect(page.locator(".inspector .phase h3")).to_have_text("encode · host-07 · round 4")
        page.get_by_role("button", name="Earlier round").click()
        expect(page.locator(".kept-waiting h3")).to_contain_text("in round 3")
        interval = page.locator(".intervals details")
        interval.locator("summary").focus()
        page.keyboard.press("Enter")
        expect(interval.locator("tr").last).to_contain_text("apply")
        expect(interval).to_contain_text("all of it instrumented")


def test_an_interval_with_a_check_is_defined_by_keyboard_and_opens_into_its_parts(
    browser: Browser, web: str, people: Cast, run: Run
) -> None:
    with looking(browser, web, people, run, "?round=4&follow=all") as page:
        page.get_by_role("link", name="Intervals").focus()
        page.keyboard.press("Enter")
        page.locator("summary", has_text="Define an interval").focus()
        page.keyboard.press("Enter")
        page.get_by_label("What is it called?").fill("training to aggregated")
        page.get_by_label("From the: name").fill("train")
        page.get_by_label("To the: first or last").select_option("last")
        page.get_by_label("To the: start, end").select_option("end")
        page.get_by_label("To the: name").fill("aggregate")
        page.get_by_label("At most").fill("10")
        page.keyboard.press("Enter")
        expect(page.locator(".intervals tbody tr").first).to_contain_text("training to aggregated")
        judge_intervals(str(run.pk))
        page.reload()
        row = page.locator(".intervals tbody tr").first
        expect(row.locator("[data-answer=failed]")).to_have_count(1)
        page.set_viewport_size({"width": 400, "height": 1000})
        assert page.evaluate("document.documentElement.scrollWidth") <= 400
        page.set_viewport_size({"width": 1600, "height": 1000})
        page.get_by_role("link", name="round 4", exact=True).click()
        interval = page.locator(".intervals details", has_text="training to aggregated")
        expect(interval.locator("summary")).to_contain_text("failed, ≤ 10 s")
        interval.locator("summary").focus()
        page.keyboard.press("Enter")
        expect(interval).to_contain_text("last end of train to last end of aggregate")
        expect(interval.locator("tr", has_text="encode · host-07")).to_have_count(1)
        expect(interval).to_contain_text("instrumented")


def test_stacks_of_a_slow_phase_stand_folded_in_its_finding_as_text(
    browser: Browser, web: str, people: Cast, run: Run
) -> None:
    finding = Finding.objects.get(run=run, kind="straggler")
    attempt, start, lane, _ = finding.spans[0]
    frames = [[DOCUMENT_BREAKS, 7, DOCUMENT_BREAKS], ["W" * 500, 8, "encode"]] * 8
    taken = {"attempt": attempt, "start": start, "lane": lane, "time_ns": "1790000000000000000", "failed": ""}
    finding.evidence["stacks"] = [taken | {"threads": [{"name": DOCUMENT_BREAKS, "frames": frames}] * 2}]
    finding.save()
    for width in (400, 1600):
        with looking(browser, web, people, run, "?round=4&follow=all", width) as page:
            card = page.locator(".inspector .finding", has_text="Slow encode")
            stacks = card.locator("details")
            expect(stacks.locator("summary")).to_contain_text("Thread stacks · host-0")
            expect(stacks.locator("li").first).to_be_hidden()
            stacks.locator("summary").focus()
            page.keyboard.press("Enter")
            expect(stacks.locator("li").first).to_contain_text(f"{DOCUMENT_BREAKS}:7")
            box = stacks.get_by_role("region")
            assert box.evaluate("one => one.scrollHeight > one.clientHeight && one.scrollWidth <= one.clientWidth + 1")
            assert "mono" in box.evaluate("one => getComputedStyle(one).fontFamily").lower()
            box.evaluate("one => { one.scrollTop = 40; }")
            # Drawn anew by what is told of another finding, it stays open and where it was.
            box.evaluate("one => { one.dataset.seen = '1'; }")
            page.get_by_role("button", name="Earlier round").click()
            page.get_by_role("button", name="Later round").click()
            expect(stacks.locator("[data-seen]")).to_have_count(0)
            expect(stacks).to_have_attribute("open", "")
            assert stacks.get_by_role("region").evaluate("one => one.scrollTop") == 40
            assert card.locator(":is(img, script)").count() == 0
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            assert [text for text in card.locator(".marked button").all_inner_texts() if text == "host-06"] == [
                "host-06"
            ]


def test_a_round_judged_anew_is_told_anew(browser: Browser, web: str, people: Cast, run: Run) -> None:
    with looking(browser, web, people, run, "?round=4&follow=all") as page:
        expect(page.locator(".what-if tr").first).to_contain_text("host-07")
        row = Round.objects.get(run=run, index=4)
        late = (row.end_ns or 0) - 2 * SECOND
        Round.objects.filter(pk=row.pk).update(end_ns=late, data_version=row.data_version + 1)
        judge_round(str(run.pk), 4, 0)
        expect(page.locator(".critical-path tr").last).to_have_attribute("data-ns", str(late - row.begin_ns))


@pytest.mark.parametrize("width", [400, 1600])
def test_hostile_names_are_text_in_it_and_an_open_round_says_when_it_is_computed(
    browser: Browser, web: str, people: Cast, width: int
) -> None:
    hostile_run(web, people)
    run = Run.objects.get(key=DOCUMENT_BREAKS)
    close_ended(run.pk)
    with looking(browser, web, people, run, "?round=0&follow=all", width) as page:
        names = page.locator(".kept-waiting tbody tr")
        expect(names).to_have_count(len(NAMES) + 2)
        expect(names.first).to_contain_text(DOCUMENT_BREAKS)
        rows, total = shares(page.locator(".kept-waiting"))
        assert sum(rows) == total
        page.locator(".critical-path .part-name").last.click()
        assert page.locator("main :is(img, script, iframe)").count() == 0
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        Round.objects.filter(run=run).update(closed=False)
        page.reload()
        expect(page.locator(".analysis")).to_have_text(
            "What kept the GPUs waiting is computed when the round has ended."
        )


def test_a_round_of_a_thousand_workers_stays_a_page_of_rows_that_sum(browser: Browser, web: str, people: Cast) -> None:
    large_run(web, people)
    run = Run.objects.get(key="large")
    close_ended(run.pk)
    with looking(browser, web, people, run, "?round=0&follow=all") as page:
        waiting = page.locator(".kept-waiting")
        expect(waiting).to_contain_text("mean of 1,000 trainers")
        rows, total = shares(waiting)
        assert len(rows) <= 24
        assert sum(rows) == total
