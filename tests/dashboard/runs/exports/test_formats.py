"""Exports hold what Postgres and REST hold, in one go and in slices."""

import csv
import io
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from django.test import Client

from dashboard.runs.exports import pages, table_archive, trace
from dashboard.teams import tokens
from ingest.models import Event, Phase, Round, Run
from tests.cast import Cast
from tests.dashboard.runs.exports import exported_run as stage

pytestmark = pytest.mark.django_db


@pytest.fixture
def run(cast: Cast) -> Run:
    return stage.make_run(cast.team)


def rest(cast: Cast, run: Run, what: str) -> list[dict[str, Any]]:
    """All that REST tells."""
    client = Client(headers={"authorization": f"Bearer {tokens.issue(cast.team, 'script', ['read'])}"})
    found, cursor = [], ""
    while cursor is not None:
        answer = client.get(f"/api/v1/runs/{run.pk}/{what}", {"limit": 7, **({"cursor": cursor} if cursor else {})})
        assert answer.status_code == 200, answer.content
        found += answer.json()["items"]
        cursor = answer.json()["next"]
    return found


def microseconds(text: str) -> int:
    """A time of REST in Unix microseconds, without a float."""
    moment = datetime.fromisoformat(text)
    return int(moment.replace(microsecond=0).timestamp()) * 10**6 + moment.microsecond


def test_every_phase_of_a_trace_is_one_of_rest_and_of_postgres_to_the_microsecond(
    cast: Cast, run: Run, tmp_path: Path
) -> None:
    data = stage.made(run, "perfetto", tmp_path / "trace")
    names = {one["pid"]: one["args"]["name"] for one in stage.events(data) if one["name"] == "process_name"}
    closed = [one for one in stage.bars(data) if one["cat"] != "open"]

    told = sorted(
        (
            names[one["pid"]].split(" ")[0], one["args"]["round"], one["name"], one["args"]["kind"], one["ts"],
            one["ts"] + one["dur"], one["args"]["state"], json.dumps(one["args"]["attrs"], sort_keys=True),
        )
        for one in closed
    )  # fmt: skip
    by_rest = sorted(
        (
            one["worker"], one["round"], one["name"], one["kind"], microseconds(one["start"]),
            microseconds(one["end"]), one["state"], json.dumps(one["attrs"], sort_keys=True),
        )
        for one in rest(cast, run, "phases")
    )  # fmt: skip
    assert told == by_rest
    rows = Phase.objects.filter(run_id=run.pk)
    assert len(told) == rows.count() == 2 * 2 * 7
    assert sorted((one["ts"], one["ts"] + one["dur"]) for one in closed) == sorted(
        (row.begin_ns // 1000, row.end_ns // 1000) for row in rows
    )


def test_a_trace_marks_what_is_open_and_tells_rounds_events_gaps_and_readings(run: Run, tmp_path: Path) -> None:
    found = stage.events(stage.made(run, "perfetto", tmp_path / "trace"))
    names = {one["pid"]: one["args"]["name"] for one in found if one["name"] == "process_name"}
    threads = {(one["pid"], one["tid"]): one["args"]["name"] for one in found if one["name"] == "thread_name"}

    assert list(names.values())[:3] == ["rounds", "rank-0 (trainer on machine-0)", "rank-1 (trainer on machine-1)"]
    (opened,) = [one for one in found if one.get("cat") == "open"]
    assert (opened["name"], opened["args"]["state"], names[opened["pid"]]) == (
        "checkpoint", "open", "rank-1 (trainer on machine-1)",
    )  # fmt: skip
    assert (opened["ts"], opened["dur"]) == (stage.at(2060) // 1000, stage.at(2090) // 1000 - stage.at(2060) // 1000)
    rounds = [one for one in found if one.get("cat") == "round"]
    assert [one["name"] for one in rounds] == ["round 0", "round 1"]
    assert {(one["ts"], one["ts"] + one["dur"]) for one in rounds} == {
        (row.begin_ns // 1000, row.end_ns // 1000) for row in Round.objects.filter(run=run) if row.end_ns
    }
    instants = [one for one in found if one["ph"] == "i"]
    assert sorted(one["ts"] for one in instants) == sorted(
        row.time_ns // 1000 for row in Event.objects.filter(run_id=run.pk)
    )
    assert {threads[one["pid"], one["tid"]] for one in instants} == {"events"}
    gaps = [one for one in found if one.get("cat") == "gap"]
    assert [(one["name"], one["args"]["reason"]) for one in gaps] == [("7 records lost", "ring full")] * 2
    readings = [(names[one["pid"]], one["name"], one["args"]["value"]) for one in found if one["ph"] == "C"]
    assert ("rank-0 (trainer on machine-0)", "0 gpu_memory_used (B)", 1e9) in readings
    assert ("machine machine-1", "host_load1 (load)", 2.5) in readings
    assert [value for _, name, value in readings if name == "loss"] == [1.25, 1.25]  # of what is no number, none
    assert threads[opened["pid"], opened["tid"]] == "thread 0"


def test_a_phase_that_ends_while_its_trace_is_made_is_told_of_once(
    cast: Cast, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trace, "PAGE", 3)
    with (tmp_path / "trace").open("w+b") as file:
        known, _ = stage._slice(run, "perfetto", file, None, 0)
        row = Phase.objects.filter(run_id=run.pk).order_by("-begin_ns").first()
        assert row is not None
        opened = known["trace"]["opens"][0]
        Phase.objects.filter(pk=row.pk).update(stream_id=opened[1], start_number=opened[2], parent=-1)
        is_done = False
        while not is_done:
            known, is_done = stage._slice(run, "perfetto", file, known, 0)
    told = stage.bars((tmp_path / "trace").read_bytes())
    assert [one["cat"] for one in told].count("open") == 1
    assert len(told) == Phase.objects.filter(run_id=run.pk).count()


def cells(kind: str, text: str) -> Any:
    """A cell of a CSV file as REST has it."""
    if text == "":
        return None
    return {"number": float, "integer": int, "json": json.loads, "flag": "true".__eq__}.get(kind, str)(text)


def as_rest(table: str, row: dict[str, Any]) -> dict[str, Any]:
    """What REST tells of a thing, as far as tables have it."""
    columns = next(each for each in table_archive.TABLES if each.name == table).columns
    return {name: row[name] for name in columns}


@pytest.mark.parametrize("table", [each.name for each in table_archive.TABLES])
def test_csv_holds_what_rest_tells(cast: Cast, run: Run, table: str, tmp_path: Path) -> None:
    found = stage.files(stage.made(run, "csv", tmp_path / "csv"))
    columns = next(each for each in table_archive.TABLES if each.name == table).columns
    rows = list(csv.reader(io.StringIO(found[f"{table}.csv"].decode(), newline="")))

    assert set(found) == {"phases.csv", "rounds.csv", "samples.csv"}
    assert rows[0] == list(columns)
    told = [
        {name: cells(kind.value, text) for (name, kind), text in zip(columns.items(), row, strict=True)}
        for row in rows[1:]
    ]
    expected = [as_rest(table, one) for one in rest(cast, run, table)]
    for one in expected:  # REST has words where JSON has none; an empty text and none are the same cell
        one.update({name: float(one[name]) for name in one if name == "value"})
        one.update({name: None for name, value in one.items() if value == ""})
    assert sorted(map(repr, told)) == sorted(map(repr, expected))
    assert len(told) > 1


@pytest.mark.parametrize("table", [each.name for each in table_archive.TABLES])
def test_parquet_read_back_is_what_rest_tells(cast: Cast, run: Run, table: str, tmp_path: Path) -> None:
    found = stage.files(stage.made(run, "parquet", tmp_path / "parquet"))
    columns = next(each for each in table_archive.TABLES if each.name == table).columns

    assert set(found) == {"phases.parquet", "rounds.parquet", "samples.parquet"}
    told = pq.read_table(io.BytesIO(found[f"{table}.parquet"])).to_pylist()
    for one in told:
        for name, kind in columns.items():
            if kind.value == "time" and one[name] is not None:
                assert one[name].tzinfo is not None
                one[name] = one[name].astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
            elif kind.value == "json" and one[name] is not None:
                one[name] = json.loads(one[name])
    expected = [as_rest(table, one) for one in rest(cast, run, table)]
    for one in expected:
        one.update({name: float(one[name]) for name in one if name == "value"})
    assert sorted(map(repr, told)) == sorted(map(repr, expected))
    assert len(told) > 1


def test_slices_of_a_page_each_make_the_same_trace_and_tables(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = {form: stage.made(run, form, tmp_path / f"{form}-whole") for form in ("perfetto", "csv", "parquet")}
    for module in (pages, trace, table_archive):
        monkeypatch.setattr(module, "PAGE", 3)
    sliced = {form: stage.made(run, form, tmp_path / form, seconds=0) for form in whole}

    assert stage.events(sliced["perfetto"]) == stage.events(whole["perfetto"])
    assert stage.files(sliced["csv"]) == stage.files(whole["csv"])
    parts = stage.files(sliced["parquet"])
    assert len([name for name in parts if name.startswith("phases/")]) == -(-28 // 3)
    together = [row for name in sorted(parts) if name.startswith("phases") for row in _rows(parts[name])]
    assert together == _rows(stage.files(whole["parquet"])["phases.parquet"])


def _rows(data: bytes) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = pq.read_table(io.BytesIO(data)).to_pylist()
    return found


def test_a_run_of_nothing_is_exported_as_nothing(cast: Cast, run: Run, tmp_path: Path) -> None:
    empty = Run.objects.create(
        team=cast.team, project="p", key="empty", name="empty", started_at=run.started_at, heard_at=run.heard_at,
        first_day=run.first_day, last_day=run.last_day,
    )  # fmt: skip

    assert stage.bars(stage.made(empty, "perfetto", tmp_path / "trace")) == []
    assert stage.files(stage.made(empty, "csv", tmp_path / "csv"))["phases.csv"].startswith(b"worker,round,name,kind")
    assert _rows(stage.files(stage.made(empty, "parquet", tmp_path / "parquet"))["samples.parquet"]) == []
