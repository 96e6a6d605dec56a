"""Exports over REST: who may have one, how it is asked for, and its file from a real server."""

import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from dashboard.runs.exports import making
from dashboard.teams import tokens
from ingest.models import Export, Run
from ingest.store import exports
from tests.cast import Cast, browser_of, make_cast
from tests.dashboard.runs.exports import exported_run as stage


@pytest.fixture
def cast(web: str) -> Cast:
    return make_cast()


@pytest.fixture
def run(cast: Cast) -> Iterator[Run]:
    """A run; the files that are made of it lie where the server looks for them, and go afterwards."""
    yield stage.make_run(cast.team)
    Export.objects.all().delete()
    making.sweep()


def script(web: str, cast: Cast, *scopes: str, team: Any = None) -> httpx.Client:
    token = tokens.issue(team or cast.team, "script", scopes)
    return httpx.Client(base_url=f"{web}/api/v1", headers={"Authorization": f"Bearer {token}"}, timeout=30)


def test_a_token_that_may_read_has_an_export_made_and_gets_its_file(
    web: str, cast: Cast, run: Run, tmp_path: Path
) -> None:
    with script(web, cast, "read") as client:
        asked = client.post(f"/runs/{run.pk}/exports", json={"format": "csv"})
        assert asked.status_code == 202, asked.text
        told = asked.json()
        assert (told["state"], told["format"], told["records_total"], told["done_at"]) == ("waiting", "csv", None, None)
        path = f"/runs/{run.pk}/exports/{told['id']}"
        early = client.get(f"{path}/file")
        assert (early.status_code, early.json()["error"]["message"]) == (404, "This export is not done.")

        making.make_slice(uuid.UUID(told["id"]))

        done = client.get(path).json()
        assert (done["state"], done["reason"]) == ("done", "")
        assert client.get(f"/runs/{run.pk}/exports").json() == {"items": [done], "next": None}
        file = client.get(f"{path}/file")
        assert file.headers["Content-Type"] == "application/zip"
        assert file.headers["Content-Disposition"] == f'attachment; filename="run-1-{str(run.pk)[:8]}-csv.zip"'
        assert len(file.content) == int(file.headers["Content-Length"]) == done["bytes"]
        assert stage.files(file.content) == stage.files(stage.made(run, "csv", tmp_path / "csv"))

        making.path_of(uuid.UUID(told["id"])).unlink()
        assert client.get(f"{path}/file").status_code == 404


def test_a_short_runs_trace_is_sent_while_it_is_made(web: str, cast: Cast, run: Run, tmp_path: Path) -> None:
    with script(web, cast, "read") as client:
        answer = client.get(f"/runs/{run.pk}/trace")
    assert answer.status_code == 200
    assert answer.headers["Content-Type"] == "application/gzip"
    assert "Content-Encoding" not in answer.headers  # the file is what is compressed, not the answer
    assert stage.events(answer.content) == stage.events(stage.made(run, "perfetto", tmp_path / "trace"))


def test_who_may_have_an_export(web: str, cast: Cast, run: Run) -> None:
    export = exports.ask(run, "perfetto", None)
    making.make_slice(export.pk)
    paths = [f"/runs/{run.pk}/{path}" for path in ("exports", f"exports/{export.pk}", f"exports/{export.pk}/file",
                                                   "trace")]  # fmt: skip
    for scopes, status in ((["read"], 200), (["admin"], 200), (["ingest"], 403)):
        with script(web, cast, *scopes) as client:
            assert {client.get(path).status_code for path in paths} == {status}
            asked = client.post(f"/runs/{run.pk}/exports", json={"format": "csv"})
            assert asked.status_code == (202 if status == 200 else status)
    with script(web, cast, "read", "admin", team=cast.other_team) as stranger:
        assert {stranger.get(path).status_code for path in paths} == {404}
        assert stranger.post(f"/runs/{run.pk}/exports", json={}).status_code == 404
    with httpx.Client(base_url=f"{web}/api/v1") as visitor:
        assert {visitor.get(path).status_code for path in paths} == {401}
        assert visitor.post(f"/runs/{run.pk}/exports", json={}).status_code == 401
    for person, status in ((cast.viewer, 200), (cast.owner, 200), (cast.stranger, 404)):
        cookies = {"sessionid": browser_of(person).cookies["sessionid"].value}
        with httpx.Client(base_url=f"{web}/api/v1", cookies=cookies) as browser:
            assert {browser.get(path).status_code for path in paths} == {status}


def test_an_export_is_only_its_own_runs(web: str, cast: Cast, run: Run) -> None:
    other = stage.make_run(cast.team, workers=1, count=1, key="other")
    export = exports.ask(other, "csv", None)
    with script(web, cast, "read") as client:
        assert client.get(f"/runs/{run.pk}/exports/{export.pk}").status_code == 404
        assert client.get(f"/runs/{run.pk}/exports/{export.pk}/file").status_code == 404


def test_what_cannot_be_made_is_refused(web: str, cast: Cast, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    with script(web, cast, "read") as client:
        refused = client.post(f"/runs/{run.pk}/exports", json={"format": "xlsx"})
        assert (refused.status_code, refused.json()["error"]["field"]) == (422, "format")
        for number in range(exports.MOST_WAITING):
            more = stage.make_run(cast.team, workers=1, count=1, key=f"more-{number}")
            assert client.post(f"/runs/{more.pk}/exports", json={}).status_code == 202
        refused = client.post(f"/runs/{run.pk}/exports", json={})
        assert (refused.status_code, refused.json()["error"]["code"]) == (409, "conflict")


def test_a_long_runs_trace_is_not_made_by_the_web_server(web: str, cast: Cast) -> None:
    from tests.ingest.batches import Recorder
    from tests.ingest.storing import store

    recorder = Recorder("rank-0", run="long", began_ns=stage.BEGIN_NS).begin()
    for part in range(3):
        for index in range(7000):
            recorder.phase("step", stage.at(10 * (7000 * part + index)), stage.at(10 * (7000 * part + index) + 5))
        store(cast.team, [recorder.batch()])
    with script(web, cast, "read") as client:
        refused = client.get(f"/runs/{Run.objects.get(key='long').pk}/trace")
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "conflict")
