"""Imbalance: cohorts that always differ are one fact, and neither noise nor a passing slowness is one."""

from dataclasses import replace

import pytest

from ingest.detection import straggler
from ingest.detection.imbalance import judge
from tests.ingest import scenarios
from tests.ingest.detection.histories import history
from tests.ingest.scenarios import Scenario, Takes


def stages(train: Takes, *, rounds: int = 8) -> Scenario:
    """Four trainers, two in each of two pipeline stages."""
    crew = tuple(replace(who, group=f"stage-{at // 2}") for at, who in enumerate(scenarios.crew(4)))
    return scenarios.exchange("stages", crew, rounds=rounds, train=train, encode=2.0)


def heavier(worker: str, _index: int) -> float:
    return 30.0 if worker in ("rank-2", "rank-3") else 20.0


def test_a_heavier_pipeline_stage_is_one_fact_and_no_straggler() -> None:
    told = history(stages(heavier))

    (verdict,) = judge(told)

    assert (verdict.kind, verdict.severity, verdict.phase) == ("imbalance", "info", "train")
    assert verdict.workers == ("rank-2", "rank-3")
    assert verdict.observed == (
        "train takes 30.0 s on stage-1 and 20.0 s on stage-0, 1.5 times as long, in the last 7 windows."
    )
    assert straggler.judge(told).once == straggler.judge(told).lasting == ()


@pytest.mark.parametrize(
    "train",
    [
        20.0,
        lambda worker, _index: 25.0 if worker in ("rank-2", "rank-3") else 20.0,
        lambda worker, index: 60.0 if worker in ("rank-2", "rank-3") and index == 4 else 20.0,
        lambda worker, index: 30.0 if worker in ("rank-2", "rank-3") and index >= 4 else 20.0,
        lambda worker, _index: 30.0 if worker == "rank-3" else 20.0,
    ],
    ids=["equal", "below the ratio", "once", "in four of seven", "one worker of a cohort"],
)
def test_what_is_equal_small_passing_or_one_workers_is_no_imbalance(train: Takes) -> None:
    assert judge(history(stages(train))) == ()


def test_it_takes_five_windows_beside_the_warm_up() -> None:
    told = stages(heavier)

    assert judge(history(told, upto=4)) == ()
    assert len(judge(history(told, upto=5))) == 1


def test_a_difference_that_is_small_beside_the_round_does_not_matter() -> None:
    crew = tuple(replace(who, group=f"stage-{at // 2}") for at, who in enumerate(scenarios.crew(4)))
    encode = {"rank-2": 2.5, "rank-3": 2.5}
    told = scenarios.exchange(
        "small", crew, rounds=8, train=20.0, encode=lambda worker, _index: encode.get(worker, 1.0)
    )

    assert judge(history(told)) == ()


def test_without_cohorts_there_is_nothing_to_compare() -> None:
    assert judge(history(scenarios.healthy(4, 8))) == ()


def test_a_cohort_that_leaves_a_phase_to_what_is_nested_in_it_is_no_measure_of_another() -> None:
    told = history(stages(lambda worker, _index: 30.0 if worker in ("rank-2", "rank-3") else 0.0))

    assert judge(told) == ()


def test_of_roles_that_differ_in_one_phase_the_greatest_difference_is_told() -> None:
    crew = tuple(
        replace(who, group=f"{'stage' if at < 4 else 'saver'}-{at % 2}", role="trainer" if at < 4 else "coordinator")
        for at, who in enumerate(scenarios.crew(8))
    )
    takes = {"rank-1": 30.0, "rank-3": 30.0, "rank-5": 60.0, "rank-7": 60.0}
    told = scenarios.exchange("roles", crew, rounds=8, train=lambda worker, _index: takes.get(worker, 20.0), encode=2.0)

    for scenario in (told, replace(told, workers=told.workers[:1] + told.workers[5:] + told.workers[1:5])):
        (verdict,) = judge(history(scenario))
        assert (verdict.workers, verdict.evidence["slower"]) == (("rank-5", "rank-7"), "saver-1")
