"""The critical path of a round: who is on it, what is not claimed, and that it sums to the wall time exactly."""

from dataclasses import replace

import numpy as np
from hypothesis import given, settings

from ingest.detection.critical_path import Graph, walk
from ingest.detection.facts import Kind
from tests.ingest import scenarios
from tests.ingest.detection.rounds import adds_up, drawn, graph_of, path_of, told
from tests.ingest.scenarios import Did, Who


@settings(max_examples=100, deadline=None)
@given(drawn(errors=True))
def test_segments_are_disjoint_and_sum_to_the_wall_time_exactly(graph: Graph) -> None:
    path = walk(graph)

    if graph.end_ns > graph.begin_ns:
        assert adds_up(graph, path)
    assert sum(one.length_ns for one in path) == graph.end_ns - graph.begin_ns


@settings(max_examples=100, deadline=None)
@given(drawn(errors=True))
def test_what_is_no_gap_is_work_of_that_phase_on_that_worker(graph: Graph) -> None:
    spans = graph.spans
    for one in walk(graph):
        if one.gap:
            continue
        assert spans.lane[one.span] == one.lane
        assert spans.begin_ns[one.span] <= one.begin_ns < one.end_ns <= spans.end_ns[one.span]
        assert one.kind != Kind.WAIT


@settings(max_examples=100, deadline=None)
@given(drawn(errors=True))
def test_every_node_comes_after_all_that_it_follows(graph: Graph) -> None:
    places = np.arange(len(graph.lane))

    assert (graph.own < places).all()
    assert (graph.start[graph.key >= 0] == graph.end[graph.key >= 0]).all()
    assert (graph.follows < places).all()
    assert (graph.edges.last < graph.edges.node).all()
    assert (graph.ready <= graph.start).all()
    assert (graph.start <= graph.end).all()


def test_the_slow_encoder_that_came_last_is_on_the_path_and_nobody_who_waited() -> None:
    path = path_of(scenarios.two_slow_encoders(), 1)

    assert path == [
        ("rank-7", "train", 30.0), ("rank-7", "encode", 18.0), ("rank-7", "upload", 1.0),
        ("coordinator", "aggregate", 3.0), ("rank-0", "apply", 13.0),
    ]  # fmt: skip


def test_an_update_that_came_after_the_quorum_was_not_waited_for() -> None:
    path = path_of(
        told(
            Did("rank-0", 0, "upload", 0, 3), Did("rank-1", 0, "upload", 0, 4), Did("rank-2", 0, "upload", 0, 9),
            Did("coordinator", 0, "aggregate", 0, 6), wall_s=6.0,
        )
    )  # fmt: skip

    assert path == [("rank-1", "upload", 4.0), ("coordinator", "aggregate", 2.0)]


def test_who_is_already_in_the_next_round_did_not_end_this_one() -> None:
    scenario = told(
        Did("rank-0", 0, "train", 0, 4), Did("rank-0", 1, "train", 4, 12), Did("rank-1", 0, "train", 0, 9.9),
    )  # fmt: skip

    assert path_of(scenario) == [("rank-1", "train", 9.9), ("rank-1", "before the end", 0.1)]
    assert path_of(told(Did("rank-0", 0, "train", 4, 12))) == [
        ("rank-0", "before train", 4.0),
        ("rank-0", "train", 6.0),
    ]


def test_time_that_no_phase_covers_is_a_gap_before_the_phase_that_follows() -> None:
    path = path_of(
        told(
            Did("rank-0", 0, "upload", 1, 3), Did("coordinator", 0, "aggregate", 0, 4),
            Did("coordinator", 0, "sync", 6, 9),
        )
    )  # fmt: skip

    assert path == [
        ("rank-0", "before upload", 1.0), ("rank-0", "upload", 2.0), ("coordinator", "aggregate", 1.0),
        ("coordinator", "before sync", 2.0), ("coordinator", "sync", 3.0), ("coordinator", "before the end", 1.0),
    ]  # fmt: skip


def test_a_wait_has_no_length_and_leads_to_what_it_waits_for() -> None:
    path = path_of(
        told(
            Did("rank-0", 0, "train", 0, 2), Did("rank-0", 0, "wait", 2, 8.5, {"after": "prepare"}),
            Did("rank-0", 0, "load", 8.5, 10), Did("coordinator", 0, "prepare", 1, 8),
        )
    )  # fmt: skip

    assert path == [
        ("coordinator", "before prepare", 1.0), ("coordinator", "prepare", 7.0), ("rank-0", "before load", 0.5),
        ("rank-0", "load", 1.5),
    ]  # fmt: skip


def test_whoever_waits_for_the_coordinator_is_let_go_by_what_it_did_last() -> None:
    # Of the study's dry run: hosts wait for the aggregate, but the coordinator saves a fallback before it lets them go.
    scenario = told(
        Did("host-0", 0, "upload", 0, 1), Did("host-0", 0, "wait", 1, 8), Did("host-0", 0, "download", 8, 10),
        Did("coordinator", 0, "aggregate", 0, 2), Did("coordinator", 0, "save", 2, 7),
        Did("coordinator", 0, "report", 7, 9), Did("host-1", 0, "encode", 0, 7.5),
    )  # fmt: skip

    assert path_of(scenario) == [
        ("host-0", "upload", 1.0), ("coordinator", "aggregate", 1.0), ("coordinator", "save", 5.0),
        ("host-0", "before download", 1.0), ("host-0", "download", 2.0),
    ]  # fmt: skip


def test_a_coordinator_that_only_waits_lets_nobody_go_later() -> None:
    scenario = told(
        Did("host-0", 0, "upload", 0, 1), Did("host-0", 0, "download", 8, 10), Did("coordinator", 0, "aggregate", 0, 2),
        Did("coordinator", 0, "wait", 2, 7.5),
    )  # fmt: skip

    assert path_of(scenario)[2:] == [("host-0", "before download", 6.0), ("host-0", "download", 2.0)]


def test_what_the_coordinator_does_beside_an_apply_cuts_nothing() -> None:
    scenario = told(
        Did("host-0", 0, "upload", 0, 1), Did("host-0", 0, "apply", 1, 10), Did("coordinator", 0, "aggregate", 0, 2),
        Did("coordinator", 0, "save", 2, 7),
    )  # fmt: skip

    assert path_of(scenario) == [
        ("host-0", "upload", 1.0), ("coordinator", "aggregate", 1.0), ("host-0", "apply", 8.0),
    ]  # fmt: skip


def test_a_wait_that_says_nothing_is_a_gap_and_blames_nobody() -> None:
    path = path_of(
        told(
            Did("rank-0", 0, "train", 0, 2), Did("rank-0", 0, "wait", 2, 8), Did("rank-0", 0, "save", 8, 10),
            Did("rank-1", 0, "encode", 0, 8),
        )
    )  # fmt: skip

    assert path == [("rank-0", "train", 2.0), ("rank-0", "before save", 6.0), ("rank-0", "save", 2.0)]


def test_nested_phases_take_their_part_of_the_one_around_them() -> None:
    path = path_of(
        told(
            Did("rank-0", 0, "apply", 2, 10), Did("rank-0", 0, "download", 4, 6, parent=0),
            Did("coordinator", 0, "aggregate", 0, 3),
        )
    )  # fmt: skip

    assert path == [
        ("coordinator", "aggregate", 3.0), ("rank-0", "apply", 1.0), ("rank-0", "download", 2.0),
        ("rank-0", "apply", 4.0),
    ]  # fmt: skip


def test_a_nested_phase_without_length_leaves_the_one_around_it_whole() -> None:
    path = path_of(told(Did("rank-0", 0, "apply", 0, 10), Did("rank-0", 0, "load", 4, 4, parent=0)))

    assert path == [("rank-0", "apply", 10.0)]


def test_another_thread_overlaps_and_only_what_ended_by_the_begin_came_before() -> None:
    path = path_of(
        told(
            Did("rank-0", 0, "train", 0, 6), Did("rank-0", 0, "upload", 1, 9, thread=1),
            Did("rank-0", 0, "encode", 7, 10),
        )
    )  # fmt: skip

    assert path == [("rank-0", "train", 6.0), ("rank-0", "before encode", 1.0), ("rank-0", "encode", 3.0)]


def test_phases_of_one_thread_that_overlap_by_what_clocks_explain_follow_each_other() -> None:
    def overlapping(by_s: float, *, thread: int = 0, error_ns: int = 2_000_000) -> list[tuple[str, str, float]]:
        return path_of(
            told(
                Did("rank-0", 0, "train", 0, 5), Did("rank-0", 0, "encode", 5, 8 + by_s, thread=thread),
                Did("rank-0", 0, "upload", 8, 10),
            ),
            errors_ns={"rank-0": error_ns},
        )  # fmt: skip

    whole = [("rank-0", "train", 5.0), ("rank-0", "encode", 3.004), ("rank-0", "upload", 1.996)]
    beside = [("rank-0", "train", 5.0), ("rank-0", "before upload", 3.0), ("rank-0", "upload", 2.0)]
    assert overlapping(0.004) == whole
    assert overlapping(0.0041) == beside
    assert overlapping(0.004, thread=1) == beside
    assert overlapping(0.001, error_ns=-1)[1] == ("rank-0", "encode", 3.001)
    two = told(Did("rank-0", 0, "train", 0, 5.001), Did("rank-0", 0, "upload", 5, 10, thread=1))
    assert path_of(two) == [("rank-0", "before upload", 5.0), ("rank-0", "upload", 5.0)]


def test_in_a_pipeline_the_path_crosses_rounds() -> None:
    exchange = [Did("rank-0", 0, "upload", 4, 9, thread=1), Did("coordinator", 0, "aggregate", 0, 11)]
    following = [Did("rank-0", 1, "train", 4, 8), Did("rank-0", 1, "apply", 9, 14, {"after": "aggregate"})]
    late = Did("coordinator", 1, "aggregate", 12, 13)
    scenario = told(Did("rank-0", 0, "train", 0, 4), *exchange, *following, late, wall_s=14.0)

    assert path_of(scenario) == [
        ("rank-0", "train", 4.0), ("rank-0", "upload", 5.0), ("coordinator", "aggregate", 2.0),
        ("coordinator", "before aggregate", 1.0), ("coordinator", "aggregate", 1.0), ("rank-0", "apply", 1.0),
    ]  # fmt: skip


def test_ranks_of_a_collective_wait_for_the_last_that_begins_it() -> None:
    scenario = told(
        *(Did(f"rank-{rank}", 0, "forward", 0, 1) for rank in range(4)),
        *(Did(f"rank-{rank}", 0, "backward", 1, 7 if rank == 2 else 3) for rank in range(4)),
        *(Did(f"rank-{rank}", 0, "allreduce", 7 if rank == 2 else 3, 8) for rank in range(4)),
        *(Did(f"rank-{rank}", 0, "optimizer", 8, 8.5 + rank / 10) for rank in range(4)), wall_s=8.8,
    )  # fmt: skip

    assert path_of(scenario) == [
        ("rank-2", "forward", 1.0), ("rank-2", "backward", 6.0), ("rank-3", "allreduce", 1.0),
        ("rank-3", "optimizer", 0.8),
    ]  # fmt: skip


def test_collectives_of_another_group_are_not_waited_for() -> None:
    scenario = told(
        Did("a", 0, "backward", 0, 7), Did("a", 0, "allreduce", 7, 7.5),
        Did("b", 0, "backward", 0, 3), Did("b", 0, "allreduce", 3, 10), groups={"a": "left", "b": "right"},
    )  # fmt: skip

    assert path_of(scenario) == [("b", "backward", 3.0), ("b", "allreduce", 7.0)]


def waiting_for_the_coordinator(**machines: str) -> scenarios.Scenario:
    return told(
        Did("rank-0", 0, "upload", 0, 1.99), Did("rank-0", 0, "apply", 2, 10),
        Did("coordinator", 0, "aggregate", 1, 2.0035), machines=machines or None,
    )  # fmt: skip


ALONE = [("rank-0", "upload", 1.99), ("rank-0", "before apply", 0.01), ("rank-0", "apply", 8.0)]


def test_nothing_is_claimed_that_the_errors_of_two_clocks_could_explain() -> None:
    # The coordinator ended 13.5 ms after rank-0's upload.
    near = {"rank-0": 7_000_000, "coordinator": 7_000_000}
    sure = {"rank-0": 6_000_000, "coordinator": 7_000_000}

    assert path_of(waiting_for_the_coordinator(), errors_ns=near) == ALONE
    assert path_of(waiting_for_the_coordinator(), errors_ns=sure) == [
        ("rank-0", "upload", 1.99), ("coordinator", "aggregate", 0.0135), ("rank-0", "apply", 7.9965),
    ]  # fmt: skip


def test_a_clock_that_is_unknown_crosses_to_nobody_and_says_so() -> None:
    unknown = {"rank-0": 1_000, "coordinator": -1}
    graph = graph_of(waiting_for_the_coordinator(), 0, errors_ns=unknown)

    assert path_of(waiting_for_the_coordinator(), errors_ns=unknown) == ALONE
    assert graph.unclaimed > 0


def test_on_one_machine_no_clock_error_counts() -> None:
    here = waiting_for_the_coordinator(**{"rank-0": "here", "coordinator": "here"})

    assert len(path_of(here, errors_ns={"rank-0": -1, "coordinator": -1})) == 3
    assert path_of(here, errors_ns={"rank-0": -1, "coordinator": -1}) != ALONE
    three = replace(here, workers=(*here.workers, Who("rank-1", machine="there")))
    three = replace(three, phases=(*three.phases, Did("rank-1", 0, "train", 0, 1)))
    assert path_of(three, errors_ns={"rank-0": 10**9, "coordinator": 10**9}) != ALONE


def test_a_wait_that_ends_before_what_it_waited_for_by_another_clock_still_leads_there() -> None:
    scenario = told(
        Did("rank-0", 0, "train", 0, 2), Did("rank-0", 0, "wait", 2, 7.999, {"after": "prepare"}),
        Did("rank-0", 0, "load", 7.999, 10), Did("coordinator", 0, "prepare", 0, 8),
    )  # fmt: skip

    assert path_of(scenario) == [("coordinator", "prepare", 8.0), ("rank-0", "load", 2.0)]
    certain = {"rank-0": 10_000, "coordinator": 10_000}
    assert path_of(scenario, errors_ns=certain)[1] == ("rank-0", "before load", 5.999)


def test_two_that_wait_for_each_other_do_not_go_round_in_circles() -> None:
    path = path_of(
        told(
            Did("rank-0", 0, "send", 1, 10, {"after": "recv"}), Did("rank-1", 0, "recv", 2, 10, {"after": "send"}),
        )
    )  # fmt: skip

    assert sum(seconds for _, _, seconds in path) == 10.0


def test_a_round_in_which_nothing_was_recorded_is_one_gap() -> None:
    assert path_of(told(Did("rank-0", 0, "wait", 0, 4))) == [("", "before the end", 10.0)]
    assert walk(graph_of(told(Did("rank-0", 0, "train", 0, 4), wall_s=0.0), 0)) == ()
