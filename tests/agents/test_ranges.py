"""Ranges behave as the sets of numbers that they stand for."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from roundwatch.ranges import Ranges

EDGES = st.tuples(st.integers(0, 40), st.integers(0, 40))
STEPS = st.lists(st.tuples(st.booleans(), EDGES), max_size=30)


def numbers(ranges: Ranges) -> set[int]:
    return {number for first, last in ranges for number in range(first, last + 1)}


@given(STEPS)
def test_adding_and_removing_are_those_of_sets(steps: list[tuple[bool, tuple[int, int]]]) -> None:
    ranges, want = Ranges(), set[int]()
    for adds, (first, last) in steps:
        if adds:
            ranges.add(first, last)
            want |= set(range(first, last + 1))
        else:
            ranges.remove(first, last)
            want -= set(range(first, last + 1))
    assert numbers(ranges) == want
    assert ranges.count() == len(want)
    known = list(ranges)
    assert all(before[1] + 1 < after[0] for before, after in pairwise(known))


@given(st.lists(EDGES, max_size=10), EDGES)
def test_what_lies_within_two_numbers_is_cut_to_them(edges: list[tuple[int, int]], bounds: tuple[int, int]) -> None:
    ranges = Ranges(edges)
    first, last = bounds
    inside = {number for low, high in ranges.within(first, last) for number in range(low, high + 1)}
    assert inside == {number for number in numbers(ranges) if first <= number <= last}
