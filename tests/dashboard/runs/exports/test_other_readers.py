"""A trace read by a program that is not ours, HolisticTraceAnalysis: the same phases, durations and nesting."""

import warnings
from pathlib import Path
from typing import Any

import pytest

from ingest.models import Phase, PhaseName, Run, Worker
from tests.cast import Cast
from tests.dashboard.runs.exports import exported_run as stage

pytest.importorskip("hta", reason="HolisticTraceAnalysis is not installed; deploy/test does it")
pytestmark = pytest.mark.django_db


@pytest.fixture
def run(cast: Cast) -> Run:
    return stage.make_run(cast.team, workers=3, count=3)


def read(path: Path) -> Any:
    """The trace's events as HTA has them, names and categories as text."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of their own code
        from hta.common.trace_parser import parse_trace_dataframe
        from hta.configs.parser_config import ParserConfig

        _, events, symbols = parse_trace_dataframe(str(path), ParserConfig.get_default_cfg())
    words = symbols.get_sym_table()
    for column in ("name", "cat"):
        events[column] = events[column].map(lambda number: words[number])
    return events


def parents(events: Any) -> dict[int, int]:
    """The index of each bar's parent by HTA's call stacks, one for each process and thread; -1 for none."""
    from hta.common.call_stack import CallStackGraph, CallStackIdentity

    found: dict[int, int] = {}
    for (pid, tid), lane in events.assign(index_correlation=-1).groupby(["pid", "tid"]):
        graph = CallStackGraph(lane, CallStackIdentity(0, int(pid), int(tid)))
        found |= {int(index): int(node.parent) for index, node in graph.nodes.items() if index >= 0}
    return found


def test_another_program_reads_the_same_phases_durations_and_nesting(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "trace.json.gz"
    stage.made(run, "perfetto", path)
    events = read(path)
    phases = events[~events.cat.isin(["round", "gap", "open"])]
    rows = list(Phase.objects.filter(run_id=run.pk))
    lanes = dict(Worker.objects.filter(run=run).values_list("pk", "index"))
    names = dict(PhaseName.objects.filter(run=run).values_list("index", "name"))

    def of(row: Phase) -> tuple[int, str, int, int]:
        return lanes[row.worker_id] + 2, names[row.name_index], row.begin_ns // 1000, row.end_ns // 1000

    read_back = {
        int(one["index"]): (int(one["pid"]), one["name"], int(one["ts"]), int(one["ts"] + one["dur"]))
        for one in phases.to_dict("records")
    }
    assert sorted(read_back.values()) == sorted(map(of, rows))
    assert len(read_back) == 3 * 3 * 7

    # Nesting: within a lane, who lies in whom. A phase that its siblings cross has a lane of its own, without a parent.
    ours = {(row.stream_id, row.start_number): row for row in rows}
    told = parents(events)
    by_event = {value: index for index, value in read_back.items()}
    nested = 0
    for row in rows:
        index = by_event[of(row)]
        around = ours.get((row.stream_id, row.parent))
        if names[row.name_index] == "prefetch":
            assert told[index] == -1
        elif around is None:
            assert told[index] == -1, of(row)
        else:
            nested += 1
            assert told[index] == by_event[of(around)], of(row)
    assert nested == 3 * 3 * 3
