"""Columns of integers are exact, whatever their size: what lies beyond 2^62 is marked, and nothing wraps around."""

import itertools

import pytest

from ingest.api.columns import LIMIT, integers

# Differences whose sums stay small, come near to a half and to all of the limit, pass it, and pass what int64 holds.
WALKS = [
    [5, 1, -2],
    [LIMIT // 2, -1, 1, 1],
    [LIMIT // 4, LIMIT // 4, LIMIT // 4, LIMIT // 4],
    [LIMIT, 0, 1],
    [LIMIT - 1, 1, 1, -2],
    [-LIMIT, 0, -1, 1],
    [LIMIT, LIMIT, LIMIT, -LIMIT],
    [1 << 62, 1 << 62, 1 << 63, -(1 << 64)],
    [1 << 70, -(1 << 70)],
    [LIMIT - 600, *[1] * 1201],
]


@pytest.mark.parametrize("differences", WALKS)
def test_sums_of_differences_are_exact_or_marked_as_beyond(differences: list[int]) -> None:
    sums = list(itertools.accumulate(differences))
    column, beyond = integers(differences, differences=True)
    assert beyond.tolist() == [abs(value) > LIMIT for value in sums]
    assert column.tolist() == [0 if abs(value) > LIMIT else value for value in sums]


@pytest.mark.parametrize("values", [[], [3, 3], [3, -LIMIT, LIMIT], [LIMIT + 1, -LIMIT - 1, 0], [1 << 64, 1]])
def test_values_are_exact_or_marked_as_beyond(values: list[int]) -> None:
    column, beyond = integers(values)
    assert beyond.tolist() == [abs(value) > LIMIT for value in values]
    assert column.tolist() == [0 if abs(value) > LIMIT else value for value in values]
