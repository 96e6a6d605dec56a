"""A speed-up is said of repeated runs in equal conditions alone, and a median's interval holds what it promises."""

import random
from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.detection.comparing import LEAST_ROUNDS, Side, SpeedUp, Timed, Verdict, Why, judge, median_interval

seconds = st.floats(0.001, 1e4)
runs = st.lists(st.lists(seconds, min_size=LEAST_ROUNDS, max_size=12), min_size=2, max_size=4)


def side(name: str, tried: list[list[float]]) -> Side:
    return Side(name, [Timed(f"{name} {number}", each) for number, each in enumerate(tried, 1)])


def only(verdict: Verdict) -> SpeedUp:
    assert not verdict.refusals
    (found,) = verdict.speed_ups
    return found


def test_twice_as_quick_is_a_speed_up_of_two_with_the_range_of_all_pairs() -> None:
    was = side("A", [[10.0] * 6, [12.0] * 6])
    now = side("B", [[5.0] * 6, [6.0] * 6])
    found = only(judge([was, now], [], []))
    assert (found.base, found.side, found.ratio) == ("A", "B", 2.0)
    assert (found.least, found.most) == (pytest.approx(10 / 6), pytest.approx(12 / 5))
    assert not found.within_spread


@pytest.mark.parametrize(
    ("tried", "differing", "unknown", "why", "names"),
    [
        (([[1.0] * 6] * 2, [[1.0] * 6] * 2), ["driver"], [], Why.CONDITIONS, ("driver",)),
        (([[1.0] * 6] * 2, [[1.0] * 6] * 2), [], ["devices"], Why.UNKNOWN, ("devices",)),
        (([[1.0] * 6] * 2, [[1.0] * 6]), [], [], Why.NOT_REPEATED, ("B",)),
        (([[1.0] * 6, [1.0] * 5], [[1.0] * 6] * 2), [], [], Why.FEW_ROUNDS, ("A 2",)),
    ],
)
def test_each_reason_alone_refuses_it(
    tried: tuple[list[list[float]], list[list[float]]],
    differing: list[str],
    unknown: list[str],
    why: Why,
    names: tuple[str, ...],
) -> None:
    verdict = judge([side("A", tried[0]), side("B", tried[1])], differing, unknown)
    assert not verdict.speed_ups
    assert [(one.why, one.names) for one in verdict.refusals] == [(why, names)]


def test_all_reasons_are_told_at_once() -> None:
    verdict = judge([side("A", [[1.0]]), side("B", [[1.0]])], ["driver"], ["site"])
    assert [one.why for one in verdict.refusals] == list(Why)


def test_of_one_side_nothing_is_said() -> None:
    assert judge([side("A", [[1.0] * 6] * 2)], [], []) == Verdict((), ())


@given(runs, runs)
def test_seen_from_the_other_side_it_is_the_reciprocal(first: list[list[float]], second: list[list[float]]) -> None:
    there = only(judge([side("A", first), side("B", second)], [], []))
    back = only(judge([side("B", second), side("A", first)], [], []))
    assert back.ratio == pytest.approx(1 / there.ratio)
    assert (back.least, back.most) == (pytest.approx(1 / there.most), pytest.approx(1 / there.least))
    assert there.least <= there.ratio * (1 + 1e-9)
    assert there.ratio <= there.most * (1 + 1e-9)


@given(runs, st.floats(0.01, 100))
def test_the_unit_of_time_does_not_matter_and_equal_runs_are_no_difference(tried: list[list[float]], by: float) -> None:
    scaled = [[by * one for one in each] for each in tried]
    found = only(judge([side("A", scaled), side("B", scaled)], [], []))
    assert found.ratio == pytest.approx(1)
    assert found.within_spread


@given(st.lists(seconds, max_size=80))
def test_an_interval_is_of_two_of_the_values_around_their_median(values: list[float]) -> None:
    found = median_interval(values)
    if len(values) < LEAST_ROUNDS:
        assert found is None
        return
    assert found is not None
    low, high = found
    assert low in values
    assert high in values
    assert low <= median(values) <= high


@given(st.lists(seconds, min_size=LEAST_ROUNDS, max_size=40))
def test_an_interval_moves_with_its_values(values: list[float]) -> None:
    found, moved = median_interval(values), median_interval([-one for one in values])
    assert found is not None
    assert moved == (-found[1], -found[0])


@pytest.mark.parametrize(
    # Ranks from a table of the binomial distribution: 1 and 6, 2 and 9, 6 and 15, 40 and 61.
    ("count", "low", "high"),
    [(6, 1, 6), (10, 2, 9), (20, 6, 15), (100, 40, 61)],
)
def test_its_ranks_are_those_of_the_binomial_distribution(count: int, low: int, high: int) -> None:
    assert median_interval([float(rank) for rank in range(1, count + 1)]) == (low, high)


def test_it_holds_the_true_median_as_often_as_it_says() -> None:
    dice = random.Random(6)  # noqa: S311 - nothing secret
    held = 0
    for _ in range(2_000):
        found = median_interval([dice.expovariate(1.0) for _ in range(15)])
        assert found is not None
        held += found[0] <= 0.6931 <= found[1]
    assert held / 2_000 >= 0.95
