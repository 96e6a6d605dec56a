"""The tab Export: what may be made, how far it has come, and who may have it."""

import html
from pathlib import Path
from typing import Any

import pytest

from dashboard.runs.exports import making, sending
from ingest.models import Export, Run
from ingest.store import exports
from tests.cast import Cast, browser_of
from tests.dashboard.runs.exports import exported_run as stage

pytestmark = pytest.mark.django_db


@pytest.fixture
def run(cast: Cast, settings: Any, tmp_path: Path) -> Run:
    settings.EXPORTS = tmp_path / "exports"
    return stage.make_run(cast.team)


def page(person: Any, run: Run, **headers: str) -> Any:
    return browser_of(person).get(f"/runs/{run.pk}/export/", headers=headers)


@pytest.mark.parametrize("who", ["owner", "member", "viewer"])
def test_whoever_may_see_a_run_may_have_it_as_a_file(cast: Cast, run: Run, who: str) -> None:
    browser = browser_of(getattr(cast, who))
    answer = browser.post(f"/runs/{run.pk}/export/", {"format": "parquet"})
    assert (answer.status_code, answer["Location"]) == (302, f"/runs/{run.pk}/export/")
    export = Export.objects.get()
    assert (export.format, export.state, export.asked_by) == ("parquet", "waiting", getattr(cast, who))
    shown = browser.get(f"/runs/{run.pk}/export/").content.decode()
    assert "waiting for a worker" in shown
    assert 'hx-trigger="every 2s"' in shown

    making.make_slice(export.pk)

    shown = browser.get(f"/runs/{run.pk}/export/").content.decode()
    assert f"/api/v1/runs/{run.pk}/exports/{export.pk}/file" in shown
    assert "hx-trigger" not in shown  # nothing will change any more


def test_the_command_is_told_with_the_token_that_it_needs(cast: Cast, run: Run) -> None:
    told = " ".join(page(cast.viewer, run).content.decode().split())
    assert f"roundwatch export {run.pk} --format parquet" in told
    assert "a token that may <code>read</code>" in told


def test_a_stranger_finds_no_page_and_has_nothing_made(cast: Cast, run: Run) -> None:
    assert page(cast.stranger, run).status_code == 404
    assert browser_of(cast.stranger).post(f"/runs/{run.pk}/export/", {"format": "csv"}).status_code == 404
    assert not Export.objects.exists()


def test_the_page_asks_for_its_changing_part_alone(cast: Cast, run: Run) -> None:
    export = exports.ask(run, "csv", None)
    part = page(cast.member, run, HX_Request="true")
    assert b"<html" not in part.content
    seen = html.unescape(part.content.decode()).partition('"seen": "')[2].partition('"')[0]
    path = f"/runs/{run.pk}/export/?seen={seen}"
    assert browser_of(cast.member).get(path, headers={"HX-Request": "true"}).status_code == 204
    making.make_slice(export.pk)
    assert browser_of(cast.member).get(path, headers={"HX-Request": "true"}).status_code == 200


def test_a_short_runs_trace_needs_no_file_and_a_long_ones_does(
    cast: Cast, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    short = page(cast.member, run).content.decode()
    assert f'data-perfetto="/api/v1/runs/{run.pk}/trace"' in short
    monkeypatch.setattr(sending, "MOST_AT_ONCE", 5)
    long = page(cast.member, run).content.decode()
    assert "data-perfetto" not in long
    assert long.count("Make a file") == 3
    making.make_slice(exports.ask(run, "perfetto", None).pk)
    assert f'data-perfetto="/api/v1/runs/{run.pk}/exports/' in page(cast.member, run).content.decode()


def test_an_export_that_failed_says_why(cast: Cast, run: Run) -> None:
    export = exports.ask(run, "csv", None)
    Export.objects.filter(pk=export.pk).update(state="failed", reason="The file could not be written: <full>.")
    shown = page(cast.member, run).content.decode()
    assert "The file could not be written: &lt;full&gt;." in shown


def test_what_is_no_format_is_not_made_and_more_than_a_team_may_have_is_said(cast: Cast, run: Run) -> None:
    browser = browser_of(cast.member)
    assert browser.post(f"/runs/{run.pk}/export/", {"format": "xlsx"}).status_code == 404
    for number in range(exports.MOST_WAITING):
        exports.ask(stage.make_run(cast.team, workers=1, count=1, key=f"more-{number}"), "csv", None)
    shown = browser.post(f"/runs/{run.pk}/export/", {"format": "csv"}, follow=True).content.decode()
    assert "wait for one of them" in shown
