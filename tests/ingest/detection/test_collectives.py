"""Who waited for whom in collectives: the least wait is the culprit's, and a cause must explain most of it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.detection.collectives import Policy, Step, Verdict, verdict, waits

NAN = float("nan")


def judged(waited: list[float], step_s: float = 0.2, **parts: list[float]) -> Verdict | None:
    return verdict(
        Step(
            waited=np.array(waited),
            parts={name: np.array(seconds) for name, seconds in parts.items()},
            step_s=step_s,
        )
    )


def test_a_wait_is_what_a_rank_spends_beyond_the_least_of_the_same_collective() -> None:
    found = waits(np.array([7, 9, 7, 9]), np.array([0.100, 0.020, 0.008, 0.021]), np.array([2, 2, 2, 2]))
    assert found == pytest.approx([0.092, 0.0, 0.0, 0.001])


def test_of_a_collective_that_is_not_known_whole_no_wait_is_claimed() -> None:
    found = waits(np.array([1, 1, 2, 2, 2]), np.array([3.0, 1.0, 3.0, 2.0, 1.0]), np.array([3, 3, 3, 3, 3]))
    assert np.isnan(found[:2]).all()
    assert found[2:] == pytest.approx([2, 1, 0])
    assert not len(waits(np.empty(0, np.int64), np.empty(0), np.empty(0, np.int64)))


@given(st.lists(st.tuples(st.integers(0, 5), st.floats(0, 1e6)), min_size=1, max_size=60))
def test_each_collective_has_a_rank_that_waits_for_nobody(parts: list[tuple[int, float]]) -> None:
    call, seconds = np.array([each for each, _ in parts]), np.array([each for _, each in parts])
    size = np.array([(call == each).sum() for each in call])
    found = waits(call, seconds, size)
    for each in set(call.tolist()):
        assert found[call == each].min() == 0
    assert (seconds - found >= 0).all()


def test_the_rank_that_waits_least_is_the_culprit_and_its_excess_the_cause() -> None:
    found = judged(
        [0.098, 0.0, 0.097, 0.099], data=[0.001, 0.101, 0.001, 0.002], forward=[0.02] * 4, backward=[0.04] * 4
    )
    assert found
    assert (found.culprit, found.victim, found.cause, found.abstained) == (1, 3, "data", "")
    assert (found.waited_s, found.share) == pytest.approx((0.099, 0.495))
    assert found.excess_s == pytest.approx(0.1)
    assert found.blamed
    assert found.critical


@pytest.mark.parametrize(
    ("waited", "blamed", "critical"), [(0.019, False, False), (0.021, True, False), (0.041, True, True)]
)
def test_blame_needs_a_tenth_of_the_step_and_is_critical_from_a_fifth(
    waited: float, blamed: bool, critical: bool
) -> None:
    found = judged([waited, 0.0], data=[0.0, waited])
    assert found
    assert (found.blamed, found.critical) == (blamed, critical)
    assert found.cause == ("data" if blamed else "")
    assert bool(found.abstained) != blamed


def test_a_cause_must_explain_four_fifths_of_the_wait() -> None:
    assert judged([0.1, 0.0], data=[0.0, 0.079], forward=[0.0, 0.021]).abstained  # type: ignore[union-attr]
    assert judged([0.1, 0.0], data=[0.0, 0.081], forward=[0.0, 0.019]).cause == "data"  # type: ignore[union-attr]


def test_with_nothing_but_equal_backward_times_no_cause_is_named() -> None:
    found = judged([0.1, 0.0, 0.1], backward=[0.05, 0.05, 0.05])
    assert found
    assert (found.culprit, found.cause) == (1, "")
    assert found.abstained == "only backward passes are known, and they are equal"


def test_the_others_are_compared_by_their_lower_median_so_that_two_slow_of_four_are_seen() -> None:
    found = judged([0.1, 0.0, 0.1, 0.001], data=[0.0, 0.1, 0.0, 0.1])
    assert found
    assert (found.culprit, found.cause) == (1, "data")


def test_a_phase_that_the_others_have_not_counts_in_full() -> None:
    found = judged([0.1, 0.0], checkpoint=[NAN, 0.1])
    assert found
    assert found.cause == "checkpoint"


@pytest.mark.parametrize("waited", [[], [0.0], [0.1, NAN]])
def test_without_all_waits_of_at_least_two_ranks_nobody_is_named(waited: list[float]) -> None:
    assert judged(waited) is None
    assert judged([0.1, 0.0], step_s=0.0) is None


def test_a_team_may_ask_for_more_before_anyone_is_blamed() -> None:
    step = Step(waited=np.array([0.1, 0.0]), parts={}, step_s=0.4)
    assert verdict(step, Policy(blamed=0.3)) != verdict(step)
