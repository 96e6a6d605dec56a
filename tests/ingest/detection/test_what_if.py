"""What a round would have lasted otherwise: what fixing saves, alone and together, and when nothing is said."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings

from ingest.detection.critical_path import Graph, enders, walk
from ingest.detection.critical_path.slack import slack
from ingest.detection.facts import Worker
from ingest.detection.gpu_waiting import attribute
from ingest.detection.what_if import DEFAULT, Fix, WhatIf, context, judge
from ingest.detection.what_if.replay import Replays
from tests.ingest import scenarios
from tests.ingest.detection.rounds import drawn, graph_of, members, told
from tests.ingest.scenarios import Did, Scenario

FOUR = tuple(Worker(lane=lane, name=f"rank-{lane}") for lane in range(4))


def judged(scenario: Scenario, index: int = 0) -> WhatIf:
    graph = graph_of(scenario, index)
    workers = members(scenario.workers)
    trainers = np.array([worker.lane for worker in workers if worker.role == "trainer"], np.int64)
    return judge(graph, workers, attribute(graph, walk(graph), trainers).shares)


def fix_of(found: WhatIf, **scope: str) -> Fix:
    return next(fix for fix in found.fixes if fix.scope == scope)


@settings(max_examples=100, deadline=None)
@given(drawn(errors=True))
def test_a_replay_that_shortens_nothing_lasts_as_long_as_the_round_and_no_fix_makes_it_longer(graph: Graph) -> None:
    found = context.build(graph, FOUR, DEFAULT)
    wall = graph.end_ns - graph.begin_ns
    none, every = np.zeros(len(found.lane), np.bool_), np.ones(len(found.lane), np.bool_)

    replays = Replays(found)
    unchanged, ideal = replays.walls(np.array([none, every])).tolist()

    assert unchanged == replays.along(none).wall_ns == wall
    assert ideal == replays.along(every).wall_ns
    assert ideal <= wall
    assert not found.cut_ns[graph.key >= 0].any()


@settings(max_examples=100, deadline=None)
@given(drawn())
def test_nothing_on_the_path_has_slack_and_all_else_can_be_later_by_its_own(graph: Graph) -> None:
    spare = slack(graph)
    found = context.build(graph, FOUR, DEFAULT)
    none = np.zeros(len(found.lane), np.bool_)

    assert (spare >= 0).all()
    assert all(spare[node] == 0 for node in Replays(found).along(none).path)
    for node in np.flatnonzero(enders(graph)).tolist():
        later = replace(found, cut_ns=np.where(np.arange(len(spare)) == node, -spare[node], 0))
        assert Replays(later).along(~none).wall_ns == graph.end_ns - graph.begin_ns
        too_late = replace(found, cut_ns=np.where(np.arange(len(spare)) == node, -spare[node] - 1, 0))
        assert Replays(too_late).along(~none).wall_ns == graph.end_ns - graph.begin_ns + 1


def test_what_came_after_the_quorum_has_slack_until_the_rounds_end() -> None:
    graph = graph_of(
        told(
            Did("rank-0", 0, "upload", 0, 3), Did("coordinator", 0, "aggregate", 0, 6),
            Did("rank-1", 0, "upload", 0, 7), Did("rank-2", 0, "train", 0, 10),
        ), 0,
    )  # fmt: skip
    spare = slack(graph)

    found = {int(graph.lane[at]): spare[at] / 1e9 for at in np.flatnonzero(graph.key < 0)}
    assert found == {0: 4.0, 1: 4.0, 2: 3.0, 3: 0.0}


def test_what_came_after_a_wait_had_ended_has_slack_beside_it() -> None:
    graph = graph_of(
        told(
            Did("rank-0", 0, "upload", 0, 2), Did("coordinator", 0, "wait", 0, 3, {"after": "upload"}),
            Did("coordinator", 0, "load", 5, 6), Did("rank-1", 0, "upload", 0, 4), Did("rank-2", 0, "train", 0, 10),
        ), 0,
    )  # fmt: skip
    spare = slack(graph)

    found = {int(graph.lane[at]): spare[at] / 1e9 for at in np.flatnonzero(graph.key < 0)}
    assert found == {0: 4.0, 1: 4.0, 2: 6.0, 3: 0.0}


def test_fixing_one_of_two_slow_encoders_saves_little_and_both_nearly_all() -> None:
    found = judged(scenarios.two_slow_encoders(), 1)

    assert fix_of(found, worker="rank-7", phase="encode").saved_ns == pytest.approx(0.2e9)
    assert found.joint is not None
    assert set(found.joint.items) == {("rank-6", "encode"), ("rank-7", "encode")}
    assert found.joint.saved_ns == pytest.approx(15.7e9)
    assert fix_of(found, machine="machine-3").saved_ns == pytest.approx(15.7e9)
    assert fix_of(found, worker="rank-7").waited_ns == pytest.approx(225.7e9, abs=1e8)
    # By itself, in a round that is otherwise as its peers say, either would have cost all of it.
    assert fix_of(found, worker="rank-6", phase="encode").added_ns == pytest.approx(15.87e9, abs=1e7)
    assert found.fixes[0].scope == {"phase": "encode"}
    assert found.recoverable_ns == found.fixes[0].saved_ns


def test_one_worker_that_is_slow_in_two_phases_is_named_with_both() -> None:
    took = {"a": (2, 2), "b": (2, 2), "c": (8, 5)}
    phases = [
        did
        for who, (train, encode) in took.items()
        for did in (Did(who, 0, "train", 0, train), Did(who, 0, "encode", train, train + encode))
    ]

    found = judged(told(*phases, wall_s=13.0))

    assert found.joint is not None
    assert found.joint.items == (("c", "train"), ("c", "encode"))
    assert found.joint.saved_ns == found.recoverable_ns == fix_of(found, worker="c").saved_ns == 9 * 10**9


def test_gaps_are_kept() -> None:
    found = judged(
        told(
            Did("a", 0, "encode", 0, 6), Did("b", 0, "encode", 0, 2), Did("c", 0, "encode", 0, 2),
            *(Did(who, 0, "upload", end + 1, end + 2) for who, end in (("a", 6), ("b", 2), ("c", 2))),
            Did("coordinator", 0, "aggregate", 0, 10),
        )
    )  # fmt: skip

    assert fix_of(found, worker="a", phase="encode").saved_ns == pytest.approx(4e9)


def test_what_waits_is_not_made_faster() -> None:
    # b and c end as late as a, but only because they wait for it.
    scenario = told(
        *(Did(who, 0, "upload", 0, 8 if who == "a" else 1) for who in "abc"),
        Did("coordinator", 0, "aggregate", 0, 9),
        *(Did(who, 0, "apply", 8 if who == "a" else 1, 10) for who in "abc"),
    )  # fmt: skip
    found = judged(scenario)
    compared = context.build(graph_of(scenario, 0), members(scenario.workers), DEFAULT)
    applied = [scenario.phases[-1].name == compared.graph.spans.names[name] for name in compared.name]
    assert compared.spent_ns[applied].tolist() == [10**9] * 3

    assert {tuple(fix.scope.items()) for fix in found.fixes if fix.scope.get("phase") == "apply"} == set()
    assert fix_of(found, worker="a", phase="upload").saved_ns == pytest.approx(7e9)


def test_skipped_work_is_no_reference() -> None:
    found = judged(told(*(Did(f"rank-{n}", 0, "encode", 0, 0.01 if n < 2 else 5) for n in range(5)), wall_s=5.0))

    assert found.recoverable_ns == 0
    assert found.fixes == ()


def test_of_two_workers_the_quick_one_has_not_skipped_its_work() -> None:
    found = judged(told(Did("a", 0, "encode", 0, 1.5), Did("b", 0, "encode", 0, 17), wall_s=17))

    assert found.recoverable_ns == pytest.approx(15.5e9)
    assert found.abstained == ""


def test_another_site_is_no_reference_for_what_moves_data() -> None:
    scenario = told(*(Did(who, 0, name, at, at + 5 if who == "far" else at + 1)
                      for who in ("far", "near", "here") for at, name in ((0, "encode"), (5, "upload"))))  # fmt: skip
    sited = replace(
        scenario, workers=tuple(replace(who, site="" if who.name != "far" else "islands") for who in scenario.workers)
    )

    saved = {tuple(fix.scope.items()): fix.saved_ns for fix in judged(sited).fixes}

    assert saved[("worker", "far"), ("phase", "encode")] == pytest.approx(4e9)
    assert (("worker", "far"), ("phase", "upload")) not in saved


def test_more_work_may_take_longer() -> None:
    def round_of(**items: int) -> WhatIf:
        phases = [Did(who, 0, "encode", 0, 9 if who == "c" else 3, {"items": n}) for who, n in items.items()]
        return judged(told(*phases, wall_s=9.0))

    assert round_of(a=100, b=100, c=300).recoverable_ns == 0
    assert fix_of(round_of(a=100, b=100, c=100), worker="c").saved_ns == pytest.approx(6e9)
    assert fix_of(round_of(a=100, b=100, c=150), worker="c").saved_ns == pytest.approx(4.5e9)


def test_an_older_device_is_no_reference_for_a_newer_one() -> None:
    phases = [Did(who, 0, "train", 0, 9 if who == "c" else 3) for who in "abc"]
    graph = graph_of(told(*phases, wall_s=9.0), 0)
    mixed = tuple(Worker(lane=at, name=who, device="old" if who == "c" else "new") for at, who in enumerate("abc"))
    alike = tuple(replace(worker, device="new") for worker in mixed)

    assert judge(graph, mixed, ()).recoverable_ns == 0
    assert judge(graph, alike, ()).recoverable_ns == pytest.approx(6e9)


def test_a_worker_without_peers_is_not_compared_and_that_is_said() -> None:
    found = judged(told(Did("rank-0", 0, "train", 0, 6), Did("coordinator", 0, "aggregate", 6, 10)))

    assert (found.fixes, found.joint, found.recoverable_ns) == ((), None, 0)
    assert found.abstained == "no phase has a peer to compare with"


def test_a_round_of_very_many_phases_is_not_replayed_and_says_so() -> None:
    graph = graph_of(scenarios.two_slow_encoders(), 1)
    few = replace(DEFAULT, most_nodes=len(graph.lane) - 1)

    crew = members(scenarios.two_slow_encoders().workers)
    assert judge(graph, crew, (), few).abstained == f"more than {few.most_nodes} phases"
    assert judge(graph, crew, (), replace(few, most_nodes=len(graph.lane))).abstained == ""


def test_where_all_vary_alike_no_few_are_named() -> None:
    noisy = judged(
        told(*(Did(f"rank-{n}", 0, "train", 0, 9 + 0.01 * (n % 40 >= 20)) for n in range(80)), wall_s=9.01),
    )
    assert noisy.joint is None
    assert noisy.abstained == "no 16 workers' phases together save 25% of what can be recovered"


def test_where_few_explain_much_but_not_most_they_are_named() -> None:
    slow = {"rank-0": 9.0, "rank-1": 8.5}
    found = judged(
        told(*(Did(f"rank-{n}", 0, "encode", 0, slow.get(f"rank-{n}", 3 + n % 40 / 20)) for n in range(80)), wall_s=9.0)
    )

    # The rest ends between 3 and 5 s, with a lower median near 4 s: 5 s can be recovered, and two save 4 s of it.
    assert found.joint is not None
    assert found.joint.items == (("rank-0", "encode"), ("rank-1", "encode"))
    assert found.joint.saved_ns == pytest.approx(4.05e9, abs=1e8)
    assert found.recoverable_ns == pytest.approx(5e9, abs=1e8)


def test_collectives_keep_their_time() -> None:
    found = judged(told(*(Did(f"rank-{n}", 0, "allreduce", 0, 3 + n) for n in range(4)), wall_s=6.0))

    assert found.abstained == "no phase has a peer to compare with"
