"""Debian's Chromium, and what a person sees of the live page."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from playwright.sync_api import Browser, Page, sync_playwright

CHROMIUM = "/usr/bin/chromium"
EVERYTHING = "?show=table&follow=all"  # the live page as a table of all phases
ARGUMENTS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip


@contextmanager
def chromium(*more: str) -> Iterator[Browser]:
    """A headless browser, told `more` on its command line."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=[*ARGUMENTS, *more])
        try:
            yield browser
        finally:
            browser.close()


@dataclass(frozen=True)
class Row:
    """A phase as the page's table says it; `standing` is "", "still open", "slow" and so on."""

    worker: str
    phase: str
    kind: str
    round: str
    start: str
    duration: str
    standing: str


def sign_in(page: Page, login_url: str) -> str:
    """Signs in by the link; returns the server's origin."""
    page.goto(login_url)
    return str(page.evaluate("location.origin"))


def open_live_page(page: Page, login_url: str, run_id: str, query: str = "") -> None:
    """Signs in by the link and opens a run's live page."""
    origin = sign_in(page, login_url)
    page.goto(f"{origin}/runs/{run_id}/{query}")
    page.wait_for_selector("#live[data-state='live']", timeout=20_000)


def table_rows(page: Page) -> list[Row]:
    """What the table view of the live page shows now, newest first."""
    cells = page.evaluate(
        "[...document.querySelectorAll('[data-part=table] tbody tr')]"
        ".map(row => [...row.children].map(cell => cell.textContent))"
    )
    return [Row(*row) for row in cells]


def rounds_shown(page: Page) -> set[str]:
    """The rounds of which the table view shows a phase."""
    return {row.round for row in table_rows(page)} - {"–"}


def seconds_of(text: str) -> float:
    """A duration as the page writes it: 7.52 s, 189 ms, 797 µs, 2 min 03 s."""
    units = {"µs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}
    words = text.split()
    return sum(float(number) * units[unit] for number, unit in zip(words[::2], words[1::2], strict=True))
