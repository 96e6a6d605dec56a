"""Fewer points of a curve: no peak is lost, order is kept, and there are no more than asked for."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dashboard.runs.thinning import thinned

READINGS = st.lists(
    st.tuples(st.integers(0, 4 * 10**18), st.floats(allow_nan=True, allow_infinity=True)), min_size=1, max_size=300
)


@given(READINGS, st.integers(4, 100))
def test_a_thinned_curve_keeps_its_ends_and_extremes(readings: list[tuple[int, float]], most: int) -> None:
    times = np.array(sorted(time for time, _ in readings), np.int64)
    values = np.array([value for _, value in readings])
    at = thinned(times, values, most)
    assert len(at) <= max(most, 4)
    assert (np.diff(at) > 0).all()
    assert (at[0], at[-1]) == (0, len(times) - 1)
    finite = values[np.isfinite(values)]
    if len(finite):
        assert {finite.min(), finite.max()} <= set(values[at].tolist())


def test_few_readings_stay_as_they_are() -> None:
    times = np.array([1, 2, 3], np.int64)
    assert thinned(times, np.array([1.0, np.nan, 2.0]), 4).tolist() == [0, 1, 2]
    assert thinned(times[:0], np.zeros(0), 4).tolist() == []
