"""The docs page in a real Chromium: it draws from our own files under our own policy, and its requests work."""

from playwright.sync_api import Browser, expect

from dashboard.teams import login_links
from tests.cast import Cast


def test_the_docs_are_drawn_and_tried_out_without_breaking_the_policy(browser: Browser, web: str, people: Cast) -> None:
    page, said, asked = browser.new_page(), [], []
    page.on("console", lambda message: said.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(web + login_links.make(people.owner))

    page.goto(f"{web}/api/v1/docs")
    operation = page.locator("#operations-runs-dashboard_runs_api_runs_list_runs")
    expect(operation).to_be_visible(timeout=20_000)
    expect(operation.locator(".opblock-summary-description")).to_have_text("The team's runs, newest first")
    expect(page.locator(".info")).to_contain_text("Authorization: Bearer TOKEN")
    expect(page.get_by_role("link", name="Back to the runs")).to_have_attribute("href", "/")
    operation.get_by_role("button").first.click()
    operation.get_by_role("button", name="Try it out").click()
    operation.get_by_role("button", name="Execute").click()
    answered = operation.locator(".live-responses-table tbody .response-col_status")
    expect(answered).to_contain_text("200", timeout=20_000)

    assert said == []
    assert all(url.startswith((web, "data:", "blob:")) for url in asked)
    page.close()
