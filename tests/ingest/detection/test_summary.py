"""The figures of a round: coverage, GPU waiting and where the trainers' time went."""

import numpy as np
import pytest

from ingest.detection.facts import Kind, Worker
from ingest.detection.summary import RoundFigures, figures
from tests.ingest import scenarios
from tests.ingest.detection.histories import nanoseconds, spans
from tests.ingest.scenarios import Did

LANES = {"coordinator": 0, "rank-0": 1, "rank-1": 2}


def of(*phases: Did, wall_s: float = 10.0, trainers: tuple[int, ...] = (1, 2)) -> RoundFigures:
    return figures(spans(phases, LANES), np.array(trainers), nanoseconds(0), nanoseconds(wall_s))


def test_figures_are_means_over_the_trainers() -> None:
    found = of(
        Did("rank-0", 0, "train", 0, 6),
        Did("rank-0", 0, "encode", 6, 8),
        Did("rank-1", 0, "train", 0, 4),
        Did("rank-1", 0, "wait", 4, 10),
        Did("coordinator", 0, "aggregate", 8, 10),
    )

    assert found.trainers == 2
    assert found.coverage == pytest.approx(0.9)
    assert found.gpu_waiting_share == pytest.approx(0.5)
    assert found.kind_seconds is not None
    assert found.kind_seconds[Kind.COMPUTE] == pytest.approx(5)
    assert found.kind_seconds[Kind.ENCODE] == pytest.approx(1)
    assert found.kind_seconds[Kind.WAIT] == pytest.approx(3)
    assert found.kind_seconds[Kind.AGGREGATE] == 0


def test_what_of_a_collective_is_waiting_counts_as_waiting() -> None:
    phases = [
        Did("rank-0", 0, "step", 0, 10), Did("rank-0", 0, "allreduce", 2, 9, parent=0),
        Did("rank-1", 0, "step", 0, 10), Did("rank-1", 0, "allreduce", 6, 9, parent=2),
    ]  # fmt: skip
    ranks = [Worker(lane=1, name="rank-0"), Worker(lane=2, name="rank-1")]
    found = figures(spans(phases, LANES), np.array([1, 2]), nanoseconds(0), nanoseconds(10), ranks)

    assert found.kind_seconds == pytest.approx((5, 0, 0, 3, 0, 0, 0, 2, 0))
    assert found.gpu_waiting_share == pytest.approx(0.5)
    assert found.coverage == pytest.approx(1)


def test_a_nested_phase_takes_its_time_from_the_one_around_it() -> None:
    found = of(
        Did("rank-0", 0, "train", 0, 10),
        Did("rank-0", 0, "data", 1, 3, parent=0),
        Did("rank-0", 0, "forward", 3, 5, parent=0),
        Did("rank-0", 0, "allreduce", 5, 9, parent=0),
        trainers=(1,),
    )

    assert found.coverage == pytest.approx(1)
    assert found.gpu_waiting_share == pytest.approx(0.6)
    assert found.kind_seconds == pytest.approx((4, 2, 0, 4, 0, 0, 0, 0, 0))


def test_another_thread_overlaps_and_takes_nothing() -> None:
    found = of(Did("rank-0", 0, "train", 0, 10), Did("rank-0", 0, "upload", 2, 6, thread=1, parent=0), trainers=(1,))

    assert found.gpu_waiting_share == pytest.approx(0)
    assert found.kind_seconds == pytest.approx((10, 0, 0, 4, 0, 0, 0, 0, 0))


def test_an_upload_to_storage_is_persist_and_no_exchange() -> None:
    found = of(Did("rank-0", 0, "save", 0, 5), Did("rank-0", 0, "upload", 1, 4, parent=0), trainers=(1,))

    assert found.kind_seconds == pytest.approx((0, 0, 0, 0, 0, 5, 0, 0, 0))


def test_what_reaches_beyond_the_round_counts_within_it_only() -> None:
    found = of(Did("rank-0", 0, "train", -5, 2), Did("rank-0", 0, "upload", 8, 30), trainers=(1,))

    assert found.coverage == pytest.approx(0.4)
    assert found.kind_seconds == pytest.approx((2, 0, 0, 2, 0, 0, 0, 0, 0))


def test_a_trainer_that_recorded_nothing_still_counts() -> None:
    found = of(Did("rank-0", 0, "train", 0, 10))

    assert found.coverage == pytest.approx(0.5)
    assert found.gpu_waiting_share == pytest.approx(0.5)


def test_without_trainers_or_without_length_there_is_no_figure() -> None:
    nothing = RoundFigures(trainers=0, coverage=None, gpu_waiting_share=None, kind_seconds=None)

    assert of(Did("coordinator", 0, "aggregate", 0, 2), trainers=()) == nothing
    assert of(Did("rank-0", 0, "train", 0, 2), wall_s=0).coverage is None


def test_the_slow_encoders_round_waits_for_most_of_its_wall() -> None:
    scenario = scenarios.two_slow_encoders()
    lanes = {who.name: lane for lane, who in enumerate(scenario.workers)}
    begin, end = scenario.rounds[1]
    own = [did for did in scenario.phases if did.round == 1]

    trainers = np.array([lanes[who.name] for who in scenario.workers[1:]])
    found = figures(spans(own, lanes), trainers, nanoseconds(begin), nanoseconds(end))

    assert end - begin == pytest.approx(30 + 18.0 + 1 + 3 + 13)
    assert found.coverage == pytest.approx(1)
    assert found.gpu_waiting_share == pytest.approx(1 - 30 / 65)


def test_items_are_all_that_trainers_worked_on_each_counted_once() -> None:
    told = spans(
        [
            Did("rank-0", 0, "step", 0, 4, attrs={"items": 32}),
            Did("rank-0", 0, "data", 0, 1, parent=0, attrs={"items": 64}),
            Did("rank-0", 0, "step", 4, 8, attrs={"items": 32}),
            Did("rank-1", 0, "step", 0, 8, attrs={"items": 50}),
            Did("coordinator", 0, "aggregate", 8, 9, attrs={"items": 7}),
            Did("rank-1", 1, "step", 8, 9, attrs={"items": 9}),
        ],
        LANES,
    )
    round_of = (np.array([1, 2]), nanoseconds(0), nanoseconds(9))

    # Both steps of rank-0 carried half of what it had loaded; the next round's step is not counted.
    assert figures(told, *round_of, index=0).items == 64 + 50
    assert figures(told, *round_of).items == 64 + 59
    assert of(Did("rank-0", 0, "step", 0, 4)).items is None
