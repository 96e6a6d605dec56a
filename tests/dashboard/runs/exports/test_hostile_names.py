"""Names with markup, formulas, control characters and marks of direction reach every format as text."""

import csv
import io
import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from dashboard.runs.exports.formats import FORMATS
from dashboard.runs.exports.table_csv import harmless
from ingest.models import Run
from roundwatch import wire
from tests.cast import Cast
from tests.dashboard.runs.exports import exported_run as stage
from tests.e2e.hostile import NAMES, Hostile
from tests.ingest.storing import store

pytestmark = pytest.mark.django_db
FORMULAS = ("=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "＝1", '=cmd|" /C calc"!A0')
TEXTS = tuple(dict.fromkeys(wire.cleaned(text) for text in (*NAMES, *FORMULAS)))


@pytest.fixture
def run(cast: Cast) -> Run:
    for text in TEXTS:
        recorder = Hostile(text, run="hostile", project="p", began_ns=stage.BEGIN_NS).begin(name=text)
        recorder.begin_round(0, stage.at(0))
        recorder.phase(text, stage.at(1), stage.at(9), round=0, **{text: text})
        recorder.event(text, stage.at(5), round=0, **{text: text})
        recorder.sample(text, 1.0, stage.at(6), unit=text[:32], device=text)
        store(cast.team, [recorder.end_round(0, stage.at(10)).batch()])
    return Run.objects.get(key="hostile")


def test_a_trace_tells_them_as_they_are_in_sound_json(run: Run, tmp_path: Path) -> None:
    found = stage.events(stage.made(run, "perfetto", tmp_path / "trace"))
    assert {one["name"] for one in found if one["ph"] == "X" and one["cat"] != "round"} == set(TEXTS)
    assert {one["name"] for one in found if one["ph"] == "i"} == set(TEXTS)
    told = {one["args"]["name"] for one in found if one["name"] == "process_name"}
    assert {f"{text} (trainer on {text})" for text in TEXTS} <= told


def test_no_cell_of_csv_is_a_formula_and_each_text_is_whole(run: Run, tmp_path: Path) -> None:
    found = stage.files(stage.made(run, "csv", tmp_path / "csv"))
    rows = {name: list(csv.reader(io.StringIO(text.decode(), newline=""))) for name, text in found.items()}
    numbers = {"round", "index", "seconds"}

    for table in rows.values():
        for row in table[1:]:
            for name, cell in zip(table[0], row, strict=True):
                assert name in numbers or not cell.startswith(tuple("=+-@\t\r＝＋－＠")), (name, cell)
    assert {row[0] for row in rows["phases.csv"][1:]} == {harmless(text) for text in TEXTS}
    assert {row[2].removeprefix("'") for row in rows["phases.csv"][1:]} == set(TEXTS)
    assert [json.loads(row[-1]) for row in rows["phases.csv"][1:]] == [
        {row[2].removeprefix("'"): row[2].removeprefix("'")} for row in rows["phases.csv"][1:]
    ]
    assert {row[2].removeprefix("'") for row in rows["samples.csv"][1:]} == set(TEXTS)


def test_parquet_holds_them_as_they_are(run: Run, tmp_path: Path) -> None:
    found = stage.files(stage.made(run, "parquet", tmp_path / "parquet"))
    phases = pq.read_table(io.BytesIO(found["phases.parquet"])).to_pylist()
    assert {row["worker"] for row in phases} == {row["name"] for row in phases} == set(TEXTS)


@pytest.mark.parametrize("name", [*TEXTS, "../../etc/passwd", "a/b\\c", "", "CON", "."])
def test_a_files_name_is_one_that_any_system_takes(name: str) -> None:
    run = Run(name=name)
    for each in FORMATS.values():
        told = each.file_name(run)
        assert told.isascii()
        assert not set(told) - set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")
        assert not told.startswith((".", "-"))
        assert len(told) < 120
