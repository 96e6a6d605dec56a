"""The tab Export in a real Chromium: a trace handed over to Perfetto's page, downloads, progress, and keys."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from dashboard.runs.exports import making
from ingest.models import Export, Run
from tests.cast import Cast
from tests.dashboard.runs.exports import exported_run as stage
from tests.dashboard.test_in_a_browser import signed_in

expect.set_options(timeout=20_000)
# What ui.perfetto.dev does with what it is told, as its documentation says; that page is not to be had in a test.
PERFETTO = """<!DOCTYPE html><title>waiting</title><script>
addEventListener("message", async (event) => {
    if (event.data === "PING") {
        event.source.postMessage("PONG", event.origin);
    } else if (event.data.perfetto) {
        const { buffer, title, fileName } = event.data.perfetto;
        const text = new Blob([buffer]).stream().pipeThrough(new DecompressionStream("gzip"));
        const trace = JSON.parse(await new Response(text).text());
        document.body.textContent = JSON.stringify({ title, fileName, events: trace.traceEvents.length });
        document.title = "opened";
    }
});
</script>"""


@pytest.fixture
def run(people: Cast) -> Iterator[Run]:
    yield stage.make_run(people.team)
    Export.objects.all().delete()
    making.sweep()


def answer(route: Route) -> None:
    route.fulfill(content_type="text/html", body=PERFETTO)


def make(page: Page, kind: str) -> None:
    """Ask for a file, and make it as a worker would."""
    page.get_by_role("region", name=kind).get_by_role("button", name="Make a file").click()
    expect(page.get_by_text("waiting for a worker")).to_be_visible()
    making.make_slice(Export.objects.get(state="waiting").pk)
    expect(page.get_by_text("kept until")).to_be_visible()  # the page has seen it by itself


def test_a_trace_is_handed_over_to_perfetto_by_keys_alone(
    browser: Browser, web: str, people: Cast, run: Run, tmp_path: Path
) -> None:
    expected = len(stage.events(stage.made(run, "perfetto", tmp_path / "trace")))
    with signed_in(browser, web, people) as page:
        page.context.route("https://ui.perfetto.dev/**", answer)
        page.goto(f"{web}/runs/{run.pk}/export/")
        page.get_by_role("button", name="Open in Perfetto").focus()
        with page.expect_popup() as opening:
            page.keyboard.press("Enter")
        expect(opening.value).to_have_title("opened")
        told = json.loads(opening.value.inner_text("body"))
        assert told == {"title": "run-1", "fileName": f"{run.pk}.json.gz", "events": expected}
        expect(page.locator("#perfetto-said")).to_be_hidden()


def test_a_window_closed_too_early_is_said(browser: Browser, web: str, people: Cast, run: Run) -> None:
    with signed_in(browser, web, people) as page:
        page.context.route("https://ui.perfetto.dev/**", lambda route: route.fulfill(body="nothing listens here"))
        page.goto(f"{web}/runs/{run.pk}/export/")
        with page.expect_popup() as opening:
            page.get_by_role("button", name="Open in Perfetto").click()
        opening.value.close()
        expect(page.locator("#perfetto-said")).to_have_text("Perfetto's window was closed before it had the trace.")
        expect(page.get_by_role("button", name="Open in Perfetto")).to_be_enabled()


@pytest.mark.parametrize("width", [1600, 400])
def test_a_file_that_was_made_is_downloaded(
    browser: Browser, web: str, people: Cast, run: Run, width: int, tmp_path: Path
) -> None:
    with signed_in(browser, web, people, width=width) as page:
        page.goto(f"{web}/runs/{run.pk}/export/")
        make(page, "CSV")
        with page.expect_download() as loading:
            page.get_by_role("region", name="Files of this run").get_by_role("link", name="Download").click()
        path = Path(loading.value.path())
        assert set(stage.files(path.read_bytes())) == {"phases.csv", "rounds.csv", "samples.csv"}
        assert loading.value.suggested_filename == f"run-1-{str(run.pk)[:8]}-csv.zip"
        with page.expect_download() as loading:
            page.get_by_role("region", name="Perfetto trace").get_by_role("link", name="Download").click()
        assert json.loads(gzip.decompress(Path(loading.value.path()).read_bytes()))["traceEvents"]
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
