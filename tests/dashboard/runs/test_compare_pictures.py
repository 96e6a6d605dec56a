"""The shapes of a comparison: boxes on one scale for each phase, and bars that lie within those around them."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.runs.comparing import boxes, gantts
from ingest.detection.facts import Spans, Worker

SECOND = 10**9


def spans(*rows: tuple[int, str, int, int, int]) -> Spans:
    """(lane, name, begin, end in seconds, place of the phase around it or -1), one attempt for each lane."""
    names = tuple(dict.fromkeys(row[1] for row in rows))
    ints: dict[str, Any] = {
        "lane": [row[0] for row in rows], "attempt": [row[0] for row in rows], "start": range(len(rows)),
        "parent": [row[4] for row in rows], "thread": [0] * len(rows), "name": [names.index(row[1]) for row in rows],
        "kind": [0] * len(rows), "round": [3] * len(rows), "begin_ns": [row[2] * SECOND for row in rows],
        "end_ns": [row[3] * SECOND for row in rows], "error_ns": [0] * len(rows), "after": [-1] * len(rows),
    }  # fmt: skip
    columns = {name: np.array(list(values), np.int64) for name, values in ints.items()}
    nothing = np.full(len(rows), np.nan)
    return Spans(**columns, items=nothing, nbytes=nothing, names=names)


def drawn(told: Spans, end_s: int = 100, share: int = 2) -> gantts.Gantt:
    row: Any = SimpleNamespace(index=3, begin_ns=0, end_ns=end_s * SECOND)
    found: Any = SimpleNamespace(
        row=row, spans=told, workers={lane: Worker(lane=lane, name=f"w{lane}") for lane in range(99)}
    )
    run: Any = SimpleNamespace(name="a run")
    return gantts.gantt("A", run, found, share)


def test_a_bar_lies_within_the_one_around_it_and_is_drawn_after_it() -> None:
    found = drawn(spans((0, "step", 0, 10, -1), (0, "forward", 2, 6, 0), (0, "deep", 3, 4, 1), (5, "step", 1, 9, -1)))
    assert [(bar.x, bar.width, bar.y, bar.height) for bar in found.bars] == [
        (0.0, 10_000.0, 1, 16), (1_000.0, 8_000.0, 19, 16), (2_000.0, 4_000.0, 5, 12), (3_000.0, 1_000.0, 9, 8),
    ]  # fmt: skip
    assert found.lanes == ["w0", "w5"]
    assert found.height == 36
    assert found.bars[2].says.replace("\N{NO-BREAK SPACE}", " ") == "forward of w0: 4.00 s, from 2.00 s"


def test_of_more_bars_than_are_drawn_the_longest_stay_and_the_table_has_all() -> None:
    rows = [
        (0, "long" if number % 10 == 0 else "short", number, number + (1 if number % 10 else 9), -1)
        for number in range(4_000)
    ]
    found = drawn(spans(*rows), end_s=5_000, share=6)
    assert len(found.bars) == 400
    assert found.left_out.replace("\N{NO-BREAK SPACE}", " ") == "the 3,600 shortest phases"
    assert {bar.width for bar in found.bars} == {9_000.0}
    assert {row.name: row.times for row in found.table} == {"long": 400, "short": 3_600}


def test_the_axis_is_that_of_the_longest_round_and_is_never_empty() -> None:
    short, long = drawn(spans((0, "a", 0, 1, -1)), 5), drawn(spans((0, "a", 0, 1, -1)), 50)
    assert gantts.axis_ms([short, long]) == 50_000.0
    assert gantts.axis_ms([]) == 1.0


@pytest.mark.parametrize(
    ("end_s", "texts", "last"),
    [
        (22, ["0 s", "5 s", "10 s", "15 s", "20 s"], 90.909),
        (50, ["0 s", "10 s", "20 s", "30 s", "40 s", "50 s"], 100.0),
        (1, ["0.0 s", "0.2 s", "0.4 s", "0.6 s", "0.8 s", "1.0 s"], 100.0),
    ],
)
def test_ticks_are_at_round_seconds_and_in_their_places(end_s: int, texts: list[str], last: float) -> None:
    found = gantts.ticks([drawn(spans((0, "a", 0, 1, -1)), end_s)])
    assert [text.replace("\N{NO-BREAK SPACE}", " ") for _, text in found] == texts
    assert (found[0][0], found[-1][0]) == (0.0, last)


def test_lanes_are_by_role_and_name_whatever_their_numbers_are() -> None:
    crew = {
        0: Worker(lane=0, name="trainer-10"), 1: Worker(lane=1, name="trainer-2"),
        2: Worker(lane=2, name="server", role="coordinator"),
    }  # fmt: skip
    row: Any = SimpleNamespace(index=3, begin_ns=0, end_ns=100 * SECOND)
    told = spans((0, "step", 0, 10, -1), (1, "step", 2, 6, -1), (2, "step", 3, 4, -1))
    found = gantts.gantt("A", SimpleNamespace(name="a run"), SimpleNamespace(row=row, spans=told, workers=crew), 2)  # type: ignore[arg-type]
    assert found.lanes == ["server", "trainer-2", "trainer-10"]
    assert {bar.x: bar.y for bar in found.bars} == {3_000.0: 1, 2_000.0: 19, 0.0: 37}


def test_phases_have_a_scale_each_that_all_sides_share() -> None:
    taken = {
        "encode": (2, {"A": np.array([2.0] * 20), "B": np.array([4.0] * 20)}),
        "train": (0, {"B": np.array([30.0])}),
    }
    encode, train = boxes.phases(taken, ["A", "B"])
    assert (train.name, [box.side for box in train.boxes]) == ("train", ["B"])
    assert [box.middle for box in encode.boxes] == [
        pytest.approx(boxes.WIDTH / 2, abs=1),
        pytest.approx(boxes.WIDTH, abs=2),
    ]
    assert encode.kind == "encode"


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=50), st.lists(st.floats(0, 1e6), min_size=1, max_size=50))
def test_boxes_stay_in_order_and_in_the_picture(first: list[float], second: list[float]) -> None:
    (phase,) = boxes.phases({"a": (0, {"A": np.array(first), "B": np.array(second)})}, ["A", "B"])
    for box in phase.boxes:
        assert 0 <= box.low <= box.x <= box.middle + 0.01
        assert box.middle <= box.x + box.width + 0.01
        assert box.middle <= box.high + 0.01
        assert box.x + box.width <= boxes.WIDTH + 0.01
        assert box.high <= boxes.WIDTH
