"""A step taken apart: what each rank did, how long it waited in collectives, and of whom that is said."""

import numpy as np
import pytest

from ingest.detection.anatomy import Anatomy, Call, anatomy
from ingest.detection.collectives import verdict
from ingest.detection.facts import Worker
from tests.ingest.detection.histories import spans
from tests.ingest.scenarios import Did

RANKS = ("rank-0", "rank-1", "rank-2", "rank-3")


def a_step(rank: str, data_s: float, reduced_s: float = 0.209, *, at: int = 0) -> list[Did]:
    """Data, then a step of forward, backward, all-reduce and optimizer; all end the all-reduce together."""
    began = data_s + 0.02
    return [
        Did(rank, 0, "data", 0, data_s),
        Did(rank, 0, "step", data_s, 0.22),
        Did(rank, 0, "forward", data_s, began, parent=at + 1),
        Did(rank, 0, "backward", began, began + 0.04, parent=at + 1),
        Did(rank, 0, "allreduce", began + 0.04, reduced_s, parent=at + 1),
        Did(rank, 0, "optimizer", reduced_s, 0.215, parent=at + 1),
    ]


def taken_apart(
    phases: list[Did], *, groups: dict[str, str] | None = None, said: dict[tuple[int, int], Call] | None = None
) -> Anatomy:
    lanes = {rank: lane for lane, rank in enumerate(RANKS)}
    workers = [Worker(lane=lane, name=rank, group=(groups or {}).get(rank, "")) for rank, lane in lanes.items()]
    return anatomy(spans(phases, lanes), workers, said or {})


def slowed(*slow: str) -> list[Did]:
    phases: list[Did] = []
    for rank in RANKS:
        phases += a_step(rank, 0.101 if rank in slow else 0.001, at=len(phases))
    return phases


def test_a_rank_slow_to_load_waits_least_and_its_data_is_the_cause() -> None:
    found = taken_apart(slowed("rank-2"))
    assert found.names == ("data", "step", "forward", "backward", "allreduce", "optimizer")
    assert found.seconds[0] == pytest.approx([0.001, 0.005, 0.02, 0.04, 0.148, 0.006])
    assert found.waited[:, 4] == pytest.approx([0.1, 0.1, 0, 0.1])
    assert np.isnan(found.waited[:, :4]).all()
    ((rows, step),) = found.steps(0.22)
    judged = verdict(step)
    assert judged
    assert rows.tolist() == [0, 1, 2, 3]
    assert (judged.culprit, judged.cause, judged.critical) == (2, "data", True)


def test_what_comes_after_the_collective_is_no_cause() -> None:
    phases = slowed()
    for at, did in enumerate(phases):
        if did.name == "allreduce" and did.worker == "rank-3":
            phases[at] = Did("rank-3", 0, "allreduce", 0.16, did.end_s, parent=did.parent)
        if did.name == "optimizer" and did.worker == "rank-3":
            phases[at] = Did("rank-3", 0, "optimizer", did.begin_s, 0.9, parent=did.parent)
    ((_, step),) = taken_apart(phases).steps(0.22)
    judged = verdict(step)
    assert judged
    assert judged.culprit == 3
    assert judged.cause != "optimizer"


def test_where_a_rank_has_no_all_reduce_nobody_is_said_to_have_waited() -> None:
    phases = [did for did in slowed("rank-2") if (did.worker, did.name) != ("rank-2", "allreduce")]
    found = taken_apart(phases)
    assert np.isnan(found.waited[:, found.names.index("allreduce")]).all()
    assert [verdict(step) for _, step in found.steps(0.22)] == [None]


def test_process_groups_are_told_apart_by_what_the_training_says() -> None:
    phases = slowed("rank-3")
    reduced = [at for at, did in enumerate(phases) if did.name == "allreduce"]
    said = {(lane, at): ("ab" if lane < 2 else "cd", "7") for lane, at in enumerate(reduced)}
    waited = taken_apart(phases, said=said).waited[:, 4]
    assert waited == pytest.approx([0, 0, 0.1, 0])


def test_cohorts_are_judged_apart() -> None:
    groups = {"rank-0": "a", "rank-1": "a", "rank-2": "b", "rank-3": "b"}
    found = taken_apart(slowed("rank-3"), groups=groups)
    judged = [verdict(step) for _, step in found.steps(0.22)]
    assert [one and one.blamed for one in judged] == [False, True]


def test_collectives_without_a_number_meet_by_their_order_and_with_one_by_that() -> None:
    two = [
        did
        for rank, first in (("rank-0", 0.1), ("rank-1", 0.4), ("rank-2", 0.4), ("rank-3", 0.4))
        for did in (
            Did(rank, 0, "allgather", first, 0.5),
            Did(rank, 0, "allgather", 1.0, 1.1 if rank == "rank-0" else 1.2),
        )
    ]
    assert taken_apart(two).waited[:, 0] == pytest.approx([0.3, 0.1, 0.1, 0.1])
    crossed = {(lane, 2 * lane + at): ("", str(1 - at if lane == 0 else at)) for lane in range(4) for at in (0, 1)}
    assert taken_apart(two, said=crossed).waited[:, 0] == pytest.approx([0.2, 0, 0, 0])


def test_a_step_of_nothing_has_no_parts() -> None:
    found = taken_apart([])
    assert found.names == ()
    assert [verdict(step) for _, step in found.steps(0.22)] == [None]
