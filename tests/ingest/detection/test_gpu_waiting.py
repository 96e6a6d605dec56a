"""What kept GPUs waiting: sums exactly, and the blame goes to what everybody waited for."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.detection.critical_path import Graph, walk
from ingest.detection.facts import Ints, Kind
from ingest.detection.gpu_waiting import Waiting, attribute
from ingest.detection.summary import figures
from tests.ingest import scenarios
from tests.ingest.detection.rounds import UNIT_NS, adds_up, drawn, graph_of, told
from tests.ingest.scenarios import Did, Scenario


def trainers(scenario: Scenario) -> Ints:
    return np.array([lane for lane, who in enumerate(scenario.workers) if who.role == "trainer"], np.int64)


def waiting(scenario: Scenario, index: int = 0) -> Waiting:
    graph = graph_of(scenario, index)
    return attribute(graph, walk(graph), trainers(scenario))


def by_name(scenario: Scenario, found: Waiting) -> dict[tuple[str, str], tuple[float, float]]:
    return {
        (scenario.workers[one.lane].name, "before " * one.gap + one.phase): (one.own_ns / 1e9, one.others_ns / 1e9)
        for one in found.shares
    }


def computing(graph: Graph, lane: int) -> set[int]:
    """The instants (a unit long) in which the lane is in a compute phase's own time, looked at one by one."""
    pieces = np.flatnonzero((graph.key < 0) & (graph.lane == lane) & (graph.kinds[graph.span] == Kind.COMPUTE))
    return {at for piece in pieces for at in range(graph.begin[piece], graph.end[piece], UNIT_NS)}


@settings(max_examples=100, deadline=None)
@given(drawn(errors=True), st.sets(st.integers(0, 4)))
def test_shares_sum_to_the_gpu_waiting_exactly(graph: Graph, lanes: set[int]) -> None:
    found = attribute(graph, walk(graph), np.array(sorted(lanes), np.int64))
    wall = graph.end_ns - graph.begin_ns

    assert found.trainers == len(lanes)
    assert found.total_ns == sum(wall - UNIT_NS * len(computing(graph, lane)) for lane in lanes)
    assert sum(one.total_ns for one in found.shares) == found.total_ns
    assert all(one.total_ns > 0 for one in found.shares)


def test_it_is_the_same_gpu_waiting_as_the_rounds_figure() -> None:
    scenario = scenarios.two_slow_encoders()
    graph = graph_of(scenario, 1)
    figure = figures(graph.spans, trainers(scenario), graph.begin_ns, graph.end_ns).gpu_waiting_share

    found = waiting(scenario, 1)
    assert figure is not None
    assert found.total_ns / found.trainers == pytest.approx(figure * (graph.end_ns - graph.begin_ns))


def test_those_that_were_done_waited_for_the_slow_encoder_and_not_for_themselves() -> None:
    scenario = scenarios.two_slow_encoders()
    found = by_name(scenario, waiting(scenario, 1))

    # Waiting for the two of them cost about 225 GPU-seconds, all on the path of the one that came last.
    assert found["rank-7", "encode"][1] + found["rank-7", "upload"][1] == pytest.approx(225.7, abs=0.1)
    assert found["rank-7", "encode"][0] == pytest.approx(18)
    assert found["rank-6", "encode"] == pytest.approx((17.8, 0))
    assert found["coordinator", "aggregate"] == pytest.approx((0, 16 * 3))
    assert found["rank-0", "apply"] == pytest.approx((13, 0))


def test_a_wait_inside_of_a_phase_goes_to_what_was_waited_for() -> None:
    scenario = told(
        Did("rank-0", 0, "train", 0, 4), Did("rank-0", 0, "apply", 4, 10), Did("rank-1", 0, "train", 0, 6),
        Did("rank-1", 0, "upload", 6, 7), Did("coordinator", 0, "aggregate", 0, 8),
    )  # fmt: skip

    found = by_name(scenario, waiting(scenario))

    assert found == {
        ("rank-1", "train"): (0, 2), ("rank-1", "upload"): (1, 1), ("coordinator", "aggregate"): (0, 2),
        ("rank-0", "apply"): (2, 2),
    }  # fmt: skip


def test_compute_beside_a_transfer_does_not_wait() -> None:
    scenario = told(Did("rank-0", 0, "train", 0, 10), Did("rank-0", 0, "upload", 2, 6, thread=1))

    assert waiting(scenario) == Waiting(trainers=1, total_ns=0, shares=())


def test_a_trainer_that_recorded_nothing_waits_for_what_is_on_the_path() -> None:
    scenario = told(Did("rank-0", 0, "train", 0, 7), Did("rank-0", 0, "save", 8, 10), Did("rank-1", 0, "wait", 0, 1))

    found = by_name(scenario, waiting(scenario))

    assert found == {("rank-0", "train"): (0, 7), ("rank-0", "before save"): (1, 1), ("rank-0", "save"): (2, 2)}


def test_a_round_of_many_workers_that_seems_to_last_years_adds_up() -> None:
    years = 8e8
    scenario = told(
        *(Did(f"rank-{n}", 0, "train", 0, years - n) for n in range(20)), Did("rank-0", 0, "save", years, years + 1),
        wall_s=years + 1,
    )  # fmt: skip

    found = waiting(scenario)

    assert found.total_ns == sum(one.total_ns for one in found.shares) == (20 + sum(range(20))) * 10**9
    assert adds_up(graph_of(scenario, 0), walk(graph_of(scenario, 0)))


def test_without_trainers_nothing_waits() -> None:
    graph = graph_of(told(Did("coordinator", 0, "aggregate", 0, 7)), 0)

    assert attribute(graph, walk(graph), np.zeros(0, np.int64)) == Waiting(trainers=0, total_ns=0, shares=())
